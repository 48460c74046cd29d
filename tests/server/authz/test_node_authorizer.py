"""The Node authorizer: a node's access to objects follows from its pods."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.action_selectors import of_texts
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.kinds.users import User
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


def authorizer(release: Release = SPECIFICATION, disabled: Container[str] = ()) -> Any:
    informers = MemoryInformers()
    node = NodeAuthorizer(ORCH, informers, release, disabled)
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


def select(verb: str, resource: str, selector: str, name: str = "", group: str = "") -> Action:
    user = User(name="system:node:n1", groups=("system:nodes",))
    return Action(user=user, verb=verb, group=group, resource=resource, name=name, selectors=of_texts(selector, ""))


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
        (act("create", "csinodes", "", "", STORAGE), None),
        (
            act("get", "csinodes", "n2", "", STORAGE),
            "can only access CSINode with the same name as the requesting node",
        ),
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
    rules = node.rules(User(name="system:node:n1", groups=("system:nodes",)), "ns")
    assert rules.incomplete and rules.error == "node authorizer does not support user rule resolution"
    assert not node.rules(User(name="alice"), "ns").incomplete


DEVICES = ORCH("resource.{abbr}.io")
ONLY_SELECTED = "can only list/watch pods with spec.nodeName field selector"
ONLY_OWN = "can only list/watch/deletecollection resourceslices with nodeName field selector"
OWN_TOKENS = "can only create tokens for individual service accounts"


def later(disabled: Container[str] = ()) -> Any:
    informers, node = authorizer(NEWEST, disabled)
    claims = [{"name": "named", "resourceClaimName": "rc"}, {"name": "made", "resourceClaimTemplateName": "t"}]
    spec = {**POD["spec"], "resourceClaims": [*claims, {"name": "not-yet", "resourceClaimTemplateName": "t"}]}
    made = [{"name": "made", "resourceClaimName": "made-rc"}, {"name": "not-yet"}]
    status = {"resourceClaimStatuses": made, "extendedResourceClaimStatus": {"resourceClaimName": "ext"}}
    informers.put(ResourceRef("", "v1", "pods"), {**POD, "spec": spec, "status": status})
    for name, owner in (("own", "n1"), ("other", "n2")):
        slice_ = {"metadata": {"name": name}, "spec": {"nodeName": owner}}
        informers.put(ResourceRef(DEVICES, "v1", "resourceslices"), slice_)
    return node


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (act("get", "pods", "p"), None),
        (act("get", "pods", "q"), ALONE),
        (act("list", "pods", "p"), None),
        (act("list", "pods", namespace=""), ONLY_SELECTED),
        (select("list", "pods", "spec.nodeName=n1"), None),
        (select("watch", "pods", "status.phase!=Failed,spec.nodeName==n1"), None),
        (select("list", "pods", "spec.nodeName=n2"), ONLY_SELECTED),
        (select("list", "pods", "spec.nodeName!=n1"), ONLY_SELECTED),
        (select("list", "pods", "spec.nodeName=n1,broken"), ONLY_SELECTED),
        (select("deletecollection", "pods", "spec.nodeName=n1"), ""),
        (act("create", "pods"), None),
        (act("update", "pods", "p"), ""),
        (act("patch", "pods", "p", sub="status"), None),
        (act("get", "pods", "p", sub="status"), ""),
        (act("create", "pods", "p", sub="eviction"), None),
        (act("get", "pods", "p", sub="log"), ""),
        (act("get", "nodes", "n1", namespace=""), None),
        (act("watch", "nodes", "n1", namespace=""), None),
        (act("get", "nodes", "n2", namespace=""), "node 'n1' cannot read 'n2', only its own Node object"),
        (act("list", "nodes", namespace=""), "node 'n1' cannot read all nodes, only its own Node object"),
        (act("create", "nodes", namespace=""), None),
        (act("patch", "nodes", "n1", namespace="", sub="status"), None),
        (act("delete", "nodes", "n1", namespace=""), ""),
        (act("get", "nodes", "n1", namespace="", sub="proxy"), ""),
        (act("get", "serviceaccounts", "sa"), None),
        (act("get", "serviceaccounts", "default"), ALONE),
        (act("list", "serviceaccounts", "sa"), OWN_TOKENS),
        (act("create", "serviceaccounts", "sa", sub="token"), None),
        (act("create", "serviceaccounts", "sa"), "can only create token subresource of serviceaccount"),
        (act("get", "resourceclaims", "rc", group=DEVICES), None),
        (act("get", "resourceclaims", "made-rc", group=DEVICES), None),
        (act("get", "resourceclaims", "ext", group=DEVICES), None),
        (act("get", "resourceclaims", "t", group=DEVICES), ALONE),
        (act("get", "resourceclaims", "rc", group=DEVICES, sub="status"), "cannot get subresource"),
        (act("create", "resourceslices", "", "", DEVICES), None),
        (act("update", "resourceslices", "own", "", DEVICES), None),
        (act("delete", "resourceslices", "other", "", DEVICES), ALONE),
        (select("deletecollection", "resourceslices", "spec.nodeName=n1", group=DEVICES), None),
        (act("deletecollection", "resourceslices", "", "", DEVICES), ONLY_OWN),
        (act("get", "resourceslices", "own", "", DEVICES, "x"), "cannot authorize ResourceSlice subresources"),
        (act("get", "secrets", "sec"), None),
        (act("get", "services", "x"), None),
    ],
)
def test_later_node_permissions(action: Action, reason: str) -> None:
    """In later releases a node reads its own Node, the pods bound to it, their claims, and its resource slices."""
    verdict = result_of(later().authorize(action))
    if reason is None:
        assert verdict.decision is Decision.ALLOW
    else:
        assert (verdict.decision, verdict.reason) == (Decision.NO_OPINION, reason)


def test_service_accounts_are_read_with_the_gate() -> None:
    """Nodes read service accounts for credential providers, which a gate turns off."""
    node = later({"{Short}letServiceAccountTokenForCredentialProviders"})
    verdict = result_of(node.authorize(act("get", "serviceaccounts", "sa")))
    assert (verdict.decision, verdict.reason) == (Decision.NO_OPINION, "not allowed to get service accounts")
