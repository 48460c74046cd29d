"""Keys with a time to live: tracks deadlines and deletes expired keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchd.store.interfaces import RevisionConflictError, StoreError

#: Maximum deletions per reactor turn, so that a thousand expired events do not delay requests.
_BURST = 200
#: Seconds until a failed deletion is retried.
_RETRY = 1.0


class Leases:
    """Deadlines of keys. A lease belongs to one revision of its key: a later write replaces or ends it.

    `expire` deletes a key that is still at that revision; RevisionConflictError means that it is not.
    """

    def __init__(self, reactor: IReactorTime, expire: Callable[[str, int], Deferred[int]]) -> None:
        self._reactor = reactor
        self._expire = expire
        self._heap: list[tuple[float, str, int]] = []
        self._call: Any = None
        self._due = 0.0
        self._stopped = False

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, expires: float, key: str, revision: int) -> None:
        heappush(self._heap, (expires, key, revision))
        self._schedule()

    def pending(self) -> Iterable[tuple[float, str, int]]:
        """(deadline, key, revision) of every lease, in no order; their keys may have been written since."""
        return tuple(self._heap)

    def load(self, leases: list[tuple[float, str, int]]) -> None:
        self._heap.extend(leases)
        heapify(self._heap)
        self._schedule()

    def stop(self) -> None:
        self._stopped = True
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _schedule(self) -> None:
        if self._stopped or not self._heap:
            return
        due = self._heap[0][0]
        if self._call is not None:
            if due >= self._due:
                return
            self._call.cancel()
        self._due = due
        self._call = self._reactor.callLater(max(0.0, due - self._reactor.seconds()), self._run)

    def _run(self) -> None:
        self._call = None
        now = self._reactor.seconds()
        for _ in range(_BURST):
            if not self._heap or self._heap[0][0] > now:
                break
            _, key, revision = heappop(self._heap)
            try:
                deleting = self._expire(key, revision)
            except RevisionConflictError:
                continue
            except StoreError:
                self._retry_later(key, revision)
                break
            deleting.addErrback(self._failed, key, revision)
        self._schedule()

    def _retry_later(self, key: str, revision: int) -> None:
        if not self._stopped:
            self.add(self._reactor.seconds() + _RETRY, key, revision)

    def _failed(self, failure: Failure, key: str, revision: int) -> None:
        if not isinstance(failure.value, RevisionConflictError):
            # The store is unavailable; guarded deletions fail for no other reason.
            self._retry_later(key, revision)
