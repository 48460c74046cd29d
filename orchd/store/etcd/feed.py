"""One etcd watch for all local watches: the newest revision, recent events, and waiters for revisions.

Every revision of etcd belongs to a write, so a watch of all keys has an event for each. A watch of only our prefix has
not when others use the same etcd; then only progress notifications show how far it is complete. Releases before 3.4.25
and 3.5.8 may send these before the events (etcd issue 15220); with them all keys are watched, and others' events are
dropped here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Final

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from orchd.store.etcd.channel import Channel
from orchd.store.etcd.space import EVERYTHING, LostValueError, Space
from orchd.store.etcd.watchstream import WatchStream
from orchd.store.interfaces import CompactedError, Event, StoreError, UnavailableError
from orchd.store.watching import Watches
from orchd.txkit.log import Logger

_log = Logger()
#: Seconds between progress requests while there are waiters.
_ASK_AGAIN: Final = 0.1
#: Size of a batch of history in bytes of values, and timeout for reading it in seconds.
_PIECE: Final = 8 * 1024 * 1024
_PATIENCE: Final = 30.0


def tells_progress(version: str) -> bool:
    """True if this release of etcd reports progress only after the events before it."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if match is None:
        return False
    major, minor, patch = map(int, match.groups())
    return (major, minor) >= (3, 6) or (major, minor, patch) >= (3, 5, 8) or ((major, minor) == (3, 4) and patch >= 25)


class Feed:
    """Begin with `start(revision)`; `revision` is then the newest complete one. `lost(error)` is called when the watch
    cannot resume: the owner must read the current revision and `start` again.
    """

    def __init__(
        self, reactor: IReactorTime, channel: Channel, space: Space, *, lost: Callable[[StoreError], object],
        recent_events: int, recent_bytes: int,
    ) -> None:  # fmt: skip
        self.revision = 1
        self.compacted = 1
        #: True if the current watch is established.
        self.live = False
        #: True if etcd supports progress requests. Determines the watched range from the next `follow` on.
        self.trusted = False
        self.watches = Watches(self)
        self._reactor = reactor
        self._channel = channel
        self._space = space
        self._lost = lost
        self._stream: WatchStream | None = None
        self._scope = EVERYTHING
        self._recent: deque[Event] = deque()
        self._recent_start = 1
        self._recent_size = 0
        self._recent_events = recent_events
        self._recent_bytes = recent_bytes
        self._waiting: list[tuple[int, int, Deferred[None]]] = []
        self._count = 0
        self._asking: Any = None
        self._requested = 0
        #: True between `start` and `stop`.
        self.running = False
        self._past: dict[_Past, None] = {}

    # Lifecycle.

    def start(self, revision: int) -> None:
        """State up to `revision` is known; earlier events are history."""
        self.running = True
        self.revision = self._recent_start = self._requested = revision
        self._recent.clear()
        self._recent_size = 0
        self.follow()
        self._release()

    def follow(self) -> None:
        """Resume watching on the current connection; does nothing without one (call again after a connect)."""
        if not self.running:
            return
        self._drop_stream()
        self._scope = self._space.span("/") if self.trusted else EVERYTHING
        try:
            self._stream = WatchStream(self._channel, self, *self._scope, self.revision)
        except UnavailableError:
            # Called again after the channel has connected.
            return
        self._ask()

    def stop(self, error: StoreError) -> None:
        self.running = False
        self._drop_stream()
        for past in list(self._past):
            past.fail(error)
        self.watches.end(error)
        # Their writes are durable, which is what they wait to report.
        waiting, self._waiting = self._waiting, []
        while waiting:
            # Removed one by one: `_release` may be running, whose callbacks can stop the store.
            heappop(waiting)[2].callback(None)

    def _drop_stream(self) -> None:
        self.live = False
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()

    # Watch callbacks.

    def watch_created(self) -> None:
        self.live = True

    def watch_events(self, raw: list[Any]) -> None:
        try:
            events = self._space.events(raw)
        except LostValueError:
            self.watch_ended(CompactedError(self.revision, raw[-1].kv.mod_revision))
            return
        if raw[0].kv.mod_revision <= self.revision:
            events = [event for event in events if event.revision > self.revision]
        upto = raw[-1].kv.mod_revision
        if events:
            self._remember(events)
        self.revision = max(self.revision, upto)
        if events:
            self.watches.dispatch(events)
        if not events or events[-1].revision < upto:
            self.watches.progress(upto)
        self._release()

    def watch_progress(self, revision: int) -> None:
        # Unsolicited progress is in event order in every release, but `trusted` decides.
        if self.trusted and revision > self.revision:
            self.revision = revision
            self.watches.progress(revision)
            self._release()

    def watch_ended(self, error: StoreError) -> None:
        self._drop_stream()
        if isinstance(error, CompactedError):
            self.watches.end(error)
            self._lost(error)
        else:
            # Another member may work better; the watch resumes on the next connection.
            self._channel.abandon(str(error))

    def _remember(self, events: Sequence[Event]) -> None:
        recent = self._recent
        recent.extend(events)
        self._recent_size += sum(map(_size, events))
        while recent and (len(recent) > self._recent_events or self._recent_size > self._recent_bytes):
            self._forget_first()

    def _forget_first(self) -> None:
        """Drop the oldest revision with all its events."""
        recent = self._recent
        first = self._recent_start = recent[0].revision
        while recent and recent[0].revision == first:
            self._recent_size -= _size(recent.popleft())

    # Waiting.

    def wait_for(self, revision: int) -> Deferred[None]:
        """Fires when `revision` has been delivered to all watches, or never will be (the feed stopped)."""
        if revision <= self.revision or not self.running:
            return succeed(None)
        deferred: Deferred[None] = Deferred()
        self._count += 1
        heappush(self._waiting, (revision, self._count, deferred))
        self.want(revision)
        return deferred

    def want(self, revision: int) -> None:
        """Request that the watches reach a revision, whether or not there are events."""
        self._requested = max(self._requested, revision)
        self._ask()

    def _release(self) -> None:
        waiting = self._waiting
        while waiting and waiting[0][0] <= self.revision:
            heappop(waiting)[2].callback(None)

    def _ask(self) -> None:
        """Request progress while a waited-for revision may have no event of ours."""
        if self.trusted and self._asking is None and self._requested > self.revision and self._stream is not None:
            self._stream.request_progress()
            self._asking = self._reactor.callLater(_ASK_AGAIN, self._ask_again)

    def _ask_again(self) -> None:
        self._asking = None
        self._ask()

    # History, for watches that start in the past.

    def recent(self, after: int) -> Sequence[Event] | None:
        """Every event above `after`; None when it is older than the events in memory."""
        if after < self._recent_start:
            return None
        if after >= self.revision:
            return ()
        first = bisect_right(self._recent, after, key=_revision)
        return tuple(islice(self._recent, first, None))

    def _older(self, prefix: str, after: int, upto: int) -> Deferred[tuple[list[Event], int]]:
        """Events above `after`, read by a separate watch, and the revision up to which they are complete."""
        past = _Past(self, prefix, after, upto)
        self._past[past] = None
        past.begin()
        return past.result

    def forget(self, past: _Past) -> None:
        self._past.pop(past, None)

    def history(self, past: _Past, after: int) -> WatchStream:
        # Watch all keys: the event of the last revision then proves completeness.
        return WatchStream(self._channel, past, *EVERYTHING, after)

    def ours(self, raw: list[Any], prefix: str) -> list[Event]:
        events = self._space.events(raw)
        return [event for event in events if event.key.startswith(prefix)] if prefix not in ("", "/") else events


