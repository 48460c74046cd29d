"""The controllers that --controllers can name: who they are, and what they read."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.interfaces import ControllerRow
from orchd.controllers.settings import ControllerSettings
from orchd.controllers.table import CONTROLLERS
from orchd.dialect import ORCH
from orchd.kinds.release import NEWEST, SPECIFICATION
from tests.controllers.unit_support import ControllerBench

#: Service account, source of Events ("": the name with "-controller") and kind of the object that they are about.
IDENTITIES = {
    "serviceaccount-token": ("", "", ""), "endpoint": ("endpoint-controller", "", "Endpoints"),
    "endpointslice": ("endpointslice-controller", "endpoint-slice-controller", "Service"),
    "endpointslicemirroring": ("endpointslicemirroring-controller", "endpoint-slice-mirroring-controller", "Endpoints"),
    "replicationcontroller": ("replication-controller", "replication-controller", "ReplicationController"),
    "podgc": ("pod-garbage-collector", "", ""), "resourcequota": ("resourcequota-controller", "", "ResourceQuota"),
    "namespace": ("namespace-controller", "", ""), "serviceaccount": ("service-account-controller", "", ""),
    "legacy-service-account-token-cleaner": ("legacy-service-account-token-cleaner", "", ""),
    "daemonset": ("daemon-set-controller", "", "DaemonSet"), "job": ("job-controller", "", "Job"),
    "deployment": ("deployment-controller", "", "Deployment"), "replicaset": ("replicaset-controller", "", "ReplicaSet"),
    "horizontalpodautoscaling": ("horizontal-pod-autoscaler", "horizontal-pod-autoscaler", "HorizontalPodAutoscaler"),
    "disruption": ("disruption-controller", "controllermanager", "PodDisruptionBudget"),
    "statefulset": ("statefulset-controller", "", "StatefulSet"), "cronjob": ("cronjob-controller", "", "CronJob"),
    "ttl-after-finished": ("ttl-after-finished-controller", "", ""),
    "persistentvolume-binder": ("persistent-volume-binder", "persistentvolume-controller", ""),
    "attachdetach": ("attachdetach-controller", "", "Pod"),
    "persistentvolume-expander": ("expand-controller", "volume_expand", "PersistentVolumeClaim"),
    "clusterrole-aggregation": ("clusterrole-aggregation-controller", "", ""),
    "validatingadmissionpolicy-status-controller": ("validatingadmissionpolicy-status-controller", "", ""),
    "pvc-protection": ("pvc-protection-controller", "", ""), "pv-protection": ("pv-protection-controller", "", ""),
    "volumeattributesclass-protection-controller": ("volumeattributesclass-protection-controller", "", ""),
    "ephemeral-volume": ("ephemeral-volume-controller", "ephemeral_volume", "Pod"),
    "resourceclaim-controller": ("resource-claim-controller", "resource_claim", "Pod"),
    "root-ca-cert-publisher": ("root-ca-cert-publisher", "", ""), "nodelifecycle": ("node-controller", "node-controller", ""),
    "taint-eviction-controller": ("node-controller", "taint-eviction-controller", ""),
    "csrsigning": ("certificate-controller", "", ""), "csrapproving": ("certificate-controller", "", ""),
    "csrcleaner": ("certificate-controller", "", ""), "ttl": ("ttl-controller", "", ""),
    "bootstrapsigner": ("bootstrap-signer", "", ""), "tokencleaner": ("token-cleaner", "", ""),
    "nodeipam": ("node-controller", "cidrAllocator", ""),
    "service-cidr-controller": ("service-cidrs-controller", "service-cidr-controller", ""),
}  # fmt: skip


def _id(row: ControllerRow) -> str:
    return f"{row.name}{row.since and '-' + row.since}"


@pytest.mark.parametrize("row", CONTROLLERS, ids=_id)
def test_identity_of_a_controller(row: ControllerRow) -> None:
    controller: Any = row.make
    assert controller.name == row.name
    if row.name in IDENTITIES:
        assert (controller.account, controller.component, controller.subject[1]) == IDENTITIES[row.name]


@pytest.mark.parametrize("row", CONTROLLERS, ids=_id)
def test_resources_of_a_controller_are_those_that_it_follows(row: ControllerRow) -> None:
    """A controller is left out where one of them is not served, as those without a group always are."""
    settings = ControllerSettings(allocate_node_cidrs=True, cluster_cidr=(ip_network("10.1.0.0/16"),))
    bench = ControllerBench(lambda environment: None)
    requested: set[ResourceRef] = set()
    memory, informer = bench.informers, bench.informers.informer

    def request(ref: ResourceRef) -> Any:
        requested.add(ref)
        return informer(ref)

    memory.informer = request  # type: ignore[method-assign]
    for release in (SPECIFICATION, NEWEST):
        if release.includes(row.since, row.until):
            requested.clear()
            ControllerBench(row.make, release=release, informers=memory, settings=settings)
            listed = {ResourceRef(ORCH(ref.group), ref.version, ref.plural) for ref in row.resources}
            assert listed <= requested and not any(ref.group for ref in requested - listed)
