"""In-memory store for tests and embedding. Durability ends with the process."""

from __future__ import annotations

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.store.compaction import Compaction
from orchd.store.interfaces import Event, KeyValue
from orchd.store.serving.interfaces import IServedStore
from orchd.store.single_process import SingleProcessStore, Write


@implementer(IServedStore)
class MemoryStore(SingleProcessStore):
    """`history_events` and `history_bytes` limit the history of `range` and `watch`; beyond them it compacts itself.

    Writes are acknowledged before the coroutine suspends, except those made during event delivery.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        *,
        compaction_interval: float = 300.0,
        history_seconds: float = 300.0,
        history_events: int = 100_000,
        history_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        super().__init__(reactor, recent_events=history_events, recent_bytes=history_bytes)
        self._busy = False
        self._compaction = Compaction(self, reactor, interval=compaction_interval, keep=history_seconds)

    def copy(self, reactor: IReactorTime) -> MemoryStore:
        """A store that is not started, with the contents and the history of this one. Keys with a time to live have
        there what remains of it. Watches and pending writes are not copied."""
        store = MemoryStore(reactor, history_events=self._recent_events, history_bytes=self._recent_bytes)
        store._load(self._items.values(), self.revision, self.compacted, self._joint)
        store._recent.extend(self._recent)
        store._recent_start, store._recent_size = self._recent_start, self._recent_size
        passed = reactor.seconds() - self._reactor.seconds()
        store._leases.load([(expires + passed, key, revision) for expires, key, revision in self._leases.pending()])
        return store

    def file_size(self) -> int:
        return 0

    def healthy(self) -> str:
        return self._refusal

    def start(self) -> Deferred[None]:
        self._refusal = ""
        self._compaction.start()
        return succeed(None)

    def stop(self) -> Deferred[None]:
        self._close("the store is stopped")
        return self._compaction.stop()

    def _start_commit(self) -> None:
        # A write from a watch callback waits, so that every watch sees events in revision order.
        if self._busy:
            return
        self._busy = True
        try:
            while self._queue:
                batch: tuple[Write, ...] = tuple(write for first in self._queue for write in (first, *first.rest))
                self._queue.clear()
                self._committed(batch)
        finally:
            self._busy = False

    def _trim(self) -> None:
        """All history is in memory: dropping events is compaction."""
        excess = len(self._recent) - self._recent_events
        size = self._recent_bytes
        last = self._recent[0].revision + max(0, excess - 1)
        self._drop_recent(lambda event: event.revision <= last or self._recent_size > size)
        self.compacted = self._recent_start

    def _older(self, prefix: str, after: int, upto: int) -> Deferred[tuple[list[Event], int]]:
        raise AssertionError("a memory store has no older history")

    def _undone_since(self, low: str, high: str | None, revision: int, upto: int) -> Deferred[list[KeyValue]]:
        raise AssertionError("a memory store has no older history")
