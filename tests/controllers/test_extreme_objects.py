"""Valid but unreasonable objects cause no hang, busy loop or log flood in any controller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.logger import LogLevel, globalLogPublisher

from orchd.client.interfaces import ResourceRef
from orchd.controllers.autoscaling.controller import AUTOSCALERS
from orchd.controllers.disruption.controller import BUDGETS
from orchd.controllers.objects import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINTS,
    JOBS,
    NODES,
    PODS,
    QUOTAS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
)
from orchd.errors import ApiError
from tests.controllers.cluster_support import Cluster, template

LABELS = {"app": "x"}
HUGE = 2**31 - 1


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    """Log events of warnings and worse."""
    found: list[Any] = []

    def keep(event: Any) -> None:
        if event["log_level"] >= LogLevel.warn:
            found.append(event)

    observer: Any = keep
    globalLogPublisher.addObserver(observer)
    yield found
    globalLogPublisher.removeObserver(observer)


def workload(name: str, kind: str = "", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": LABELS}, "template": template(LABELS), **spec},
    }


def worked(cluster: Cluster) -> dict[str, int]:
    group = cluster.server.server.background.controllers.group
    assert group is not None
    return {name: counts.worked for name, counts in group.counts()}


def assert_idle(cluster: Cluster, logged: list[Any], *, passes: int = 60, lines: int = 60) -> None:
    """Within ten minutes no controller processes more than this many keys, and the log gets no more than this many
    lines."""
    cluster.settle(5)
    before, said = worked(cluster), len(logged)
    for _ in range(120):
        cluster.settle(5)
    after = worked(cluster)
    busy = {name: after[name] - before[name] for name in after if after[name] - before[name] > passes}
    # An autoscaler is evaluated four times a minute.
    busy.pop("horizontalpodautoscaling", None)
    assert not busy
    assert len(logged) - said <= lines, logged[-1]
    assert not [event for event in logged if "log_failure" in event]


def test_huge_indexed_job_is_bounded(cluster: Cluster, logged: list[Any]) -> None:
    """The next indexes are found without scanning all; a status with more indexes than completions is truncated; pods
    with invalid indexes are deleted."""
    job = {
        "parallelism": 2,
        "completions": HUGE,
        "completionMode": "Indexed",
        "template": template({}, restartPolicy="Never"),
    }
    cluster.create(JOBS, {"metadata": {"name": "j"}, "spec": job})
    cluster.settle()
    assert len(cluster.items(PODS)) == 2
    cluster.patch(
        JOBS, "j", {"status": {"completedIndexes": "x,\u00b2,-,5-,0-99999999999999999999,0-3,8"}}, subresource="status"
    )
    indexes = {pod["metadata"]["annotations"]["batch.orch.io/job-completion-index"] for pod in cluster.items(PODS)}
    assert len(indexes) <= 4
    for text in ("\u00b2", "9" * 5000, "-1", ""):
        cluster.patch(
            PODS, cluster.names(PODS)[0], {"metadata": {"annotations": {"batch.orch.io/job-completion-index": text}}}
        )
    cluster.settle(5)
    assert_idle(cluster, logged)


def test_huge_replica_set_backs_off_at_the_quota(cluster: Cluster, logged: list[Any]) -> None:
    """A set of two thousand million pods that a quota rejects is retried with increasing backoff."""
    cluster.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "3"}}})
    cluster.settle()
    kinds: tuple[tuple[ResourceRef, dict[str, Any]], ...] = (
        (REPLICA_SETS, {}),
        (DEPLOYMENTS, {"progressDeadlineSeconds": HUGE, "minReadySeconds": 1}),
        (STATEFUL_SETS, {"serviceName": "s", "podManagementPolicy": "Parallel"}),
    )
    for ref, more in kinds:
        cluster.create(ref, workload(ref.plural, **{"replicas": HUGE, "minReadySeconds": HUGE, **more}))
    job = {
        "parallelism": HUGE,
        "template": template({}, restartPolicy="Never"),
        "backoffLimit": HUGE,
        "activeDeadlineSeconds": HUGE * 2,
    }
    cluster.create(JOBS, {"metadata": {"name": "j"}, "spec": job})
    assert_idle(cluster, logged, passes=300, lines=200)
    assert len(cluster.items(PODS)) == 3


def owned(name: str, *owners: dict[str, Any], **status: Any) -> dict[str, Any]:
    references = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "none", **each} for each in owners
    ]
    return {"metadata": {"name": name, "labels": LABELS, "ownerReferences": references}, "spec": template({})["spec"]}


def test_invalid_owner_references(cluster: Cluster, logged: list[Any]) -> None:
    """Owners with a wrong kind, an unserved kind, another uid, and several owners."""
    cluster.create(REPLICA_SETS, workload("r", replicas=1))
    cluster.settle()
    real = cluster.get(REPLICA_SETS, "r")
    assert real is not None
    uid = real["metadata"]["uid"]
    wrong: list[list[dict[str, Any]]] = [
        [{"uid": uid, "controller": True}],
        [{"uid": uid, "kind": "Deployment", "controller": True}],
        [{"uid": uid, "kind": "Wonder", "apiVersion": "example.com/v1", "controller": True}],
        [{"uid": uid, "name": "another", "controller": True}],
        [{"uid": uid}, {"uid": "other", "kind": "Job", "apiVersion": "batch/v1", "controller": True}],
        [{"uid": uid, "kind": "Node", "apiVersion": "v1"}, {"uid": "u2", "kind": "Namespace", "apiVersion": "v1"}],
    ]
    for number, references in enumerate(wrong):
        cluster.create(PODS, owned(f"p{number}", *references))
    assert_idle(cluster, logged, passes=150, lines=100)


def test_impossible_pod_statuses(cluster: Cluster, logged: list[Any]) -> None:
    """Statuses that no kubelet reports: duplicate conditions, missing times, negative restarts, foreign addresses."""
    cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": LABELS, "ports": [{"port": 80}]}})
    cluster.create(BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": "100%", "selector": {}}})
    cluster.create(REPLICA_SETS, workload("r", replicas=3, minReadySeconds=5))
    cluster.create(STATEFUL_SETS, {**workload("t", serviceName="s"), "metadata": {"name": "t"}})
    cluster.create(
        JOBS,
        {"metadata": {"name": "j"}, "spec": {"parallelism": 2, "template": template({}, restartPolicy="OnFailure")}},
    )
    cluster.settle()
    states: list[dict[str, Any]] = [
        {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, {"type": "Ready", "status": "False"}]},
        {"phase": "Wonderful", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2999-01-01T00:00:00Z"}]},
        {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}], "startTime": "0001-01-01T00:00:00Z"},
        {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
            {"name": "c", "restartCount": -HUGE, "ready": True, "image": "x", "imageID": ""}]},
        {"phase": "Failed", "reason": "x" * 1000},
    ]  # fmt: skip
    refused = 0
    for state in states:
        for name in cluster.names(PODS):
            try:
                cluster.patch(PODS, name, {"status": state}, subresource="status")
            except ApiError:
                refused += 1
        cluster.settle(2)
    assert refused < 20
    assert_idle(cluster, logged, passes=300, lines=100)


def test_huge_and_empty_selectors(cluster: Cluster, logged: list[Any]) -> None:
    """Selectors of a thousand labels, of everything, and with contradictions."""
    many = {f"key-{n}": "v" * 60 for n in range(1000)}
    clash = [{"key": "app", "operator": "In", "values": ["x"]}, {"key": "app", "operator": "DoesNotExist"}]
    cluster.create(SERVICES, {"metadata": {"name": "many"}, "spec": {"selector": many, "ports": [{"port": 80}]}})
    for name, selector in (("all", {}), ("clash", {"matchExpressions": clash}), ("many", {"matchLabels": many})):
        cluster.create(BUDGETS, {"metadata": {"name": name}, "spec": {"maxUnavailable": "0%", "selector": selector}})
    cluster.create(PODS, owned("p"))
    cluster.create(PODS, {"metadata": {"name": "q", "labels": many}, "spec": template({})["spec"]})
    assert_idle(cluster, logged)


def test_schedules_that_never_come_and_huge_periods(cluster: Cluster, logged: list[Any]) -> None:
    """Schedules without a date, and periods of centuries."""
    for number, schedule in enumerate(
        ("0 0 30 2 *", "0 0 31 4,6,9,11 *", "@every 87600h", "*/1 * * * *", "@every 1ms")
    ):
        spec = {"schedule": schedule, "suspend": schedule == "*/1 * * * *", "startingDeadlineSeconds": HUGE,
                "jobTemplate": {"spec": {"template": template({}, restartPolicy="Never"), "suspend": True}}}  # fmt: skip
        try:
            cluster.create(CRON_JOBS, {"metadata": {"name": f"c{number}"}, "spec": spec})
        except ApiError as error:
            assert error.code == 422
    cluster.settle(5)
    assert not [event for event in logged if "log_failure" in event]


def test_unusual_nodes_and_daemon_sets(cluster: Cluster, logged: list[Any]) -> None:
    """Nodes with hundreds of taints and conditions without times; daemon sets that no node accepts."""
    taints = [{"key": f"k{n}", "effect": "NoExecute", "timeAdded": "2999-01-01T00:00:00Z"} for n in range(300)]
    conditions = [
        {"type": "Ready", "status": "True"},
        {"type": "Ready", "status": "Unknown"},
        {"type": "X", "status": "Y"},
    ]
    cluster.create(NODES, {"metadata": {"name": "n"}, "spec": {"taints": taints}}, "")
    cluster.create(NODES, {"metadata": {"name": "m"}}, "")
    for name in "nm":
        cluster.patch(NODES, name, {"status": {"conditions": conditions}}, "", "status")
    tolerations = [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -5}, {"operator": "Exists"}]
    cluster.create(DAEMON_SETS, workload("d", template=template(LABELS, tolerations=tolerations, nodeName="n")))
    cluster.create(
        DAEMON_SETS, workload("e", minReadySeconds=HUGE, updateStrategy={"rollingUpdate": {"maxUnavailable": "100%"}})
    )
    assert_idle(cluster, logged, passes=400, lines=100)


def test_autoscalers_with_invalid_targets(cluster: Cluster, logged: list[Any]) -> None:
    """Targets without a scale subresource, the autoscaler itself, and a missing object."""
    targets = (
        ("v1", "Pod", "p"),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "h1"),
        ("a/b", "Wonder", "w"),
        ("apps/v1", "Deployment", "absent"),
    )
    for number, (version, kind, name) in enumerate(targets):
        target = {"apiVersion": version, "kind": kind, "name": name}
        spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": HUGE}
        cluster.create(AUTOSCALERS, {"metadata": {"name": f"h{number}"}, "spec": spec})
    assert_idle(cluster, logged)


def test_overwritten_endpoints_are_restored(cluster: Cluster, logged: list[Any]) -> None:
    """Endpoints that another client overwrites repeatedly are restored, and mirrored EndpointSlices stay bounded."""
    cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": LABELS, "ports": [{"port": 80}]}})
    cluster.create(SERVICES, {"metadata": {"name": "t"}, "spec": {"ports": [{"port": 80}]}})
    addresses = [{"ip": f"10.{n // 250}.0.{n % 250 + 1}"} for n in range(3000)]
    subsets = [{"addresses": addresses, "ports": [{"port": 1}]}]
    cluster.create(ENDPOINTS, {"metadata": {"name": "t"}, "subsets": subsets})
    cluster.settle()
    for _ in range(3):
        cluster.patch(ENDPOINTS, "s", {"subsets": subsets})
    slices = cluster.items(ResourceRef("discovery.orch.io", "v1", "endpointslices"))
    assert sum(len(each["endpoints"] or ()) for each in slices) <= 1000
    assert_idle(cluster, logged)


@pytest.mark.parametrize("text", ["1_0", "\u0661", "+5", "9" * 5000, "x", "", "-"])
def test_invalid_deletion_cost_counts_as_none(cluster: Cluster, tmp_path: Path, text: str) -> None:
    """An invalid deletion cost counts as 0: the older pod stays."""
    cluster.create(REPLICA_SETS, workload("r", replicas=2))
    cluster.settle()
    cluster.make_ready()
    first, second = cluster.names(PODS)
    cluster.patch(PODS, first, {"metadata": {"annotations": {"controller.orch.io/pod-deletion-cost": "-1"}}})
    try:
        cluster.patch(PODS, second, {"metadata": {"annotations": {"controller.orch.io/pod-deletion-cost": text}}})
    except ApiError:
        return
    cluster.patch(REPLICA_SETS, "r", {"spec": {"replicas": 1}})
    left = [pod["metadata"]["name"] for pod in cluster.items(PODS) if not pod["metadata"].get("deletionTimestamp")]
    assert left == [second]
