"""Pod garbage collection: finished pods beyond the threshold, and pods of nodes that do not exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import NODES, PODS
from orchd.controllers.podgc import PodGarbageCollector
from orchd.testing.doubles.server import run
from tests.controllers.cluster_support import Cluster, template
from tests.controllers.lagging_support import StartLagging


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
