"""Pod garbage collection: finished pods beyond the threshold, and pods of nodes that do not exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    cluster.settle(30)
    assert cluster.names(PODS) == ["kept", "lost"]
    cluster.settle(20)
    assert cluster.names(PODS) == ["kept"]
