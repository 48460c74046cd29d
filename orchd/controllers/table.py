"""All implemented controllers, in start order."""

from __future__ import annotations

from typing import Final

from orchd.controllers.autoscaling.controller import HorizontalPodAutoscalerController
from orchd.controllers.bootstrap.cleaner import TokenCleaner
from orchd.controllers.bootstrap.signer import BootstrapSigner
from orchd.controllers.certificates.approving import CertificateApprover
from orchd.controllers.certificates.cleaner import RequestCleaner
from orchd.controllers.certificates.signing import CertificateSigner
from orchd.controllers.cloud import RouteController, ServiceController
from orchd.controllers.clusterrole_aggregation import ClusterRoleAggregation
from orchd.controllers.cronjob.controller import CronJobController
from orchd.controllers.daemonset.controller import DaemonSetController
from orchd.controllers.deployment.controller import DeploymentController
from orchd.controllers.disruption.controller import DisruptionController
from orchd.controllers.endpoints.endpoints_controller import EndpointsController
from orchd.controllers.endpoints.mirroring_controller import EndpointSliceMirroringController
from orchd.controllers.endpoints.slice_controller import EndpointSliceController
from orchd.controllers.garbage.collector import GarbageCollector
from orchd.controllers.interfaces import Factory
from orchd.controllers.job import JobController
from orchd.controllers.namespace import NamespaceController
from orchd.controllers.node_ttl import NodeTtlController
from orchd.controllers.nodeipam.controller import NodeIpamController
from orchd.controllers.nodelifecycle.controller import NodeLifecycleController
from orchd.controllers.podgc import PodGarbageCollector
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.replicationcontroller import ReplicationControllerController
from orchd.controllers.resourcequota.controller import ResourceQuotaController
from orchd.controllers.rootca import RootCaPublisher
from orchd.controllers.serviceaccount import ServiceAccountController
from orchd.controllers.serviceaccount_tokens import TokensController
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.controllers.ttl_after_finished import TtlAfterFinished
from orchd.controllers.volumes.attachment.controller import AttachDetachController
from orchd.controllers.volumes.binding.controller import PersistentVolumeBinder
from orchd.controllers.volumes.ephemeral import EphemeralVolumeController
from orchd.controllers.volumes.expansion import VolumeExpansion
from orchd.controllers.volumes.protection import ClaimProtection, VolumeProtection

CONTROLLERS: Final[tuple[tuple[str, Factory], ...]] = (
    ("serviceaccount-token", TokensController),
    ("endpoint", EndpointsController),
    ("endpointslice", EndpointSliceController),
    ("endpointslicemirroring", EndpointSliceMirroringController),
    ("replicationcontroller", ReplicationControllerController),
    ("podgc", PodGarbageCollector),
    ("resourcequota", ResourceQuotaController),
    ("garbagecollector", GarbageCollector),
    ("namespace", NamespaceController),
    ("serviceaccount", ServiceAccountController),
    ("daemonset", DaemonSetController),
    ("job", JobController),
    ("deployment", DeploymentController),
    ("replicaset", ReplicaSetController),
    ("horizontalpodautoscaling", HorizontalPodAutoscalerController),
    ("disruption", DisruptionController),
    ("statefulset", StatefulSetController),
    ("cronjob", CronJobController),
    ("ttl-after-finished", TtlAfterFinished),
    ("persistentvolume-binder", PersistentVolumeBinder),
    ("attachdetach", AttachDetachController),
    ("persistentvolume-expander", VolumeExpansion),
    ("clusterrole-aggregation", ClusterRoleAggregation),
    ("pvc-protection", ClaimProtection),
    ("pv-protection", VolumeProtection),
    ("ephemeral-volume", EphemeralVolumeController),
    ("root-ca-cert-publisher", RootCaPublisher),
    ("nodelifecycle", NodeLifecycleController),
    ("csrsigning", CertificateSigner),
    ("csrapproving", CertificateApprover),
    ("csrcleaner", RequestCleaner),
    ("ttl", NodeTtlController),
    ("bootstrapsigner", BootstrapSigner),
    ("tokencleaner", TokenCleaner),
    ("nodeipam", NodeIpamController),
    ("service", ServiceController),
    ("route", RouteController),
)
