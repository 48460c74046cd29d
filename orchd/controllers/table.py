"""All implemented controllers, in start order, with the resources that they follow."""

from __future__ import annotations

from typing import Final

from orchd.client.interfaces import ResourceRef
from orchd.controllers.autoscaling.controller import AUTOSCALERS, HorizontalPodAutoscalerController
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
from orchd.controllers.disruption.controller import BUDGETS, DisruptionController
from orchd.controllers.disruption.scales import Scales
from orchd.controllers.endpoints.endpoints_controller import EndpointsController
from orchd.controllers.endpoints.mirroring_controller import EndpointSliceMirroringController
from orchd.controllers.endpoints.slice_controller import EndpointSliceController
from orchd.controllers.garbage.collector import GarbageCollector
from orchd.controllers.interfaces import ControllerRow
from orchd.controllers.job import JobController
from orchd.controllers.job_staged import StagedJobController
from orchd.controllers.namespace import NamespaceController
from orchd.controllers.node_ttl import NodeTtlController
from orchd.controllers.nodeipam.controller import NodeIpamController
from orchd.controllers.nodelifecycle.controller import NodeLifecycleController
from orchd.controllers.nodelifecycle.taint_eviction import APART_SINCE, TaintEvictionController
from orchd.controllers.objects import (
    CLAIMS,
    CONFIG_MAPS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    QUOTAS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    REVISIONS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
)
from orchd.controllers.podgc import PodGarbageCollector
from orchd.controllers.policy_status import POLICIES, PolicyStatusController
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.replicationcontroller import ReplicationControllerController
from orchd.controllers.resource_claims import DEVICE_CLAIM_TEMPLATES, DEVICE_CLAIMS, ResourceClaimController
from orchd.controllers.resourcequota.controller import ResourceQuotaController
from orchd.controllers.rootca import RootCaPublisher
from orchd.controllers.service_ranges import ADDRESSES, RANGES, ServiceRangeController
from orchd.controllers.serviceaccount import ServiceAccountController
from orchd.controllers.serviceaccount_token_cleaner import SINCE as TOKENS_CLEANED_SINCE
from orchd.controllers.serviceaccount_token_cleaner import LegacyTokenCleaner
from orchd.controllers.serviceaccount_tokens import TokensController
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.controllers.ttl_after_finished import TtlAfterFinished
from orchd.controllers.volumes.attachment.controller import AttachDetachController
from orchd.controllers.volumes.binding.controller import PersistentVolumeBinder
from orchd.controllers.volumes.ephemeral import EphemeralVolumeController
from orchd.controllers.volumes.expansion import VolumeExpansion
from orchd.controllers.volumes.protection import (
    ATTRIBUTES_CLASSES,
    AttributesClassProtection,
    ClaimProtection,
    VolumeProtection,
)
from orchd.controllers.volumes.usage import VOLUMES

_CLUSTER_ROLES: Final = ResourceRef("rbac.authorization.{abbr}.io", "v1", "clusterroles")
_CSI_DRIVERS: Final = ResourceRef("storage.{abbr}.io", "v1", "csidrivers")
_DEFINITIONS: Final = ResourceRef("apiextensions.{abbr}.io", "v1", "customresourcedefinitions")
_ENDPOINT_SLICES: Final = ResourceRef("discovery.{abbr}.io", "v1", "endpointslices")
_LEASES: Final = ResourceRef("coordination.{abbr}.io", "v1", "leases")
_SIGNING_REQUESTS: Final = ResourceRef("certificates.{abbr}.io", "v1", "certificatesigningrequests")
_STORAGE_CLASSES: Final = ResourceRef("storage.{abbr}.io", "v1", "storageclasses")
_VOLUME_ATTACHMENTS: Final = ResourceRef("storage.{abbr}.io", "v1", "volumeattachments")

