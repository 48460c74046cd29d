"""Recorded scheduling decisions for explanations, bounded by bytes."""

from __future__ import annotations

from collections import OrderedDict

from orchd.scheduler.framework.cycle import Decision
from orchd.scheduler.pods import Pod

#: Bytes of arrays that are kept in all.
LIMIT = 16 * 1024 * 1024


class History:
    """The last decision of each pod that exists, by uid; the oldest give way."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[str, tuple[Decision, int]] = OrderedDict()

    def add(self, pod: Pod, decision: Decision) -> None:
        size = decision.size()
        self.drop(pod.uid)
        self._kept[pod.uid] = (decision, size)
        self._size += size
        while self._size > self._limit and len(self._kept) > 1:
            _, (_, gone) = self._kept.popitem(last=False)
            self._size -= gone

    def drop(self, uid: str) -> None:
        """Forget a pod."""
        kept = self._kept.pop(uid, None)
        if kept is not None:
            self._size -= kept[1]

    def get(self, uid: str) -> Decision | None:
        kept = self._kept.get(uid)
        return None if kept is None else kept[0]
