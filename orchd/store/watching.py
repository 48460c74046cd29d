"""Watches of an in-process store: past events first, then every batch as it becomes durable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.store.interfaces import (
    CompactedError,
    Event,
    IWatch,
    OnEnd,
    OnEvents,
    OnProgress,
    StoreError,
    UnavailableError,
)
from orchd.txkit.log import Logger

_log = Logger()
#: Sends what waits for the end of this turn of the reactor to another process.
Flush = Callable[[], None]


class History(Protocol):
    """The store as watches use it."""

    revision: int
    compacted: int
    _reactor: Any

    def recent(self, after: int) -> Sequence[Event] | None:
        """Every event above `after`; None when it is older than the events in memory."""

    def _older(self, prefix: str, after: int, upto: int) -> Deferred[tuple[list[Event], int]]:
        """Events before the recent ones: those above `after`, and the revision up to which they are complete."""


@implementer(IWatch)
class Watch:
    """One watch: live once it has received everything up to the store's revision, catching up before that."""

    def __init__(
        self,
        owner: Watches,
        prefix: str,
        after: int,
        on_events: OnEvents,
        on_end: OnEnd,
        on_progress: OnProgress | None,
        flush: Flush | None = None,
    ) -> None:
        """With `flush` it forwards its events to another process."""
        self.prefix = prefix
        self.flush = flush
        #: Revisions up to this one were delivered, or not requested.
        self.after = after
        self.active = True
        self._owner = owner
        self._on_events = on_events
        self._on_end = on_end
        self._on_progress = on_progress

    def cancel(self) -> None:
        self.active = False
        self._owner.discard(self)

    def deliver(self, events: Sequence[Event]) -> bool:
        """Deliver the matching events; True if there are any. A callback that raises has missed them, so its watch
        ends."""
        if events and events[0].revision <= self.after:
            events = [event for event in events if event.revision > self.after]
        if not events:
            return False
        self.after = events[-1].revision
        prefix = self.prefix
        if prefix and not all(event.key.startswith(prefix) for event in events):
            events = [event for event in events if event.key.startswith(prefix)]
            if not events:
                return False
        try:
            self._on_events(events)
        except Exception:
            # Any exception: the write is durable, and other watches and the writers must be notified.
            _log.failure("a watch of {prefix} failed", prefix=prefix)
            self.end(UnavailableError("the consumer of the watch failed"))
        return True

    def progress(self, revision: int) -> None:
        if self.active and self._on_progress is not None:
            self._on_progress(revision)

    def end(self, error: StoreError) -> None:
        if self.active:
            self.cancel()
            self._on_end(error)


class Watches:
    """All watches of a store. Live ones get every batch; the others read past events first."""

    def __init__(self, store: History) -> None:
        self._store = store
        #: Live ones that forward their events to other processes.
        self._forwarding: dict[Watch, None] = {}
        self._live: dict[Watch, None] = {}
        self._past: dict[Watch, None] = {}

    def __len__(self) -> int:
        return len(self._forwarding) + len(self._live) + len(self._past)

    def add(self, watch: Watch) -> None:
        self._past[watch] = None
        self._advance(watch)

    def discard(self, watch: Watch) -> None:
        self._forwarding.pop(watch, None)
        self._live.pop(watch, None)
        self._past.pop(watch, None)

    def forward(self, events: Sequence[Event]) -> Iterable[Flush]:
        """Deliver to the watches that forward, before `dispatch`. Returns what sends the events, once for each
        destination."""
        delivered = [watch.flush for watch in tuple(self._forwarding) if watch.active and watch.deliver(events)]
        return dict.fromkeys(flush for flush in delivered if flush is not None)

    def dispatch(self, events: Sequence[Event]) -> None:
        """Deliver to the other watches."""
        for watch in tuple(self._live):
            if watch.active:
                watch.deliver(events)

    def progress(self, revision: int) -> None:
        """Report to the live watches that there are no further events up to `revision`."""
        for watch in (*self._forwarding, *self._live):
            watch.progress(revision)

    def end(self, error: StoreError) -> None:
        for watch in (*self._forwarding, *self._live, *self._past):
            watch.end(error)

    def _advance(self, watch: Watch) -> None:
        """Deliver events from memory and go live, or request the next batch of older history."""
        store = self._store
        if not watch.active:
            return
        if watch.after < store.compacted:
            error = CompactedError(watch.after, store.compacted)
            store._reactor.callLater(0, watch.end, error)
            return
        events = store.recent(watch.after)
        if events is None:
            reading = store._older(watch.prefix, watch.after, store.revision)
            reading.addCallback(self._read, watch)
            reading.addErrback(self._failed, watch)
            return
        del self._past[watch]
        (self._live if watch.flush is None else self._forwarding)[watch] = None
        watch.deliver(events)
        watch.progress(store.revision)

    def _read(self, batch: tuple[list[Event], int], watch: Watch) -> None:
        events, upto = batch
        if watch.after < self._store.compacted:
            # Compacted during the read, which may be incomplete.
            self._advance(watch)
        elif watch.active:
            watch.deliver(events)
            watch.after = max(watch.after, upto)
            self._advance(watch)

    def _failed(self, failure: Failure, watch: Watch) -> None:
        why = failure.value if isinstance(failure.value, StoreError) else UnavailableError(str(failure.value))
        watch.end(why)
