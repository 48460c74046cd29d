"""Periodic resyncs, and the interval between the starts of controllers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.autoscaling.controller import AUTOSCALERS, HorizontalPodAutoscalerController
from orchd.controllers.certificates.approving import CertificateApprover
from orchd.controllers.certificates.cleaner import RequestCleaner
from orchd.controllers.certificates.signing import CertificateSigner
from orchd.controllers.clusterrole_aggregation import ClusterRoleAggregation
from orchd.controllers.cronjob.controller import CronJobController
from orchd.controllers.deployment.controller import DeploymentController
from orchd.controllers.disruption.controller import BUDGETS, DisruptionController
from orchd.controllers.endpoints.endpoints_controller import EndpointsController
from orchd.controllers.endpoints.mirroring_controller import EndpointSliceMirroringController
from orchd.controllers.namespace import NamespaceController
from orchd.controllers.node_ttl import NodeTtlController
from orchd.controllers.nodelifecycle.controller import NodeLifecycleController
from orchd.controllers.objects import (
    CLAIMS,
    CONFIG_MAPS,
    CRON_JOBS,
    DEPLOYMENTS,
    ENDPOINTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    QUOTAS,
    REPLICA_SETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from orchd.controllers.podgc import PodGarbageCollector
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.resourcequota.controller import ResourceQuotaController
from orchd.controllers.service_ranges import ServiceRangeController
from orchd.controllers.serviceaccount import ServiceAccountController
from orchd.controllers.serviceaccount_tokens import TokensController
from orchd.controllers.settings import ControllerSettings
from orchd.controllers.ttl_after_finished import TtlAfterFinished
from orchd.controllers.volumes.binding.controller import PersistentVolumeBinder
from orchd.controllers.volumes.ephemeral import EphemeralVolumeController
from orchd.controllers.volumes.expansion import VolumeExpansion
from orchd.controllers.volumes.protection import ClaimProtection, VolumeProtection
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


REQUESTS = ResourceRef("certificates.orch.io", "v1", "certificatesigningrequests")


@pytest.mark.parametrize(
    ("factory", "ref"),
    [
        (VolumeExpansion, CLAIMS),
        (EphemeralVolumeController, PODS),
        (VolumeProtection, VOLUMES),
        (ClaimProtection, CLAIMS),
        (CertificateSigner, REQUESTS),
        (RequestCleaner, REQUESTS),
        (CertificateApprover, REQUESTS),
        (PodGarbageCollector, PODS),
        (ResourceQuotaController, QUOTAS),
        (TokensController, SERVICE_ACCOUNTS),
        (NodeLifecycleController, NODES),
        (NodeTtlController, NODES),
        (CronJobController, CRON_JOBS),
        (ClusterRoleAggregation, ROLES),
        (DisruptionController, BUDGETS),
        (NamespaceController, NAMESPACES),
        (ServiceAccountController, NAMESPACES),
        (HorizontalPodAutoscalerController, AUTOSCALERS),
        (DeploymentController, DEPLOYMENTS),
        (ReplicaSetController, REPLICA_SETS),
        (EndpointSliceMirroringController, ENDPOINTS),
        (EndpointsController, SERVICES),
        (TtlAfterFinished, JOBS),
        (ServiceRangeController, ResourceRef("networking.orch.io", "v1", "servicecidrs")),
    ],
)
def test_own_objects_are_queued_in_each_period(factory: Any, ref: ResourceRef) -> None:
    """Also those of which no change has to be acted on; they may have been missed."""
    bench = ControllerBench(factory, settings=ControllerSettings(min_resync_period=10))
    bench.informers.put(ref, {"metadata": {"name": "x", "namespace": "a"}, "spec": {"cidrs": []}})
    bench.controller.schedule_resync()
    bench.clock.advance(9.9)
    assert not bench.queued()
    bench.clock.advance(10.1)
    assert bench.queued() == [("a", "x")]
    bench.clock.advance(20)
    assert bench.queued() == [("a", "x")]
