"""Periodic compaction of a store's history."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from twisted.internet.defer import Deferred, ensureDeferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

from orchd.store.interfaces import IStore, StoreError
from orchd.txkit.log import Logger

_log = Logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimits:
    """How much of its history a store on disk keeps. It is compacted every `compaction_interval` seconds (0: never) to
    the last `seconds`, in the embedded store also to the last `events`. The last `recent_events`, of at most
    `recent_bytes`, are held in memory for watches."""

    compaction_interval: float = 300.0
    seconds: float = 300.0
    events: int = 100_000
    recent_events: int = 1_000
    recent_bytes: int = 8 * 1024 * 1024


#: Part of an interval by which a call of the loop may be late, after which the next one comes sooner.
_TOLERANCE: Final = 0.1

#: The limits of a store that is given none.
USUAL_HISTORY: Final = HistoryLimits()


class Compaction:
    """Every `interval` seconds discards history older than `keep` seconds, and all but the last `most` revisions.

    History is therefore between `keep` and `keep` + `interval` seconds long, but for a tenth of an interval by which
    the calls of a loaded process may vary. An interval of 0 disables it.
    """

    def __init__(self, store: IStore, reactor: IReactorTime, *, interval: float, keep: float, most: int = 0) -> None:
        self._store = store
        self._reactor = reactor
        self._interval = interval
        self._keep = keep
        self._most = most
        #: (time, revision at that time), oldest first.
        self._marks: deque[tuple[float, int]] = deque()
        self._loop = LoopingCall(self._tick)
        self._loop.clock = reactor
        self._running: Deferred[None] | None = None

    def start(self) -> None:
        if self._interval > 0:
            self._loop.start(self._interval, now=True).addErrback(self._broken)

    def stop(self) -> Deferred[None]:
        """Fires when a running compaction has ended."""
        if self._loop.running:
            self._loop.stop()
        running = self._running
        if running is None:
            return succeed(None)
        done: Deferred[None] = Deferred()
        running.addBoth(lambda _: done.callback(None))
        return done

    def wrote(self) -> None:
        """Called after writes: compact at once when there are a quarter more than `most` revisions."""
        if self._most and self._running is None:
            store = self._store
            if store.revision - store.compacted > self._most + self._most // 4:
                self._compact(store.revision - self._most)

    def _tick(self) -> None:
        now = self._reactor.seconds()
        self._marks.append((now, self._store.revision))
        target = 0
        while self._marks and self._marks[0][0] <= now - self._keep + self._interval * _TOLERANCE:
            target = self._marks.popleft()[1]
        if self._most:
            target = max(target, self._store.revision - self._most)
        if target > self._store.compacted and self._running is None:
            self._compact(target)

    def _compact(self, revision: int) -> None:
        self._running = ensureDeferred(self._store.compact(revision)).addErrback(self._failed)
        self._running.addBoth(self._ended)

    def _ended(self, result: None) -> None:
        self._running = None

    def _failed(self, failure: Failure) -> None:
        # Retried at the next interval; until then history is only longer than necessary.
        if isinstance(failure.value, StoreError):
            _log.warn("compaction failed: {why}", why=str(failure.value))
        else:
            _log.failure("compaction failed", failure)

    def _broken(self, failure: Failure) -> None:
        _log.failure("periodic compaction stopped with an error", failure)
