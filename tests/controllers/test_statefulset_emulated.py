"""Stateful sets of release 1.35: numbers, labels, replaced pods, and owners of claims."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, PODS, STATEFUL_SETS
from orchd.controllers.statefulset.retention import controlling_owners
from orchd.dialect import ORCH
from tests.controllers.cluster_support import Cluster, template

EVENTS = ResourceRef("", "v1", "events")
RUNNING_CONTROLLERS = ("statefulset", "garbagecollector")
SERVER_FLAGS = ("--emulated-version=1.35",)


def _set(**spec: Any) -> dict[str, Any]:
    tags = {"a": "b"}
    spec = {"serviceName": "s", "selector": {"matchLabels": tags}, "template": template(tags), **spec}
    return {"metadata": {"name": "s"}, "spec": spec}


def test_numbers_begin_where_the_set_says(cluster: Cluster) -> None:
    """Pods are numbered from spec.ordinals.start, and a label says the number."""
    cluster.create(STATEFUL_SETS, _set(replicas=2, ordinals={"start": 5}, podManagementPolicy="Parallel"))
    cluster.settle()
    key = ORCH("apps.{long}.io/pod-index")
    found = {pod["metadata"]["name"]: pod["metadata"]["labels"][key] for pod in cluster.items(PODS)}
    assert found == {"s-5": "5", "s-6": "6"}


def test_pod_that_succeeded_is_replaced(cluster: Cluster) -> None:
    """A pod of a stateful set runs forever: one that ended well is deleted and made again."""
    cluster.create(STATEFUL_SETS, _set(replicas=1))
    cluster.settle()
    (before,) = cluster.items(PODS)
    cluster.patch(PODS, "s-0", {"status": {"phase": "Succeeded"}}, subresource="status")
    cluster.settle(2)
    (after,) = cluster.items(PODS)
    assert before["metadata"]["uid"] != after["metadata"]["uid"]


def test_events_begin_with_a_capital(cluster: Cluster) -> None:
    """Events of the set have the words of the release; new owners of a pod's claims are told as a change of the pod."""
    claim = {
        "metadata": {"name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.create(STATEFUL_SETS, _set(replicas=1, volumeClaimTemplates=[claim], podManagementPolicy="Parallel"))
    cluster.settle()
    notes = {e["message"] for e in cluster.items(EVENTS) if e["involvedObject"]["kind"] == "StatefulSet"}
    assert notes == {
        "Create Claim d-s-0 Pod s-0 in StatefulSet s success",
        "Create Pod s-0 in StatefulSet s successful",
    }
    changed = {"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}}}
    cluster.patch(STATEFUL_SETS, "s", changed)
    cluster.settle()
    assert "Update Pod s-0 in StatefulSet s successful" in {e["message"] for e in cluster.items(EVENTS)}


def test_deleted_claim_of_a_pending_pod_is_made_again(cluster: Cluster) -> None:
    """A pod that waits for its volume gets the claim back."""
    claim = {
        "metadata": {"name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.create(STATEFUL_SETS, _set(replicas=1, volumeClaimTemplates=[claim]))
    cluster.settle()
    cluster.patch(CLAIMS, "d-s-0", {"metadata": {"finalizers": None}})
    cluster.delete(CLAIMS, "d-s-0")
    assert cluster.names(CLAIMS) == []
    cluster.patch(PODS, "s-0", {"metadata": {"labels": {"x": "y"}}})
    assert cluster.names(CLAIMS) == ["d-s-0"]


def _owner(kind: str, uid: str, *, controller: bool = True, name: str = "") -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name or {"StatefulSet": "s", "Pod": "s-1"}.get(kind, "o"),
        "uid": uid,
        "controller": controller,
    }


@pytest.mark.parametrize(
    ("deleted", "scaled", "number", "before", "after"),
    [
        ("Retain", "Retain", 1, [], None),
        ("Retain", "Retain", 1, [_owner("StatefulSet", "S")], []),
        ("Delete", "Retain", 1, [], ["S"]),
        ("Delete", "Retain", 1, [_owner("StatefulSet", "S")], None),
        ("Delete", "Retain", 1, [_owner("StatefulSet", "S", controller=False)], ["S"]),
        ("Delete", "Retain", 1, [_owner("StatefulSet", "T")], None),
        ("Delete", "Retain", 1, [_owner("Other", "O")], None),
        ("Delete", "Retain", 1, [_owner("Other", "O"), _owner("StatefulSet", "S")], ["O"]),
        ("Delete", "Retain", 1, [_owner("Other", "O", controller=False)], ["O", "S"]),
        ("Delete", "Delete", 1, [], ["S"]),
        ("Delete", "Delete", 2, [_owner("StatefulSet", "S")], ["P"]),
        ("Retain", "Delete", 2, [], ["P"]),
        ("Retain", "Delete", 1, [_owner("Pod", "P")], []),
        ("Retain", "Delete", 2, [_owner("Pod", "Q")], None),
    ],
)
def test_owners_of_claims_follow_the_policy(
    deleted: str, scaled: str, number: int, before: list[dict[str, Any]], after: list[str] | None
) -> None:
    """One of the set and the pod controls a claim, unless another object does or did."""
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    parent = {
        "metadata": {"name": "s", "uid": "S"},
        "spec": {"replicas": 2, "persistentVolumeClaimRetentionPolicy": policy},
    }
    pod = {"metadata": {"name": "s-1", "uid": "P"}}
    wanted = controlling_owners({"metadata": {"ownerReferences": before}}, parent, pod, number)
    assert (None if wanted is None else [each["uid"] for each in wanted]) == after
    assert all(each["controller"] for each in wanted or () if each["uid"] in "SP")
