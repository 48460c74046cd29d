"""WATCH: starts streams of changes, and ends them with the server or their kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from twisted.internet.interfaces import IReactorTime

from orchd.cache.interfaces import ICache
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.codec.mediatype import Form
from orchd.kinds.objects.list_options import ListOptions, parse_version
from orchd.kinds.objects.list_query import ListQuery
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.negotiation import Representation, check_table
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.running import RunningStreams
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.watch.conversion import ConvertedFeed, SharedConversions
from orchd.server.pipeline.verbs.watch.events import EventEncoder, LargeFrames
from orchd.server.pipeline.verbs.watch.metrics import WatchMetrics
from orchd.server.pipeline.verbs.watch.stream import WatchStream

#: Default watch duration in seconds: random between this and twice as much.
SHORTEST = 1800


class WatchVerb:
    """Starts watches, and ends them."""

    def __init__(
        self,
        running: RunningStreams[WatchStream],
        clock: IReactorTime,
        random: Random,
        *,
        shortest: int = SHORTEST,
        resumes_efficiently: bool = True,
        resources_named: bool = False,
    ) -> None:
        """`resumes_efficiently`: bookmarks have the newest revision of the store, not only that of the last change.
        `resources_named`: metrics count events by resource (`RESOURCES_NAMED`)."""
        self._clock = clock
        self._random = random
        self._shortest = shortest
        self.resumes_efficiently = resumes_efficiently
        self.running = running
        self.metrics = WatchMetrics(self._by_kind, resources_named)
        self._conversions = SharedConversions()
        self._large = LargeFrames()

    def _by_kind(self) -> dict[tuple[str, ...], float]:
        """Running watches by group, version and kind."""
        counts: dict[tuple[str, ...], float] = {}
        for stream in self.running:
            key = (stream.resource.group, stream.resource.version, stream.resource.kind)
            counts[key] = counts.get(key, 0) + 1
        return counts

    def end_unserved(self, resources: Iterable[Resource], catalog: Callable[[], Catalog]) -> None:
        """End the watches of versions of a custom kind that are no longer served."""
        named = {(each.group, each.version, each.plural) for each in resources}
        for stream in list(self.running):
            name = (stream.resource.group, stream.resource.version, stream.resource.plural)
            if name in named and catalog().resource(*name) is None:
                stream.finish()

    def end(self) -> None:
        """End every running watch normally: the server is shutting down."""
        for stream in list(self.running):
            stream.finish()

    async def __call__(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        try:
            view = context.present.view(request, target.resource, watch=True)
        except ApiError:
            # Options are checked between the media types of a list and those of a stream.
            await context.list_view(request, target)
            query = await context.list_query(request, target)
            parse_version(query.options.resource_version or "0")
            raise
        query = await context.list_query(request, target)
        cache = context.registry.cache(target.resource)
        stream = self._stream(context, cache, view, query)
        stream.permitted = request.permitted
        check_table(view)
        await self._wait(cache, query.options, stream)
        if _wants_websocket(request):
            # Few clients ask for WebSockets: the start of the server does not wait for their library.
            from orchd.server.pipeline.verbs.watch import websocket

            return websocket.respond(request, stream, text=view.chosen.form is Form.JSON)
        return Response(code=200, content_type=view.chosen.content_type, headers=[NO_STORE], stream=stream)

    async def _wait(self, cache: ICache, options: ListOptions, stream: WatchStream) -> None:
        """Wait until the cache is as recent as the requested resourceVersion. A state that would be older than its
        resourceVersion is an error of the stream, as in the reference."""
        if not options.resource_version:
            await cache.fresh()
            return
        await cache.ready()
        if options.initial_events:
            try:
                await cache.at_least(parse_version(options.resource_version))
            except ApiError as error:
                stream.refuse(error)

    def _stream(self, context: VerbContext, cache: ICache, view: Representation, query: ListQuery) -> WatchStream:
        seconds = query.options.timeout_seconds or self._shortest + self._random.randrange(self._shortest)
        feed = None
        if query.resource.converter is not None:
            feed = ConvertedFeed(context, self._conversions, query.resource, past=not query.selection.everything)
        encoder = EventEncoder(context, self._large, view, query.selection)
        return WatchStream(self, self._clock, cache, query, encoder, feed, seconds=float(max(seconds, 0)))


def _wants_websocket(request: Request) -> bool:
    """True if the client requests a WebSocket on a connection that supports it."""
    return (
        request.hijack is not None
        and request.header("upgrade").lower() == "websocket"
        and any("upgrade" in value.lower() for value in request.headers.get("connection", ()))
    )
