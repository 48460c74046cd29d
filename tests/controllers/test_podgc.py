"""Pod garbage collection: finished pods beyond the threshold, and pods of nodes that do not exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import NODES, PODS
from orchd.controllers.podgc import PodGarbageCollector
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.testing.doubles.server import run
from tests.controllers.cluster_support import Cluster, template
from tests.controllers.lagging_support import StartLagging
from tests.controllers.recording_support import FORBIDDEN, recording_client
from tests.controllers.unit_support import ControllerBench


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": template({}, **spec)["spec"]}


def test_oldest_finished_pods_beyond_the_threshold_are_deleted(tmp_path: Path) -> None:
    """The oldest finished pods are deleted, by creation time; running pods do not count."""
    cluster = Cluster(tmp_path, ["podgc"], ["--terminated-pod-gc-threshold=2"])
    cluster.namespace()
    try:
        for name in ("d", "c", "b", "a"):
            cluster.create(PODS, pod(name))
            cluster.settle(2)
        for name in ("a", "b", "c"):
            cluster.patch(PODS, name, {"status": {"phase": "Succeeded"}}, subresource="status")
        cluster.settle(2)
        assert sorted(cluster.names(PODS)) == ["a", "b", "d"]
    finally:
        cluster.stop()


def test_pods_of_missing_nodes_are_deleted(start_lagging: StartLagging) -> None:
    """A pod is deleted 40 seconds after its node was found missing, unless the server has the node."""
    cluster = start_lagging(PodGarbageCollector)
    cluster.informers.hold(NODES)
    run(cluster.client.create(NODES, "", {"metadata": {"name": "unobserved"}}))
    cluster.create(PODS, pod("kept", nodeName="unobserved"))
    cluster.create(PODS, pod("lost", nodeName="missing"))
    cluster.settle(38.5)
    assert cluster.names(PODS) == ["kept", "lost"]
    cluster.settle(1)
    assert cluster.names(PODS) == ["kept"]


def test_pods_of_a_deleted_node_are_deleted(start_lagging: StartLagging) -> None:
    """The pods of a node are deleted 40 seconds after it was; those of a node that is registered again by then, and of
    others, stay."""
    cluster = start_lagging(PodGarbageCollector)
    for name in ("gone", "returned", "other"):
        run(cluster.client.create(NODES, "", {"metadata": {"name": name}}))
        cluster.create(PODS, pod(f"on-{name}", nodeName=name))
    for name in ("gone", "returned"):
        run(cluster.client.delete(NODES, "", name))
    cluster.settle(39.5)
    assert cluster.names(PODS) == ["on-gone", "on-other", "on-returned"]
    run(cluster.client.create(NODES, "", {"metadata": {"name": "returned"}}))
    cluster.settle(1)
    assert cluster.names(PODS) == ["on-other", "on-returned"]


def test_terminating_pods_without_a_node_are_removed(
    start_lagging: StartLagging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod without a node is removed when it has been terminating for five seconds; nobody else would."""
    cluster = start_lagging(PodGarbageCollector)
    removed: list[tuple[str, dict[str, Any]]] = []

    async def remove(ref: ResourceRef, namespace: str, name: str, **options: Any) -> None:
        removed.append((name, options))

    monkeypatch.setattr(cluster.controller, "remove", remove)
    pods = {name: cluster.create(PODS, pod(name)) for name in ("pending", "leaving")}
    cluster.patch(PODS, "leaving", {"metadata": {"finalizers": ["x.test/hold"]}})
    cluster.delete(PODS, "leaving")
    cluster.settle(3.5)
    assert removed == []
    cluster.settle(1)
    assert removed == [("leaving", {"uid": pods["leaving"]["metadata"]["uid"], "grace": 0})]


OUT = ORCH("node.{long}.io/out-of-service")
GONE: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def node(*, ready: bool = False, taint: str = OUT) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"metadata": {"name": "n"}, "spec": {"taints": [{"key": taint}]}, "status": {"conditions": conditions}}