class _Past:
    """Reads a batch of history."""

    def __init__(self, feed: Feed, prefix: str, after: int, upto: int) -> None:
        self.result: Deferred[tuple[list[Event], int]] = Deferred()
        self._feed = feed
        self._prefix = prefix
        self._after = after
        self._upto = upto
        self._events: list[Event] = []
        self._size = 0
        self._stream: WatchStream | None = None
        self._late = feed._reactor.callLater(_PATIENCE, self._too_late)

    def begin(self) -> None:
        try:
            self._stream = self._feed.history(self, self._after)
        except UnavailableError as error:
            self.fail(error)

    def watch_created(self) -> None:
        """Does nothing: events follow."""

    def watch_events(self, raw: list[Any]) -> None:
        try:
            events = self._feed.ours(raw, self._prefix)
        except LostValueError:
            self.fail(CompactedError(self._after, raw[-1].kv.mod_revision))
            return
        self._events += events
        self._size += sum(len(event.value) + _size(event) for event in events)
        last = raw[-1].kv.mod_revision
        if last >= self._upto or self._size > _PIECE:
            self._done(last)

    def watch_progress(self, revision: int) -> None:
        """Does nothing: progress was not requested."""

    def watch_ended(self, error: StoreError) -> None:
        self.fail(error)

    def _done(self, upto: int) -> None:
        if self._end():
            # Newer events come from the feed.
            events = [event for event in self._events if event.revision <= self._upto]
            self.result.callback((events, min(upto, self._upto)))

    def fail(self, error: StoreError) -> None:
        if self._end():
            self.result.errback(error)

    def _too_late(self) -> None:
        self.fail(UnavailableError(f"etcd did not send its history within {_PATIENCE:.0f} s"))

    def _end(self) -> bool:
        if self.result.called:
            return False
        self._feed.forget(self)
        if self._late.active():
            self._late.cancel()
        if self._stream is not None:
            self._stream.cancel()
        return True


def _size(event: Event) -> int:
    """Memory that an event holds beyond the current values."""
    return len(event.value) + (0 if event.previous is None else len(event.previous.value))


def _revision(event: Event) -> int:
    return event.revision
