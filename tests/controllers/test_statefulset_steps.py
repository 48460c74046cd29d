"""Single steps of a stateful set: which pod is created, deleted or replaced next."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import PODS, STATEFUL_SETS
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.kinds.fields import labels
from orchd.kinds.times import timestamp
from orchd.testing.doubles.server import NOW
from tests.controllers.cluster_support import Cluster, template
from tests.controllers.lagging_support import StartLagging

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("statefulset",)

LABELS = {"app": "x"}
EVENTS = ResourceRef("", "v1", "events")


def create(cluster: Cluster, replicas: int, **spec: Any) -> None:
    body = {
        "replicas": replicas,
        "serviceName": "s",
        "selector": {"matchLabels": LABELS},
        "template": template(LABELS),
        **spec,
    }
    cluster.create(STATEFUL_SETS, {"metadata": {"name": "s"}, "spec": body})
    cluster.settle()


def up(cluster: Cluster, replicas: int, **spec: Any) -> None:
    """A set with all pods ready."""
    create(cluster, replicas, podManagementPolicy="Parallel", **spec)
    cluster.make_ready()
    assert len(cluster.names(PODS)) == replicas


def down(cluster: Cluster, *names: str) -> None:
    """Make pods unready."""
    for name in names:
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"}
        cluster.patch(PODS, name, {"status": {"conditions": [condition]}}, subresource="status")


def hold(cluster: Cluster, *names: str) -> None:
    """Keep deleted pods terminating until the test completes their deletion."""
    for name in names:
        cluster.patch(PODS, name, {"metadata": {"finalizers": ["example.com/hold"]}})


def let_go(cluster: Cluster, name: str) -> None:
    cluster.patch(PODS, name, {"metadata": {"finalizers": None}})


def going(cluster: Cluster) -> list[str]:
    return sorted(p["metadata"]["name"] for p in cluster.items(PODS) if p["metadata"].get("deletionTimestamp"))


def revisions(cluster: Cluster) -> dict[str, bool]:
    """Pods, and whether they are of the updated revision."""
    parent = cluster.get(STATEFUL_SETS, "s")
    assert parent is not None
    newest = parent["status"]["updateRevision"]
    return {p["metadata"]["name"]: labels(p)["controller-revision-hash"] == newest for p in cluster.items(PODS)}


def ordered(cluster: Cluster, replicas: int) -> None:
    create(cluster, replicas)
    for _ in range(replicas):
        cluster.make_ready()
    hold(cluster, *cluster.names(PODS))


def scale(cluster: Cluster, replicas: int) -> None:
    cluster.patch(STATEFUL_SETS, "s", {"spec": {"replicas": replicas}})


def test_surplus_pods_are_deleted_one_at_a_time_from_the_last(cluster: Cluster) -> None:
    """Surplus pods are deleted from the last to the first, the next one when the previous is gone."""
    ordered(cluster, 4)
    scale(cluster, 1)
    assert going(cluster) == ["s-3"]
    cluster.settle(60)
    assert going(cluster) == ["s-3"]
    let_go(cluster, "s-3")
    assert going(cluster) == ["s-2"]
    let_go(cluster, "s-2")
    let_go(cluster, "s-1")
    assert cluster.names(PODS) == ["s-0"]


def test_first_unhealthy_pod_blocks_deletion_of_others(cluster: Cluster) -> None:
    """While an earlier pod is unhealthy, a surplus pod is deleted only if it is healthy or the first unhealthy one."""
    ordered(cluster, 4)
    down(cluster, "s-3")
    scale(cluster, 2)
    assert going(cluster) == ["s-3"]
    let_go(cluster, "s-3")
    assert going(cluster) == ["s-2"]


def test_unhealthy_surplus_pod_waits_for_earlier_unhealthy_pods(cluster: Cluster) -> None:
    """An unhealthy surplus pod waits until earlier unhealthy pods are gone."""
    ordered(cluster, 4)
    down(cluster, "s-2", "s-3")
    scale(cluster, 2)
    assert going(cluster) == []


def test_scale_down_waits_for_remaining_pods_to_be_ready(cluster: Cluster) -> None:
    """Surplus pods are not deleted while a remaining pod is not ready."""
    ordered(cluster, 3)
    down(cluster, "s-0")
    scale(cluster, 2)
    assert going(cluster) == []


def test_parallel_scale_down(cluster: Cluster) -> None:
    """A parallel set deletes all surplus pods at once."""
    up(cluster, 4)
    hold(cluster, *cluster.names(PODS))
    scale(cluster, 1)
    assert going(cluster) == ["s-1", "s-2", "s-3"]


CHANGE = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "y"}]}}}}


def rolling(partition: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}


@pytest.mark.parametrize("partition", [0, 1, 2, 3])
def test_pods_from_the_partition_on_are_replaced(cluster: Cluster, partition: int) -> None:
    """Only the pods from the partition on are replaced."""
    up(cluster, 3, updateStrategy=rolling(partition))
    cluster.patch(STATEFUL_SETS, "s", CHANGE)
    for _ in range(4):
        cluster.make_ready()
    assert revisions(cluster) == {f"s-{n}": n >= partition for n in range(3)}


def test_pods_below_the_partition_keep_the_old_template(cluster: Cluster) -> None:
    """A lost pod below the partition is created from the old template, one above from the new one."""
    up(cluster, 3, updateStrategy=rolling(2))
    cluster.patch(STATEFUL_SETS, "s", CHANGE)
    cluster.make_ready()
    cluster.make_ready()
    for name in ("s-1", "s-2"):
        cluster.delete(PODS, name, gracePeriodSeconds=0)
    cluster.make_ready()
    assert revisions(cluster) == {"s-0": False, "s-1": False, "s-2": True}


def test_update_replaces_one_pod_at_a_time(cluster: Cluster) -> None:
    """The next pod is replaced when the previous one is ready again, also in a parallel set."""
    up(cluster, 3)
    cluster.patch(STATEFUL_SETS, "s", CHANGE)
    assert revisions(cluster) == {"s-0": False, "s-1": False, "s-2": True}
    cluster.settle(60)
    assert revisions(cluster) == {"s-0": False, "s-1": False, "s-2": True}
    cluster.make_ready()
    assert revisions(cluster) == {"s-0": False, "s-1": True, "s-2": True}


def test_on_delete_replaces_only_deleted_pods(cluster: Cluster) -> None:
    """With OnDelete only deleted pods are created from the new template."""
    up(cluster, 2, updateStrategy={"type": "OnDelete"})
    cluster.patch(STATEFUL_SETS, "s", CHANGE)
    cluster.make_ready()
    assert revisions(cluster) == {"s-0": False, "s-1": False}
    cluster.delete(PODS, "s-0", gracePeriodSeconds=0)
    assert revisions(cluster) == {"s-0": True, "s-1": False}


def test_pods_are_adopted_only_by_a_fitting_name(cluster: Cluster) -> None:
    """A pod with matching labels is adopted and labelled only if its name fits the set."""
    for name in ("other", "s-x", "t-0", "s-1"):
        cluster.create(PODS, {"metadata": {"name": name, "labels": LABELS}, "spec": template({})["spec"]})
    up_label = "statefulset.orch.io/pod-name"
    create(cluster, 2, podManagementPolicy="Parallel")
    cluster.settle()
    found = {p["metadata"]["name"]: p["metadata"] for p in cluster.items(PODS)}
    assert sorted(name for name, m in found.items() if m.get("ownerReferences")) == ["s-0", "s-1"]
    assert found["s-1"]["labels"][up_label] == "s-1"
    assert found["s-0"]["generateName"] == "s-"


def test_set_events_have_the_references_words(cluster: Cluster) -> None:
    """The set's Events have the reference's messages."""
    up(cluster, 1)
    cluster.patch(PODS, "s-0", {"status": {"phase": "Failed"}}, subresource="status")
    cluster.settle()
    scale(cluster, 0)
    notes = {e["message"] for e in cluster.items(EVENTS) if e["involvedObject"]["kind"] == "StatefulSet"}
    assert {
        "create Pod s-0 in StatefulSet s successful",
        "StatefulSet a/s is recreating failed Pod s-0",
        "delete Pod s-0 in StatefulSet s successful",
    } <= notes


def test_min_ready_seconds_delays_the_next_pod(cluster: Cluster) -> None:
    """In an ordered set, the next pod waits for minReadySeconds after the previous one is ready."""
    create(cluster, 2, minReadySeconds=10)
    since = timestamp(NOW + cluster.passed)
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    cluster.patch(PODS, "s-0", {"status": {"phase": "Running", "conditions": [condition]}}, subresource="status")
    cluster.settle(5)
    assert cluster.names(PODS) == ["s-0"]
    cluster.settle(10)
    assert cluster.names(PODS) == ["s-0", "s-1"]


def test_current_revision_changes_when_all_pods_are_updated_and_ready(cluster: Cluster) -> None:
    """While the last replaced pod is not ready, the status keeps the old current revision."""

    def finished() -> bool:
        parent = cluster.get(STATEFUL_SETS, "s")
        assert parent is not None
        return bool(parent["status"]["currentRevision"] == parent["status"]["updateRevision"])

    up(cluster, 2)
    assert finished()
    cluster.patch(STATEFUL_SETS, "s", {"spec": {"template": template(LABELS, "y")}})
    cluster.make_ready()
    while not all(revisions(cluster).values()) or len(revisions(cluster)) < 2:
        assert not finished()
        cluster.settle()
    assert not finished()
    cluster.make_ready()
    assert finished()


def test_replaced_pod_is_not_deleted_in_place_of_the_old_one(start_lagging: StartLagging) -> None:
    """A surplus pod is deleted by its uid: a new pod of that name stays, which is no failure."""
    cluster = start_lagging(StatefulSetController)
    spec = {"replicas": 2, "serviceName": "s", "selector": {"matchLabels": LABELS}, "template": template(LABELS)}
    cluster.create(STATEFUL_SETS, {"metadata": {"name": "s"}, "spec": {**spec, "podManagementPolicy": "Parallel"}})
    cluster.ready(PODS)
    cluster.informers.hold(PODS)
    cluster.delete(PODS, "s-1", gracePeriodSeconds=0)
    cluster.create(PODS, {"metadata": {"name": "s-1"}, "spec": template(LABELS)["spec"]})
    cluster.patch(STATEFUL_SETS, "s", {"spec": {"replicas": 1}})
    assert cluster.names(PODS) == ["s-0", "s-1"]
    assert "FailedDelete" not in [reason for reason, _ in cluster.recorder.notes]
