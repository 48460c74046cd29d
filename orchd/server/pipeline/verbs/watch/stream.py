"""`WatchStream`: the lifecycle of one running watch, drawn as a table of states and inputs (`TRANSITIONS`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd import errors
from orchd.cache.entries import Change, under
from orchd.cache.interfaces import ICache, ISubscription
from orchd.errors import ApiError
from orchd.kinds.objects.list_options import has_watch_cache, parse_version
from orchd.kinds.objects.list_query import EVERYTHING, ListQuery
from orchd.server.authz.interfaces import Action
from orchd.server.pipeline.interfaces import ISink, IStream, StreamEnded
from orchd.server.pipeline.verbs.watch.conversion import BATCH, ConvertedFeed
from orchd.server.pipeline.verbs.watch.events import EventEncoder
from orchd.server.pipeline.verbs.watch.metrics import EVENT_SIZES, WatchMetrics
from orchd.txkit.compute_thread import current_flow
from orchd.txkit.coroutines import start
from orchd.txkit.fair_lock import TooManyWaitingError
from orchd.txkit.log import Logger

#: Buffered bytes at which a slow client is disconnected.
MOST_BUFFERED = 4 * 1024 * 1024
#: Buffered bytes above which sending of the initial state, or of past changes, pauses.
PAUSE_ABOVE = 256 * 1024
#: Number of past changes read per batch.
_PIECE = 100
#: Changes that wait for the encoding of a large one, above which the client is disconnected.
_MOST_BEHIND = 1000
#: Seconds between bookmarks, and from the last one to the end of a watch.
BOOKMARK_EVERY = 60.0
BOOKMARK_BEFORE_END = 2.0


class State(Enum):
    """The state of a watch."""

    #: The head of the response has not been written yet.
    NEW = "new"
    #: Sends the objects of a list as ADDED events, at the client's speed.
    LISTING = "listing"
    #: Sends past changes, at the client's speed.
    CATCHING_UP = "catching up"
    #: Sends each change as it occurs.
    LIVE = "live"
    #: Sends nothing more, and holds nothing.
    ENDED = "ended"


class Input(Enum):
    """An input of the state machine of a watch."""

    START_WITH_STATE = "started without a resourceVersion"
    START_AFTER = "started after a resourceVersion"
    STATE_SENT = "initial state sent"
    CAUGHT_UP = "no more past changes"
    BOOKMARK_DUE = "bookmark due"
    CLOSE = "its time is over, or the server closes it"
    FAIL = "failed"
    TOO_SLOW = "the client reads too slowly, or the server cuts the connection"
    CLIENT_GONE = "the client has disconnected"


class Register(Protocol):
    """The running watches."""

    def add(self, stream: WatchStream) -> None: ...

    def discard(self, stream: WatchStream) -> None: ...


class Watches(Protocol):
    """The owner of running watches."""

    metrics: WatchMetrics
    #: True if bookmarks have the newest revision of the store.
    resumes_efficiently: bool

    @property
    def running(self) -> Register: ...


@implementer(IStream)
class WatchStream:
    """One running watch: a state machine. Its events are `Input`s; `TRANSITIONS` is the transition table.

    A client slower than the cache's window of past changes gets 410 and lists again; one that does not read changes as
    they occur is disconnected."""

    log = Logger()

    def __init__(
        self,
        owner: Watches,
        clock: IReactorTime,
        cache: ICache,
        query: ListQuery,
        encoder: EventEncoder,
        feed: ConvertedFeed | None,
        *,
        seconds: float,
    ) -> None:
        """`feed` converts entries and changes through a webhook; None for kinds without one. The watch ends after
        `seconds`. Raises ApiError 500 for a malformed resourceVersion."""
        self.resource = query.resource
        #: What the client must be allowed to do as long as the watch runs.
        self.permitted: tuple[Action, ...] = ()
        self.state = State.NEW
        self._owner = owner
        self._clock = clock
        self._cache = cache
        self._query = query
        self._encode = encoder
        self._feed = feed
        self._seconds = seconds
        self._event_sizes = owner.metrics.event_sizes(query.resource)
        self._end = 0.0
        #: Revision up to which everything has been sent.
        self._after = parse_version(query.options.resource_version)
        #: Revision of the last change, if bookmarks depend on it.
        self._changed_at = 0
        self._sink: ISink | None = None
        self._error: ApiError | None = None
        self._refusal: ApiError | None = None
        self._subscription: ISubscription | None = None
        #: Waits for the client to read, while the initial state or past changes are sent.
        self._drain: Deferred[None] | None = None
        #: Changes that wait for the encoding of the first one, which is large.
        self._behind: deque[Change] = deque()
        self._flow = current_flow.get()
        self._expiry: IDelayedCall | None = None
        self._bookmark: IDelayedCall | None = None

    def _take(self, what: Input) -> None:
        """Change the state and act. Inputs without a line in the state's rows have no effect."""
        transition = TRANSITIONS[self.state].get(what)
        if transition is None:
            return
        self.state, actions = transition
        for act in actions:
            act(self)

    # -- inputs

    def start(self, sink: ISink) -> None:
        if self._refusal is not None:
            self.start_with_error(sink, self._refusal)
            return
        self._sink = sink
        asked = self._query.options.initial_events
        if asked is False:
            self._after = self._after or self._cache.revision
        with_state = not self._after if asked is None else asked
        self._take(Input.START_WITH_STATE if with_state else Input.START_AFTER)

    def refuse(self, error: ApiError) -> None:
        """Have `start` send an ERROR event and nothing else."""
        self._refusal = error

    def start_with_error(self, sink: ISink, error: ApiError) -> None:
        """Instead of `start`: an ERROR event and nothing else."""
        self._sink = sink
        self.fail(error)

    def finish(self) -> None:
        """End the stream normally."""
        self._take(Input.CLOSE)

    def fail(self, error: ApiError) -> None:
        """An ERROR event, and the end."""
        self._error = error
        self._take(Input.FAIL)

    def abort(self) -> None:
        """Cut the client's connection."""
        self._take(Input.TOO_SLOW)

    def stop(self) -> None:
        self._take(Input.CLIENT_GONE)

    def _bookmark_due(self) -> None:
        self._take(Input.BOOKMARK_DUE)

    def _subscription_ended(self, error: Exception) -> None:
        self.fail(error if isinstance(error, ApiError) else errors.expired(f"the watch has ended: {error}"))

    def _broken(self, failure: Failure) -> None:
        if failure.check(CancelledError, StreamEnded):
            return
        error = failure.value
        if isinstance(error, TooManyWaitingError):
            error = errors.too_many_requests("too many large objects of this user wait, please try again later")
        if isinstance(error, ApiError) and error.code == 410 and not has_watch_cache(self.resource):
            error = errors.expired("The resourceVersion for the provided watch is too old.")
        if not isinstance(error, ApiError):
            self.log.failure("a watch of {resource} failed", failure, resource=self.resource)
            error = errors.internal("the watch has failed")
        self.fail(error)

    # -- actions

    def _open(self) -> None:
        self._owner.running.add(self)
        self._end = self._clock.seconds() + self._seconds
        self._expiry = self._clock.callLater(self._seconds, self.finish)
        if self._query.options.bookmarks:
            self._schedule_bookmark()

    def _send_state(self) -> None:
        start(self._list()).addErrback(self._broken)

    def _mark_state_sent(self) -> None:
        options = self._query.options
        if options.initial_events and options.bookmarks:
            self._send(self._encode.bookmark(self._after, state_sent=True))
            seconds = self._clock.seconds() - self._end + self._seconds
            self._owner.metrics.observe_state(self.resource, self._query.scope, seconds)

    def _send_past(self) -> None:
        start(self._catch_up()).addErrback(self._broken)

    def _subscribe(self) -> None:
        take: Callable[[Change], None] = self._changed
        if self._feed is not None:
            take = self._feed.follower(self._is_selected, self._changed, self._broken)
        chosen = self._query.selection
        if not self._owner.resumes_efficiently:
            # All changes are noted.
            take, chosen = self._noting(take), EVERYTHING
        self._subscription = self._cache.subscribe(
            after=self._after,
            prefix=self._query.scope,
            on_change=take,
            on_end=self._subscription_ended,
            selection=chosen,
        )

    def _noting(self, take: Callable[[Change], None]) -> Callable[[Change], None]:
        """`take`, with the revision of the last change noted for bookmarks."""

        def note(change: Change) -> None:
            self._changed_at = change.revision
            take(change)

        return note

    def _send_bookmark(self) -> None:
        """Does nothing while changes wait for the conversion webhook or for their encoding."""
        if not self._behind and (self._feed is None or self._feed.idle):
            reached = self._cache.revision if self._owner.resumes_efficiently else self._changed_at
            self._send(self._encode.bookmark(max(reached, self._after)))

    def _schedule_bookmark(self) -> None:
        """The next bookmark in a minute, or shortly before the end if that is earlier; none after that. Watches shorter
        than `BOOKMARK_BEFORE_END` have none, as in the reference."""
        wait = min(BOOKMARK_EVERY, self._end - BOOKMARK_BEFORE_END - self._clock.seconds())
        # No bookmark for a rounding remainder.
        if wait > 0.01:
            self._bookmark = self._clock.callLater(wait, self._bookmark_due)

    def _send_error(self) -> None:
        if self._sink is not None and self._error is not None:
            self._sink.write(self._encode.error(self._error))

    def _release(self) -> None:
        """Give up everything but the sink."""
        self._owner.running.discard(self)
        for timer in (self._expiry, self._bookmark):
            if timer is not None and timer.active():
                timer.cancel()
        # A timer that has run refers to this stream: the two would be freed only by a collection of old objects, hours
        # later.
        self._expiry = self._bookmark = None
        if self._subscription is not None:
            self._subscription.cancel()
            self._subscription = None
        if self._feed is not None:
            self._feed.stop()
        self._behind.clear()
        drain, self._drain = self._drain, None
        if drain is not None:
            drain.cancel()

    def _finish_sink(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.finish()

    def _abort_sink(self) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.abort()

    def _drop_sink(self) -> None:
        self._sink = None

    # -- sending

    async def _list(self) -> None:
        """Send the initial state, consistent with one revision; only references to remaining entries are held."""
        current_flow.set(self._flow)
        self._cache.check_readable(self._query.scope)
        chosen = self._query.selection
        page = self._cache.page(
            prefix=self._query.scope, match=chosen.match, labels=chosen.labels, fields=chosen.fields
        )
        self._after = page.revision
        self._owner.metrics.count_initial(self.resource, len(page.entries))
        for at in range(0, len(page.entries), BATCH):
            piece = page.entries[at : at + BATCH]
            for entry in piece if self._feed is None else await self._feed.entries(piece):
                await self._send_slowly(await self._encode.entry("ADDED", entry))
                if self.state is State.ENDED:
                    return
        self._take(Input.STATE_SENT)

    async def _catch_up(self) -> None:
        """Send the changes of the cache's window after `_after`."""
        current_flow.set(self._flow)
        while past := self._cache.past(after=self._after, most=_PIECE):
            selected = [c for c in past if self._is_selected(c)]
            self._owner.metrics.count_initial(self.resource, len(selected))
            for change in selected if self._feed is None else await self._feed.changes(selected):
                self._after = change.revision
                frame = await self._encode.large_change(change)
                if frame is not None:
                    await self._send_slowly(frame)
                if self.state is State.ENDED:
                    return
            self._after = past[-1].revision
        self._take(Input.CAUGHT_UP)

    def _is_selected(self, change: Change) -> bool:
        return under(change.entry.path, self._query.scope) and self._encode.selects(change)

    async def _send_slowly(self, frame: bytes) -> None:
        """Send a frame, then wait until the client's buffer is below the limit."""
        self._send(frame)
        sink = self._sink
        if sink is not None and sink.buffered > PAUSE_ABOVE:
            self._drain = sink.writable()
            await self._drain
            self._drain = None

    def _changed(self, change: Change) -> None:
        if self._sink is None:
            return
        if self._behind or self._encode.is_slow(change):
            self._behind.append(change)
            if len(self._behind) == 1:
                start(self._send_behind()).addErrback(self._broken)
            elif len(self._behind) > _MOST_BEHIND:
                self._drop()
            return
        frame = self._encode.change(change)
        if frame is not None:
            self._send(frame)

    async def _send_behind(self) -> None:
        """Send the changes that wait for the encoding of a large one, in their order."""
        current_flow.set(self._flow)
        while self._behind:
            frame = await self._encode.large_change(self._behind[0])
            if frame is not None:
                self._send(frame)
            if self._behind:
                self._behind.popleft()

    def _send(self, frame: bytes) -> None:
        sink = self._sink
        if sink is None:
            return
        sink.write(frame)
        self._event_sizes.observe(EVENT_SIZES, len(frame))
        if sink.buffered > MOST_BUFFERED:
            self._drop()

    def _drop(self) -> None:
        self._owner.metrics.count_dropped(self.resource)
        self._take(Input.TOO_SLOW)


Step = Callable[[WatchStream], None]
_Rows = Mapping[Input, tuple[State, tuple[Step, ...]]]

_CLOSED = (State.ENDED, (WatchStream._release, WatchStream._finish_sink))
_FAILED = (State.ENDED, (WatchStream._send_error, WatchStream._release, WatchStream._finish_sink))
_CUT = (State.ENDED, (WatchStream._release, WatchStream._abort_sink))
_LEFT = (State.ENDED, (WatchStream._release, WatchStream._drop_sink))
_ENDINGS: _Rows = {Input.CLOSE: _CLOSED, Input.FAIL: _FAILED, Input.TOO_SLOW: _CUT, Input.CLIENT_GONE: _LEFT}

#: State and input -> next state and actions, in order.
TRANSITIONS: Final[Mapping[State, _Rows]] = {
    State.NEW: {
        Input.START_WITH_STATE: (State.LISTING, (WatchStream._open, WatchStream._send_state)),
        Input.START_AFTER: (State.CATCHING_UP, (WatchStream._open, WatchStream._send_past)),
        **_ENDINGS,
    },
    State.LISTING: {
        Input.STATE_SENT: (State.CATCHING_UP, (WatchStream._mark_state_sent, WatchStream._send_past)),
        Input.BOOKMARK_DUE: (State.LISTING, (WatchStream._schedule_bookmark,)),
        **_ENDINGS,
    },
    State.CATCHING_UP: {
        Input.CAUGHT_UP: (State.LIVE, (WatchStream._subscribe,)),
        Input.BOOKMARK_DUE: (State.CATCHING_UP, (WatchStream._schedule_bookmark,)),
        **_ENDINGS,
    },
    State.LIVE: {
        Input.BOOKMARK_DUE: (State.LIVE, (WatchStream._send_bookmark, WatchStream._schedule_bookmark)),
        **_ENDINGS,
    },
    State.ENDED: {},
}
