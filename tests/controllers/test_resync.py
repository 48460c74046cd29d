"""Periodic resyncs, and the interval between the starts of controllers."""

from __future__ import annotations

from pathlib import Path

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, CONFIG_MAPS, NAMESPACES
from orchd.controllers.volumes.binding.controller import PersistentVolumeBinder
from orchd.controllers.volumes.usage import VOLUMES
from tests.controllers.cluster_support import Cluster
from tests.controllers.unit_support import ControllerBench

ROOT = "orch-root-ca.crt"
ROLES = ResourceRef("rbac.authorization.orch.io", "v1", "clusterroles")


def test_all_objects_are_reconciled_within_two_resync_periods(tmp_path: Path) -> None:
    """All objects are reconciled again within two resync periods."""
    cluster = Cluster(tmp_path, ["serviceaccount"], ["--min-resync-period=8s"])
    cluster.namespace()
    cluster.settle()
    worked = _worked(cluster)
    _pass(cluster, 6)
    assert _worked(cluster) == worked
    _pass(cluster, 11)
    assert _worked(cluster) >= worked + len(cluster.items(NAMESPACES, ""))
    cluster.stop()


def _pass(cluster: Cluster, seconds: int) -> None:
    """Advance in steps in which the leader renews its lease."""
    for _ in range(seconds):
        cluster.settle(1)


def _worked(cluster: Cluster) -> int:
    group = cluster.server.server.background.controllers.group
    assert group is not None
    return sum(counts.worked for _, counts in group.counts())


def test_controllers_start_at_intervals(tmp_path: Path) -> None:
    """With --controller-start-interval a controller starts one to two intervals after the previous one."""
    cluster = Cluster(tmp_path, ["serviceaccount", "root-ca-cert-publisher"], ["--controller-start-interval=10s"])
    cluster.namespace()
    cluster.settle(9)
    assert cluster.get(CONFIG_MAPS, ROOT) is None
    cluster.settle(12)
    assert cluster.get(CONFIG_MAPS, ROOT) is not None
    cluster.stop()


def test_dropped_keys_of_the_binder_are_those_of_volumes_and_claims() -> None:
    """Which of them need work is not known then."""
    bench = ControllerBench(PersistentVolumeBinder)
    for number in range(2):
        bench.informers.put(VOLUMES, {"metadata": {"name": f"v{number}"}, "spec": {}, "status": {}})
    bench.informers.put(CLAIMS, {"metadata": {"name": "c", "namespace": "a"}, "spec": {}, "status": {}})
    bench.controller._refill()
    assert len(bench.controller.queue) == 3
