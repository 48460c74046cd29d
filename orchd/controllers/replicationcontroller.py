"""Replication controllers: replica sets by their old name, with selectors that are plain maps."""

from __future__ import annotations

from orchd.client.interfaces import Object, ResourceRef
from orchd.controllers.objects import spec
from orchd.controllers.replicaset import ReplicaSetController
from orchd.kinds.objects.selectors import LabelSelector


class ReplicationControllerController(ReplicaSetController):
    name = "replicationcontroller"
    account = "replication-controller"
    ref = ResourceRef("", "v1", "replicationcontrollers")
    api_version = "v1"
    kind = "ReplicationController"

    def selector(self, each: Object) -> LabelSelector:
        return LabelSelector.from_map(spec(each).get("selector") or {})
