"""Pods that controllers of release 1.35 delete, and cron jobs of other time zones."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.objects import CRON_JOBS, JOBS, NODES, PODS
from orchd.dialect import ORCH
from tests.controllers.cluster_support import Cluster, template

RUNNING_CONTROLLERS = ("podgc", "taint-eviction-controller", "nodelifecycle", "cronjob")
SERVER_FLAGS = ("--emulated-version=1.35",)
_HELD = ["example.com/hold"]


def _pod(cluster: Cluster, node: str, **spec: Any) -> None:
    metadata = {"name": "p", "finalizers": _HELD}
    containers = [{"name": "c", "image": "x"}]
    cluster.create(PODS, {"metadata": metadata, "spec": {"containers": containers, "nodeName": node, **spec}})


def _node(cluster: Cluster, *taints: dict[str, Any]) -> None:
    ready = [{"type": "Ready", "status": "False"}]
    node = {"metadata": {"name": "n"}, "spec": {"taints": list(taints)}, "status": {"conditions": ready}}
    cluster.create(NODES, node, "")
    cluster.settle()


def _found(cluster: Cluster) -> tuple[str, list[tuple[str, str]], bool]:
    """Phase of the pod, reason and message of its condition, and whether it was deleted."""
    pod = cluster.get(PODS, "p")
    assert pod is not None
    marks = [
        (c["reason"], c["message"]) for c in pod["status"].get("conditions", ()) if c["type"] == "DisruptionTarget"
    ]
    return pod["status"]["phase"], marks, "deletionTimestamp" in pod["metadata"]


def test_pod_of_a_gone_node_fails(cluster: Cluster) -> None:
    """It is marked, fails, and is deleted."""
    _pod(cluster, "gone")
    cluster.settle(60)
    assert _found(cluster) == ("Failed", [("DeletionByPodGC", "PodGC: node no longer exists")], True)


def test_deleted_pod_of_a_node_out_of_service_fails(cluster: Cluster) -> None:
    """Nobody else would confirm its end; it is not marked as disrupted."""
    _pod(cluster, "n", tolerations=[{"operator": "Exists"}])
    _node(cluster)
    cluster.delete(PODS, "p")
    cluster.settle(30)
    assert _found(cluster) == ("Pending", [], True)
    taint = {"key": ORCH("node.{long}.io/out-of-service"), "effect": "NoExecute"}
    cluster.patch(NODES, "n", {"spec": {"taints": [taint]}}, "")
    cluster.settle(30)
    assert _found(cluster) == ("Failed", [], True)


def test_taint_marks_the_pods_that_it_evicts(cluster: Cluster) -> None:
    """The condition comes before the deletion."""
    _pod(cluster, "n")
    _node(cluster, {"key": "k", "effect": "NoExecute"})
    cluster.settle(2)
    note = "Taint manager: deleting due to NoExecute taint"
    assert _found(cluster) == ("Pending", [("DeletionByTaintManager", note)], True)


@pytest.mark.parametrize(("zone", "at"), [("", "08:01:00Z"), ("Europe/Berlin", "09:01:00+01:00")])
def test_schedule_follows_its_time_zone(cluster: Cluster, zone: str, at: str) -> None:
    """Jobs say when they were due, in the zone of their schedule."""
    job = {"spec": {"template": template({}, restartPolicy="Never")}}
    hour = at[1:2]
    spec = {"schedule": f"* {hour} * * *", "jobTemplate": job, **({"timeZone": zone} if zone else {})}
    cluster.create(CRON_JOBS, {"metadata": {"name": "c"}, "spec": spec})
    cluster.settle(61)
    key = ORCH("batch.{long}.io/cronjob-scheduled-timestamp")
    assert [found["metadata"]["annotations"][key].partition("T")[2] for found in cluster.items(JOBS)] == [at]
