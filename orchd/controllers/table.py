"""All controllers that are built, in the order in which they start."""

from __future__ import annotations

from typing import Final

from orchd.controllers.autoscaling.controller import HorizontalPodAutoscalerController
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
from orchd.controllers.podgc import PodGarbageCollector
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.replicationcontroller import ReplicationControllerController
from orchd.controllers.resourcequota.controller import ResourceQuotaController
from orchd.controllers.rootca import RootCaPublisher
from orchd.controllers.serviceaccount import ServiceAccountController
from orchd.controllers.serviceaccount_tokens import TokensController
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.controllers.ttl_after_finished import TtlAfterFinished

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
    ("clusterrole-aggregation", ClusterRoleAggregation),
    ("root-ca-cert-publisher", RootCaPublisher),
)
