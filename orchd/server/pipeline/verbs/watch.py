"""WATCH: a stream of changes with bounded buffering."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd import errors
from orchd.cache.interfaces import Change, ChangeType, Entry, ICache, ISubscription, under
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.objects.list_options import Selection, cached, parse_version, selection, validate_options
from orchd.server.pipeline.interfaces import ISink, IStream, Request, Response, StreamEnded
from orchd.server.pipeline.representation import NO_STORE, Representation
from orchd.server.pipeline.verbs import watchsocket
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.converted_watch import BATCH, ConvertedFeed, SharedConversions
from orchd.server.pipeline.verbs.options import boolean, check_selected, list_options
from orchd.txkit.coroutines import start

#: Buffered bytes at which a slow client is disconnected.
MOST_BUFFERED = 4 * 1024 * 1024
#: Buffered bytes above which sending of the initial state, or of past changes, pauses.
PACE = 256 * 1024
#: Number of past changes read per batch.
_PIECE = 100
#: Seconds between bookmarks, and from the last one to the end of a watch.
BOOKMARK_EVERY = 60.0
BOOKMARK_BEFORE_END = 2.0
#: Default watch duration in seconds: random between this and twice as much.
SHORTEST = 1800


class WatchVerb:
    """Starts watches; counts running and dropped ones."""

    def __init__(self, clock: IReactorTime, random: Random, *, shortest: int = SHORTEST) -> None:
        self._clock = clock
        self._random = random
        self._shortest = shortest
        self.running: set[WatchStream] = set()
        self.dropped = 0
        self._conversions = SharedConversions()

    def by_kind(self) -> dict[tuple[str, str, str], int]:
        """Running watches by group, version and kind."""
        counts: dict[tuple[str, str, str], int] = {}
        for stream in self.running:
            key = (stream.resource.group, stream.resource.version, stream.resource.kind)
            counts[key] = counts.get(key, 0) + 1
        return counts

    def end_unserved(self, resource: Resource, catalog: Callable[[], Catalog]) -> None:
        """End the watches of a custom kind's version that is no longer served."""
        named = (resource.group, resource.version, resource.plural)
        ours = [s for s in self.running if (s.resource.group, s.resource.version, s.resource.plural) == named]
        if ours and catalog().resource(*named) is None:
            for stream in ours:
                stream.finish()

    def end(self) -> None:
        """End every running watch normally: the server is shutting down."""
        for stream in list(self.running):
            stream.finish()

    async def __call__(self, tools: VerbContext, request: Request, target: ResourceTarget) -> Response:
        resource = target.resource
        view = tools.present.view(request, resource, watch=True)
        options = list_options(request)
        validate_options(tools.dialect, options, watch=bool(boolean(request, "watch")))
        chosen = selection(target.resource, options.label_selector, options.field_selector)
        check_selected(request, target.resource, options)
        after = parse_version(options.resource_version)
        tools.present.check_table(view)
        seconds = options.timeout_seconds or self._shortest + self._random.randrange(self._shortest)
        cache = tools.registry.cache(target.resource)
        prefix = f"{target.namespace}/" if target.namespace and target.resource.namespaced else ""
        path = ""
        if target.name:
            path = prefix + target.name
        elif chosen.fields and "metadata.name" in chosen.fields and (prefix or not target.resource.namespaced):
            path = prefix + chosen.fields["metadata.name"]
        if options.resource_version:
            await cache.ready()
        else:
            await cache.fresh()
        feed = None
        if resource.converter is not None:
            feed = ConvertedFeed(tools, self._conversions, resource, past=not chosen.everything)
        stream = WatchStream(
            self,
            self._clock,
            tools.present,
            view,
            cache,
            feed,
            chosen,
            prefix=path or prefix,
            exact=bool(path),
            after=after,
            seconds=float(max(seconds, 0)),
            bookmarks=bool(boolean(request, "allowWatchBookmarks")),
        )
        if watchsocket.is_requested(request):
            return watchsocket.answer(request, stream, text=view.chosen.form is Form.JSON)
        return Response(code=200, content_type=view.chosen.content_type, headers=[NO_STORE], stream=stream)


