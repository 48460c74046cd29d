"""The Node authorizer: a node's access to objects follows from its pods."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.identity import User
from orchd.kinds.jsonvalues import Object
from orchd.server.authz.interfaces import Action, Decision
from orchd.server.authz.node import NodeAuthorizer
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of

STORAGE, LEASES = ORCH("storage.{abbr}.io"), ORCH("coordination.{abbr}.io")
POD: Object = {
    "metadata": {"name": "p", "namespace": "ns"},
    "spec": {
        "nodeName": "n1",
        "serviceAccountName": "sa",
        "containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "env"}}]}],
        "volumes": [
            {"name": "s", "secret": {"secretName": "sec"}},
            {"name": "v", "persistentVolumeClaim": {"claimName": "pvc"}},
            {"name": "e", "ephemeral": {}},
        ],
    },
}
VOLUME = {
    "metadata": {"name": "pv"},
    "spec": {
        "claimRef": {"namespace": "ns", "name": "pvc"},
        "csi": {"nodePublishSecretRef": {"namespace": "other", "name": "pvsecret"}},
    },
}


def authorizer() -> Any:
    informers = MemoryInformers()
    node = NodeAuthorizer(ORCH, informers)
    informers.put(ResourceRef("", "v1", "pods"), POD)
    informers.put(ResourceRef("", "v1", "persistentvolumes"), VOLUME)
    attachment = {"metadata": {"name": "va"}, "spec": {"nodeName": "n1"}}
    informers.put(ResourceRef(STORAGE, "v1", "volumeattachments"), attachment)
    return informers, node


def act(
    verb: str, resource: str, name: str = "", namespace: str = "ns", group: str = "", sub: str = "", node: str = "n1"
) -> Action:
    user = User(name=f"system:node:{node}", groups=("system:nodes",))
    return Action(user=user, verb=verb, group=group, resource=resource, subresource=sub, name=name, namespace=namespace)


ALONE = "no relationship found between node 'n1' and this object"


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (act("get", "secrets", "sec"), None),
        (act("watch", "configmaps", "env"), None),
        (act("get", "secrets", "env"), ALONE),
        (act("list", "secrets"), "No Object name found"),
        (act("delete", "secrets", "sec"), "can only read resources of this type"),
        (act("get", "secrets", "pvsecret", namespace="other"), None),
        (act("get", "persistentvolumeclaims", "pvc"), None),
        (act("get", "persistentvolumeclaims", "p-e"), None),
        (act("patch", "persistentvolumeclaims", "pvc"), "can only get individual resources of this type"),
        (act("patch", "persistentvolumeclaims", "pvc", sub="status"), None),
        (act("get", "persistentvolumes", "pv", namespace=""), None),
        (act("get", "persistentvolumes", "zz", namespace=""), ALONE),
        (act("get", "volumeattachments", "va", namespace="", group=STORAGE), None),
        (
            act("list", "volumeattachments", namespace="", group=STORAGE),
            "can only get individual resources of this type",
        ),
        (act("create", "serviceaccounts", "sa", sub="token"), None),
        (act("create", "serviceaccounts", "default", sub="token"), ALONE),
        (act("get", "leases", "n1", ORCH("{short}-node-lease"), LEASES), None),
        (
            act("get", "leases", "n2", ORCH("{short}-node-lease"), LEASES),
            "can only access node lease with the same name as the requesting node",
        ),
        (
            act("create", "leases", "", "ns", LEASES),
            ORCH('can only access leases in the "{short}-node-lease" system namespace'),
        ),
        (act("update", "csinodes", "n1", "", STORAGE), None),
        (act("list", "pods", namespace=""), None),
        (act("delete", "nodes", "n1", namespace=""), ""),
    ],
)
def test_node_permissions(action: Action, reason: str) -> None:
    """A node may read what its pods use and write its own objects; everything else depends on the node role."""
    verdict = result_of(authorizer()[1].authorize(action))
    if reason is None:
        assert verdict.decision is Decision.ALLOW
    else:
        assert (verdict.decision, verdict.reason) == (Decision.NO_OPINION, reason)


def test_access_ends_with_the_pod() -> None:
    """Access ends when the pod is deleted."""
    informers, node = authorizer()
    informers.informer(ResourceRef("", "v1", "pods")).remove("ns", "p")
    assert result_of(node.authorize(act("get", "secrets", "sec"))).decision is Decision.NO_OPINION


def test_mirror_pods_give_no_access() -> None:
    """Mirror pods, which the node itself creates, give no access."""
    informers, node = authorizer()
    mirror = {**POD, "metadata": {**POD["metadata"], "annotations": {ORCH("{long}.io/config.mirror"): "x"}}}
    informers.put(ResourceRef("", "v1", "pods"), mirror)
    assert result_of(node.authorize(act("get", "secrets", "sec"))).decision is Decision.NO_OPINION


def test_other_users_get_no_opinion() -> None:
    """Users that are not nodes get no opinion and no reason; a node without a name gets a reason."""
    node = authorizer()[1]
    user = Action(user=User(name="alice"), verb="get", resource="secrets", name="sec", namespace="ns")
    assert result_of(node.authorize(user)).reason == ""
    assert result_of(node.authorize(act("get", "secrets", "sec", node=""))).reason == (
        'unknown node for user "system:node:"'
    )


def test_node_rules_are_listed_as_incomplete() -> None:
    """For nodes the listed rules are marked as incomplete; for other users nothing is missing."""
    _, node = authorizer()
    found = node.rules(User(name="system:node:n1", groups=("system:nodes",)), "ns")
    assert found.incomplete and found.error == "node authorizer does not support user rule resolution"
    assert not node.rules(User(name="alice"), "ns").incomplete