def placed(name: str = "p", node: str = "n", phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    own = {"name": name, "namespace": "a", "uid": name, **metadata}
    return {"metadata": own, "spec": {"nodeName": node} if node else {}, "status": {"phase": phase}}


def collector(threshold: int = 0, release: Release = NEWEST, client: Any = None) -> ControllerBench:
    settings = ControllerSettings(terminated_pod_gc_threshold=threshold)
    bench = ControllerBench(PodGarbageCollector, client, settings=settings, release=release)
    run(bench.controller.listen())
    return bench


@pytest.mark.parametrize(
    ("nodes", "change", "threshold", "due"),
    [
        ([node()], placed(), 0, {}),
        ([], placed(), 0, {40: ["p"]}),
        ([], placed(node=""), 0, {}),
        ([], placed(node="", **GONE), 0, {5: ["p"]}),
        ([node()], placed(**GONE), 0, {5: ["p"]}),
        ([node(ready=True)], placed(**GONE), 0, {}),
        ([node(taint="other")], placed(**GONE), 0, {}),
        ([node()], placed(phase="Failed"), 0, {}),
        ([node()], placed(phase="Failed"), 1, {1: [""]}),
        ([], placed(phase="Failed"), 1, {1: [""], 40: ["p"]}),
    ],
)
def test_times_of_collection(
    nodes: list[Any], change: dict[str, Any], threshold: int, due: dict[float, list[str]]
) -> None:
    """Seconds after a pod changed; the empty name is that of the check of all finished pods."""
    bench = collector(threshold)
    bench.informers.put(NODES, *nodes)
    bench.informers.put(PODS, change)
    keys = {at: [("a" if each else "", each) for each in names] for at, names in due.items()}
    assert bench.delays(1, 5, 40) == keys
    bench.informers.put(PODS, {**change, "metadata": {**change["metadata"], "labels": {}}})
    assert bench.delays(1) == {}
    bench.clock.advance(40)
    bench.queued()
    bench.informers.informer(PODS).remove("a", "p")
    assert bench.delays(1, 5, 40) == {}


def test_changes_of_nodes_queue_their_pods() -> None:
    """All of a node that is gone, and the deleted ones of a node that goes out of service."""
    bench = collector()
    bench.informers.put(NODES, node(ready=True))
    bench.informers.put(PODS, placed(), placed("q", **GONE))
    bench.informers.put(NODES, node())
    assert bench.delays(5, 40) == {5: [("a", "q")]}
    bench.informers.put(NODES, node())
    assert bench.delays(5, 40) == {}
    bench.informers.informer(NODES).remove("", "n")
    assert bench.delays(5, 40) == {40: [("a", "p"), ("a", "q")]}
    early = collector(release=SPECIFICATION)
    early.informers.put(NODES, node(ready=True))
    early.informers.put(PODS, placed("q", **GONE))
    early.informers.put(NODES, node())
    assert early.delays(5, 40) == {}


@pytest.mark.parametrize(
    ("nodes", "read", "of", "cause"),
    [
        ([], [], placed(), "orphaned"),
        ([], [node()], placed(), ""),
        ([node()], [], placed(), ""),
        ([node()], [], placed(**GONE), "out-of-service"),
        ([node(ready=True)], [], placed(**GONE), ""),
        ([], [], placed(node="", **GONE), "unscheduled"),
        ([], [], placed(node=""), ""),
    ],
)
def test_collected_pods(nodes: list[Any], read: list[Any], of: dict[str, Any], cause: str) -> None:
    """The phase of a pod becomes Failed before it is deleted without grace, and the cause is counted."""
    bench = collector()
    bench.informers.put(NODES, *nodes)
    bench.informers.put(PODS, of)
    bench.client.objects.update({each["metadata"]["name"]: each for each in read})
    run(bench.controller.reconcile(("a", "p")))
    deleted = [
        body for (verb, _, _), body in zip(bench.client.calls, bench.client.bodies, strict=True) if verb == "delete"
    ]
    assert deleted == ([{"preconditions": {"uid": "p"}, "gracePeriodSeconds": 0}] if cause else [])
    assert [verb for verb, what, _ in bench.client.calls if what == "pods/status"] == (["patch"] if cause else [])
    values = bench.values()
    assert values["pod_gc_collector_force_delete_pods_total"] == ({("a", cause): 1} if cause else {})
    assert values["pod_gc_collector_force_delete_pod_errors_total"] == {}


def test_finished_pods_beyond_the_threshold() -> None:
    """The oldest ones, by name if they are of one age; failures are counted."""
    for client in (None, recording_client(delete=FORBIDDEN)):
        bench = collector(1, client=client)
        for name, created in (("c", "2026-01-02"), ("b", "2026-01-01"), ("a", "2026-01-01"), ("running", "2025-01-01")):
            phase = "Running" if name == "running" else "Succeeded"
            bench.informers.put(PODS, placed(name, phase=phase, creationTimestamp=created))
        if client is None:
            run(bench.controller.reconcile(("", "")))
            assert [name for verb, _, name in bench.client.calls if verb == "delete"] == ["a", "b"]
            continue
        with pytest.raises(ApiError):
            run(bench.controller.reconcile(("", "")))
        assert bench.values()["pod_gc_collector_force_delete_pod_errors_total"] == {("a", "terminated"): 1}
    bench = collector(3)
    for name in "abc":
        bench.informers.put(PODS, placed(name, phase="Succeeded"))
    run(bench.controller.reconcile(("", "")))
    assert not bench.client.calls
