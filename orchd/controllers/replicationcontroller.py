"""The replication controller: as for replica sets, with selectors that are maps of labels."""

from __future__ import annotations

from typing import Any

from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import REPLICATION_CONTROLLERS
from orchd.controllers.replicaset import ReplicaSetController
from orchd.kinds.fields import mapping, spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.txkit.lru_cache import LruCache


class ReplicationControllerController(ReplicaSetController):
    name = "replicationcontroller"
    account = "replication-controller"
    ref = REPLICATION_CONTROLLERS
    component = "replication-controller"
    subject = ("v1", "ReplicationController")
    counts_terminating = False

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_rc_syncs)
        # The metric is named after the other kind, and a name must not be served twice.
        self.instruments = ()

    @staticmethod
    def make_selector(kept: LruCache[tuple[str, Any], LabelSelector], each: Object) -> LabelSelector:
        return LabelSelector.from_map(mapping(spec(each), "selector"))
