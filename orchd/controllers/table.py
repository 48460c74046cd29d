"""All controllers that are built, in the order in which they start."""

from __future__ import annotations

from typing import Final

from orchd.controllers.aggregation import ClusterRoleAggregation
from orchd.controllers.deployment.controller import DeploymentController
from orchd.controllers.garbage.collector import GarbageCollector
from orchd.controllers.interfaces import Factory
from orchd.controllers.namespace import NamespaceController
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.rootca import RootCaPublisher
from orchd.controllers.serviceaccount import ServiceAccountController
from orchd.controllers.tokens import TokensController

CONTROLLERS: Final[tuple[tuple[str, Factory], ...]] = (
    ("serviceaccount-token", TokensController),
    ("garbagecollector", GarbageCollector),
    ("namespace", NamespaceController),
    ("serviceaccount", ServiceAccountController),
    ("deployment", DeploymentController),
    ("replicaset", ReplicaSetController),
    ("clusterrole-aggregation", ClusterRoleAggregation),
    ("root-ca-cert-publisher", RootCaPublisher),
)
