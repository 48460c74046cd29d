"""Replica sets and replication controllers: order of deletion, adoption and release, Events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import PODS, QUOTAS, REPLICA_SETS
from orchd.kinds.fields import labels
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.times import timestamp
from orchd.testing.doubles.server import NOW, run
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("replicaset", "replicationcontroller", "resourcequota")

EVENTS = ResourceRef("", "v1", "events")
CONTROLLERS = ResourceRef("", "v1", "replicationcontrollers")
LABELS = {"a": "b"}


def create(cluster: Cluster, replicas: int, name: str = "r", *, owner: str = "", **tags: str) -> None:
    chosen = {**LABELS, **tags}
    metadata: dict[str, Any] = {"name": name}
    if owner:
        # A kind that is not served: the garbage collector waits, and the sets are related.
        reference = {"apiVersion": "example.com/v1", "kind": "Family", "name": owner, "uid": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    spec = {"replicas": replicas, "selector": {"matchLabels": chosen}, "template": template(chosen)}
    cluster.create(REPLICA_SETS, {"metadata": metadata, "spec": spec})
    cluster.settle()


def scale(cluster: Cluster, replicas: int, name: str = "r") -> None:
    cluster.patch(REPLICA_SETS, name, {"spec": {"replicas": replicas}})


def notes(cluster: Cluster, kind: str = "ReplicaSet") -> list[tuple[str, str, str]]:
    events = [e for e in cluster.items(EVENTS) if e["involvedObject"]["kind"] == kind]
    return [(e["reason"], e["message"], e["source"]["component"]) for e in events]


def test_large_selectors_are_made_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the owner changes: each pass uses the selector several times."""
    keys = [f"k{number}" for number in range(100)]
    tags = dict.fromkeys(keys, "v")
    selector = {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]}
    made, make = list[object](), LabelSelector.from_object

    def count(described: Any) -> LabelSelector:
        made.append(described)
        return make(described)

    monkeypatch.setattr("orchd.controllers.workload.LabelSelector", SimpleNamespace(from_object=count))
    spec = {"replicas": 1, "selector": selector, "template": template(tags)}
    cluster.create(REPLICA_SETS, {"metadata": {"name": "r"}, "spec": spec})
    cluster.settle()
    scale(cluster, 2)
    assert len(cluster.names(PODS)) == 2 and len(made) == 2


def test_unready_pods_are_deleted_first(cluster: Cluster) -> None:
    """Unready pods of a shrinking set are deleted before ready ones."""
    create(cluster, 4)
    cluster.make_ready()
    bad = sorted(cluster.names(PODS))[1:3]
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    for name in bad:
        cluster.patch(PODS, name, {"status": {"conditions": [condition]}}, subresource="status")
    scale(cluster, 2)
    assert not set(bad) & set(cluster.names(PODS))
    assert len(cluster.names(PODS)) == 2


def test_pods_on_crowded_nodes_are_deleted_first(cluster: Cluster) -> None:
    """Of equal pods, those that share a node with pods of related sets are deleted first."""
    create(cluster, 2, owner="o")
    create(cluster, 1, "s", owner="o", other="set")
    mine = sorted(p["metadata"]["name"] for p in cluster.items(PODS) if "other" not in labels(p))
    theirs = [p["metadata"]["name"] for p in cluster.items(PODS) if "other" in labels(p)]
    for name, node in ((mine[0], "m"), (mine[1], "n"), (theirs[0], "n")):
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": node},
        }
        bind(cluster, name, body)
    cluster.make_ready()
    scale(cluster, 1)
    left = [
        p["metadata"]["name"]
        for p in cluster.items(PODS)
        if p["metadata"]["name"] in mine and not p["metadata"].get("deletionTimestamp")
    ]
    assert left == [mine[0]]


def bind(cluster: Cluster, name: str, body: dict[str, Any]) -> None:
    run(cluster.client.create(PODS, "a", body, name=name, subresource="binding"))
    cluster.settle()


def test_pod_is_released_and_adopted_by_its_labels(cluster: Cluster) -> None:
    """A pod whose labels no longer match is released and replaced; when they match again it is adopted, and a surplus
    pod is deleted."""
    create(cluster, 1)
    (first,) = cluster.names(PODS)
    cluster.patch(PODS, first, {"metadata": {"labels": {"a": "other"}}})
    released = cluster.get(PODS, first)
    assert released is not None and not released["metadata"].get("ownerReferences")
    assert len(cluster.names(PODS)) == 2
    cluster.patch(PODS, first, {"metadata": {"labels": {"a": "b"}}})
    assert len(cluster.names(PODS)) == 1


def test_pod_changes_are_recorded(cluster: Cluster) -> None:
    """Created and deleted pods are recorded for their set."""
    create(cluster, 1)
    (name,) = cluster.names(PODS)
    scale(cluster, 0)
    component = "replicaset-controller"
    assert notes(cluster) == [
        ("SuccessfulCreate", f"Created pod: {name}", component),
        ("SuccessfulDelete", f"Deleted pod: {name}", component),
    ]


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_replica_failure_is_in_the_condition_and_an_event(cluster: Cluster, kind: str) -> None:
    """A rejected pod is reported in the condition and an Event, also by replication controllers."""
    cluster.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    cluster.settle()
    if kind == "ReplicaSet":
        create(cluster, 1)
        ref = REPLICA_SETS
    else:
        spec = {"replicas": 1, "selector": LABELS, "template": template(LABELS)}
        cluster.create(CONTROLLERS, {"metadata": {"name": "r"}, "spec": spec})
        cluster.settle()
        ref = CONTROLLERS
    found = cluster.get(ref, "r")
    assert found is not None
    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    reason, message, component = notes(cluster, kind)[0]
    assert reason == "FailedCreate" and message.startswith('Error creating: pods "r-')
    assert "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0" in message
    assert component == ("replicaset-controller" if kind == "ReplicaSet" else "replication-controller")


def test_ready_pod_becomes_available_after_min_ready_seconds(cluster: Cluster) -> None:
    """A pod is counted as available once it has been ready for minReadySeconds, without a further event."""
    create(cluster, 1)
    cluster.patch(REPLICA_SETS, "r", {"spec": {"minReadySeconds": 10}})
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": timestamp(NOW + cluster.passed)}
    (name,) = cluster.names(PODS)
    cluster.patch(PODS, name, {"status": {"phase": "Running", "conditions": [condition]}}, subresource="status")

    def counts() -> tuple[int, int]:
        replica_set = cluster.get(REPLICA_SETS, "r")
        assert replica_set is not None
        return replica_set["status"].get("readyReplicas", 0), replica_set["status"].get("availableReplicas", 0)

    assert counts() == (1, 0)
    cluster.settle(22)
    assert counts() == (1, 1)
