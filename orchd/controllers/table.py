"""All controllers that are built, in the order in which they start."""

from __future__ import annotations

from typing import Final

from orchd.controllers.clusterrole_aggregation import ClusterRoleAggregation
from orchd.controllers.cronjob.controller import CronJobController
from orchd.controllers.deployment.controller import DeploymentController
from orchd.controllers.endpoints.endpoints_controller import EndpointsController
from orchd.controllers.endpoints.slice_controller import EndpointSliceController
from orchd.controllers.garbage.collector import GarbageCollector
from orchd.controllers.interfaces import Factory
from orchd.controllers.job import JobController
from orchd.controllers.namespace import NamespaceController
from orchd.controllers.podgc import PodGarbageCollector
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.replicationcontroller import ReplicationControllerController
from orchd.controllers.rootca import RootCaPublisher
from orchd.controllers.serviceaccount import ServiceAccountController
from orchd.controllers.serviceaccount_tokens import TokensController
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.controllers.ttl_after_finished import TtlAfterFinished

CONTROLLERS: Final[tuple[tuple[str, Factory], ...]] = (
    ("serviceaccount-token", TokensController),
    ("endpoint", EndpointsController),
    ("endpointslice", EndpointSliceController),
    ("replicationcontroller", ReplicationControllerController),
    ("podgc", PodGarbageCollector),
    ("garbagecollector", GarbageCollector),
    ("namespace", NamespaceController),
    ("serviceaccount", ServiceAccountController),
    ("job", JobController),
    ("deployment", DeploymentController),
    ("replicaset", ReplicaSetController),
    ("statefulset", StatefulSetController),
    ("cronjob", CronJobController),
    ("ttl-after-finished", TtlAfterFinished),
    ("clusterrole-aggregation", ClusterRoleAggregation),
    ("root-ca-cert-publisher", RootCaPublisher),
)
