"""The revision that all caches have reached, and reads that wait for a revision."""

from __future__ import annotations

from heapq import heappop, heappush

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchd.errors import resource_version_too_large


class Progress:
    """`revision` is the store revision up to which all events have been applied. `patience` limits waits, in
    seconds."""

    def __init__(self, clock: IReactorTime, *, patience: float) -> None:
        self.revision = 0
        self._clock = clock
        self._patience = patience
        self._waiting: list[tuple[int, int, Deferred[None]]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def advance(self, revision: int) -> None:
        self.revision = max(self.revision, revision)
        self.wake()

    def wake(self) -> None:
        """Resume the waits whose revision is reached. Resumed code may wait again."""
        while self._waiting and self._waiting[0][0] <= self.revision:
            heappop(self._waiting)[2].callback(None)

    async def wait_for(self, revision: int) -> None:
        """Wait until `revision` is reached. Raises ApiError 504 (too large resource version) after `patience`
        seconds."""
        if revision <= self.revision:
            return
        deferred: Deferred[None] = Deferred(lambda _: self._remove(mine))
        self._count += 1
        mine = (revision, self._count, deferred)
        heappush(self._waiting, mine)
        call = self._clock.callLater(self._patience, self._give_up, mine)
        try:
            await deferred
        finally:
            if call.active():
                call.cancel()

    def _give_up(self, mine: tuple[int, int, Deferred[None]]) -> None:
        self._remove(mine)
        revision, _, deferred = mine
        deferred.errback(resource_version_too_large(revision, self.revision))

    def _remove(self, mine: tuple[int, int, Deferred[None]]) -> None:
        # A sorted list is a valid heap. Removal before the revision is reached is rare, so its cost does not matter.
        self._waiting = sorted(other for other in self._waiting if other[2] is not mine[2])