CONTROLLERS: Final[tuple[ControllerRow, ...]] = (
    ControllerRow("serviceaccount-token", TokensController, (SERVICE_ACCOUNTS, SECRETS)),
    ControllerRow("endpoint", EndpointsController, (SERVICES, PODS, ENDPOINTS)),
    ControllerRow("endpointslice", EndpointSliceController, (SERVICES, PODS, NODES, _ENDPOINT_SLICES)),
    ControllerRow("endpointslicemirroring", EndpointSliceMirroringController, (ENDPOINTS, SERVICES, _ENDPOINT_SLICES)),
    ControllerRow("replicationcontroller", ReplicationControllerController, (REPLICATION_CONTROLLERS, PODS)),
    ControllerRow("podgc", PodGarbageCollector, (PODS, NODES)),
    ControllerRow("resourcequota", ResourceQuotaController, (QUOTAS, PODS, SERVICES, CLAIMS)),
    ControllerRow("garbagecollector", GarbageCollector, (_DEFINITIONS,)),
    ControllerRow("namespace", NamespaceController, (NAMESPACES,)),
    ControllerRow("serviceaccount", ServiceAccountController, (NAMESPACES, SERVICE_ACCOUNTS)),
    ControllerRow(
        "legacy-service-account-token-cleaner",
        LegacyTokenCleaner,
        (SERVICE_ACCOUNTS, SECRETS, PODS),
        since=TOKENS_CLEANED_SINCE,
    ),
    ControllerRow("daemonset", DaemonSetController, (DAEMON_SETS, PODS, NODES, REVISIONS)),
    ControllerRow("job", JobController, (JOBS, PODS), until="1.31"),
    ControllerRow("job", StagedJobController, (JOBS, PODS), since="1.31"),
    ControllerRow("deployment", DeploymentController, (DEPLOYMENTS, REPLICA_SETS, PODS)),
    ControllerRow("replicaset", ReplicaSetController, (REPLICA_SETS, PODS)),
    ControllerRow("horizontalpodautoscaling", HorizontalPodAutoscalerController, (AUTOSCALERS, PODS)),
    ControllerRow("disruption", DisruptionController, (BUDGETS, PODS, *Scales.REFS)),
    ControllerRow("statefulset", StatefulSetController, (STATEFUL_SETS, PODS, REVISIONS)),
    ControllerRow("cronjob", CronJobController, (CRON_JOBS, JOBS)),
    ControllerRow("ttl-after-finished", TtlAfterFinished, (JOBS,)),
    ControllerRow("persistentvolume-binder", PersistentVolumeBinder, (VOLUMES, CLAIMS, PODS, _STORAGE_CLASSES)),
    ControllerRow(
        "attachdetach", AttachDetachController, (NODES, _VOLUME_ATTACHMENTS, VOLUMES, CLAIMS, PODS, _CSI_DRIVERS)
    ),
    ControllerRow("persistentvolume-expander", VolumeExpansion, (CLAIMS, VOLUMES)),
    ControllerRow("clusterrole-aggregation", ClusterRoleAggregation, (_CLUSTER_ROLES,)),
    ControllerRow("validatingadmissionpolicy-status-controller", PolicyStatusController, (POLICIES,)),
    ControllerRow("pvc-protection", ClaimProtection, (CLAIMS, PODS)),
    ControllerRow("pv-protection", VolumeProtection, (VOLUMES,)),
    ControllerRow(
        AttributesClassProtection.name, AttributesClassProtection, (ATTRIBUTES_CLASSES, CLAIMS, VOLUMES), since="1.35"
    ),
    ControllerRow("ephemeral-volume", EphemeralVolumeController, (PODS, CLAIMS)),
    ControllerRow(
        "resourceclaim-controller", ResourceClaimController, (PODS, DEVICE_CLAIMS, DEVICE_CLAIM_TEMPLATES), since="1.34"
    ),
    ControllerRow("root-ca-cert-publisher", RootCaPublisher, (NAMESPACES,)),
    ControllerRow("nodelifecycle", NodeLifecycleController, (NODES, PODS, _LEASES)),
    ControllerRow("taint-eviction-controller", TaintEvictionController, (NODES, PODS), since=APART_SINCE),
    ControllerRow("csrsigning", CertificateSigner, (_SIGNING_REQUESTS,)),
    ControllerRow("csrapproving", CertificateApprover, (_SIGNING_REQUESTS,)),
    ControllerRow("csrcleaner", RequestCleaner, (_SIGNING_REQUESTS,)),
    ControllerRow("ttl", NodeTtlController, (NODES,)),
    ControllerRow("bootstrapsigner", BootstrapSigner, (CONFIG_MAPS, SECRETS)),
    ControllerRow("tokencleaner", TokenCleaner, (SECRETS,)),
    ControllerRow("nodeipam", NodeIpamController, (NODES,)),
    ControllerRow("service", ServiceController, ()),
    ControllerRow("service-cidr-controller", ServiceRangeController, (RANGES, ADDRESSES), since="1.33"),
    ControllerRow("route", RouteController, ()),
)
