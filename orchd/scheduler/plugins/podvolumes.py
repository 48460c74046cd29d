"""What pods on nodes have attached, computed once per pod until storage objects change."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from orchd.scheduler.plugins.storage import Storage
from orchd.scheduler.pods import Pod

#: Pods that are remembered; beyond it everything is forgotten and computed anew.
_MOST = 200_000
_NONE: frozenset[Hashable] = frozenset()


class PodVolumes:
    """`compute` gives the names of a pod's volumes of one sort; its errors pass through. Results are kept by uid: what a pod
    mounts never changes."""

    def __init__(self, storage: Storage, compute: Callable[[Pod], frozenset[Hashable]]) -> None:
        self._storage = storage
        self._compute = compute
        self._epoch = -1
        self._known: dict[str, frozenset[Hashable]] = {}

    def get(self, pod: Pod) -> frozenset[Hashable]:
        if not pod.template.volumes:
            return _NONE
        if self._epoch != self._storage.epoch or len(self._known) > _MOST:
            self._epoch = self._storage.epoch
            self._known.clear()
        found = self._known.get(pod.uid)
        if found is None:
            found = self._known[pod.uid] = self._compute(pod)
        return found