@implementer(IStream)
class WatchStream:
    """One running watch. States: made, started (initial state at the client's speed, then changes), ended; frames are
    sent only in "started"."""

    log = Logger()

    def __init__(
        self,
        owner: WatchVerb,
        clock: IReactorTime,
        presenter: Any,
        view: Representation,
        cache: ICache,
        feed: ConvertedFeed | None,
        chosen: Selection,
        *,
        prefix: str,
        exact: bool,
        after: int,
        seconds: float,
        bookmarks: bool,
    ) -> None:
        self._owner = owner
        self._clock = clock
        self._present = presenter
        self._view = view
        self.resource = view.resource
        self._cache = cache
        #: Converts entries and changes through a webhook; None for kinds without one.
        self._feed = feed
        self._chosen = chosen
        self._prefix = prefix
        self._exact = exact
        self._after = after
        self._seconds = seconds
        self._bookmarks = bookmarks
        self._end = 0.0
        self._sink: ISink | None = None
        self._subscription: ISubscription | None = None
        self._initial: Deferred[None] | None = None
        self._waits = False
        self._timers: list[IDelayedCall] = []
        self._first = True
        self._select = self._selected if not chosen.everything else None
        self._key = ("watch", *view.key)
        self.sent = 0

    def start(self, sink: ISink) -> None:
        self._sink = sink
        self._owner.running.add(self)
        self._timers.append(self._clock.callLater(self._seconds, self._expired))
        self._end = self._clock.seconds() + self._seconds
        if self._bookmarks:
            self._mark_later(self._seconds / 2)
        beginning = self._initial = start(self._follow(sink) if self._after else self._begin(sink))
        if beginning.called:
            self._initial = None
        beginning.addErrback(self._broken)

    def start_with_error(self, sink: ISink, error: ApiError) -> None:
        """Instead of `start`: an ERROR event and nothing else."""
        self._sink = sink
        self.fail(error)

    def _broken(self, failure: Failure) -> None:
        self._initial = None
        if failure.check(CancelledError, StreamEnded):
            return
        error = failure.value
        if isinstance(error, ApiError) and error.code == 410 and not cached(self.resource):
            error = errors.expired("The resourceVersion for the provided watch is too old.")
        if not isinstance(error, ApiError):
            self.log.failure("a watch of {resource} failed", failure, resource=self.resource)
            error = errors.internal("the watch has failed")
        self.fail(error)

    async def _begin(self, sink: ISink) -> None:
        """Send the initial state as ADDED events, then changes after exactly that version. Slow clients are waited for,
        while only references to the remaining entries are held."""
        self._cache.check_readable(self._prefix)
        page = self._cache.page(
            prefix=self._prefix,
            match=self._chosen.match,
            labels=self._chosen.labels,
            fields=self._chosen.fields,
        )
        self._after = page.revision
        for at in range(0, len(page.entries), BATCH):
            piece = page.entries[at : at + BATCH]
            for entry in piece if self._feed is None else await self._feed.entries(piece):
                self._send(self._frame("ADDED", entry))
                await self._taken(sink)
                if self._sink is None:
                    return
        await self._follow(sink)

    async def _follow(self, sink: ISink) -> None:
        """Send changes after `after`: past ones at the client's speed, then each as it occurs. A client slower than the
        history window gets 410 and lists again."""
        while past := self._cache.past(after=self._after, most=_PIECE):
            seen = past if self._feed is None else await self._feed.changes([c for c in past if self._wanted(c)])
            for change in seen:
                self._after = change.revision
                if under(change.entry.path, self._prefix):
                    self._changed(change)
                    await self._taken(sink)
                if self._sink is None:
                    return
            self._after = past[-1].revision
        self._initial = None
        take: Callable[[Change], None] = self._changed
        if self._feed is not None:
            take = self._feed.follower(self._wanted, self._changed, self._broken)
        self._subscription = self._cache.subscribe(
            after=self._after, prefix=self._prefix, on_change=take, on_end=self._ended
        )

    def _wanted(self, change: Change) -> bool:
        """True if a change matches, evaluated before conversion."""
        if not under(change.entry.path, self._prefix):
            return False
        before = change.previous
        return self._select is None or any(e is not None and self._chosen.accepts(e) for e in (change.entry, before))

    async def _taken(self, sink: ISink) -> None:
        """Wait until the client's buffer is below the limit."""
        if sink.buffered > PACE:
            self._waits = True
            await sink.writable()
            self._waits = False

    def _changed(self, change: Change) -> None:
        if self._sink is None or (self._exact and change.entry.path != self._prefix):
            return
        if self._select is not None:
            frame = self._select(change)
        else:
            frame = change.frames.get(self._key)
            if frame is None:
                frame = self._frame(change.type.value, change.entry)
                if self._view.chosen.as_ != "Table":
                    change.keep(self._key, frame, len(frame))
        if frame is not None:
            self._send(frame)

    def _selected(self, change: Change) -> bytes | None:
        """The event type of a change under a selector: objects enter and leave the selection."""
        previous = change.previous
        was = previous is not None and self._chosen.accepts(previous)
        now = change.type is not ChangeType.DELETED and self._chosen.accepts(change.entry)
        if now:
            return self._frame("MODIFIED" if was else "ADDED", change.entry)
        if not was:
            return None
        if change.type is ChangeType.DELETED:
            return self._frame("DELETED", change.entry)
        assert previous is not None
        return self._frame("DELETED", previous.at_revision(change.revision))

    def _frame(self, kind: str, entry: Entry) -> bytes:
        first, self._first = self._first, False
        frame: bytes = self._present.frame(self._view, kind, entry, first=first)
        return frame

    def _send(self, frame: bytes) -> None:
        sink = self._sink
        if sink is None:
            return
        sink.write(frame)
        self.sent += 1
        if sink.buffered > MOST_BUFFERED:
            self._owner.dropped += 1
            self.abort()

    def _bookmark(self) -> None:
        if self._sink is None:
            return
        if self._initial is None and (self._feed is None or self._feed.idle):
            # Only after the initial state is complete; a watch from a future version has no initial state.
            obj = self._present.bookmark(self._view, str(max(self._cache.revision, self._after)))
            self._send(self._present.object_frame(self._view, "BOOKMARK", obj))
        self._timers = [t for t in self._timers if t.active()]
        self._mark_later(0)

    def _mark_later(self, least: float) -> None:
        """Schedule the next bookmark in a minute, or shortly before the end if that is earlier; none after that."""
        wait = min(BOOKMARK_EVERY, max(self._end - BOOKMARK_BEFORE_END - self._clock.seconds(), least))
        # A rounding remainder is not worth another bookmark.
        if wait > 0.01:
            self._timers.append(self._clock.callLater(wait, self._bookmark))

    def _expired(self) -> None:
        self.finish()

    def _ended(self, error: Exception) -> None:
        if isinstance(error, ApiError):
            self.fail(error)
        else:
            self.fail(errors.expired(f"the watch has ended: {error}"))

    def fail(self, error: ApiError) -> None:
        """An ERROR event, and the end."""
        self._send(self._present.object_frame(self._view, "ERROR", error.status()))
        self.finish()

    def finish(self) -> None:
        """End the stream normally."""
        sink = self._sink
        self.stop()
        if sink is not None:
            sink.finish()

    def abort(self) -> None:
        """Cut the client's connection."""
        sink = self._sink
        self.stop()
        if sink is not None:
            sink.abort()

    def stop(self) -> None:
        self._sink = None
        self._owner.running.discard(self)
        for timer in self._timers:
            if timer.active():
                timer.cancel()
        self._timers.clear()
        initial, self._initial = self._initial, None
        if initial is not None and self._waits:
            initial.cancel()
        if self._subscription is not None:
            self._subscription.cancel()
            self._subscription = None
        if self._feed is not None:
            self._feed.stop()

