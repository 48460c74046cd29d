"""The API server as a twisted.web resource: for an existing Site, and for HTTP/2, which twisted.web implements.

Uses the same Request and Response values as `channel.py`, over `twisted.web`'s channel. It is slower per request; use
it where the API shares a Site with other resources. Bodies are limited on arrival if the Site makes `ApiRequest`s (see
`ApiSite`), otherwise when they are complete. Requests of `http2.py` have bodies that are read as they arrive.
"""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IPushProducer, IReactorTime
from twisted.python.failure import Failure
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Site
from twisted.web.server import Request as WebRequest
from zope.interface import implementer

from orchd.errors import too_large
from orchd.server.authn.interfaces import Credentials
from orchd.server.http.factory import compress_aside
from orchd.server.http.limits import Limits
from orchd.server.http.peer import certificate_chain
from orchd.server.http.request_head import BadHead, parse_fields, parse_line
from orchd.server.http.responses import BODILESS
from orchd.server.pipeline.interfaces import IBody, IPipeline, ISink, Request, Response, StreamEnded
from orchd.txkit.coroutines import enter
from orchd.txkit.drain_waiters import DrainWaiters
from orchd.txkit.log import Logger

#: Maximum body size of any verb; more data is dropped on arrival and the read fails.
MAX_BODY = 4 << 20
#: Buffered bytes of a multiplexed connection above which its next request waits.
_MAX_WAITING = 4 << 20
_LOOK_AGAIN = 0.05
#: Bytes of a forwarded body that are read at once.
_PIECE = 64 << 10


class ApiRequest(WebRequest):
    """A request whose body is limited on arrival."""

    overflow = False

    def handleContentChunk(self, data: bytes) -> None:
        if not self.overflow:
            content = cast(Any, self.content)
            if content.tell() + len(data) > MAX_BODY:
                self.overflow = True
                content.seek(0)
                content.truncate()
            else:
                WebRequest.handleContentChunk(self, data)


@implementer(IBody)
class CompleteBody:
    """A body that twisted.web has read completely."""

    value = None
    arrival = None

    def __init__(self, request: WebRequest) -> None:
        self._request = request
        self._read_by_pieces = False

    @property
    def length(self) -> int:
        content = cast(Any, self._request.content)
        end: int = content.seek(0, 2)
        return end

    async def piece(self) -> bytes:
        content = cast(Any, self._request.content)
        if not self._read_by_pieces:
            if getattr(self._request, "overflow", False):
                raise too_large(MAX_BODY)
            self._read_by_pieces = True
            content.seek(0)
        return bytes(content.read(_PIECE))

    async def read(self, limit: int) -> bytes:
        content = cast(Any, self._request.content)
        if getattr(self._request, "overflow", False):
            raise too_large(limit)
        content.seek(0, 2)
        if content.tell() > limit:
            raise too_large(limit)
        content.seek(0)
        return bytes(content.read())


@implementer(ISink, IPushProducer)
class WebSink:
    """A streamed response through twisted.web, which does the chunks or HTTP/2 frames."""

    def __init__(self, request: WebRequest) -> None:
        self._request = request
        self._paused = False
        self._closed = False
        self.buffered = 0
        self._drain = DrainWaiters()
        request.registerProducer(self, True)

    def write(self, data: bytes) -> None:
        if not self._closed and data:
            self._request.write(data)
            if self._paused:
                self.buffered += len(data)

    def writable(self) -> Deferred[None]:
        return self._drain.writable(StreamEnded, closed=self._closed, paused=self._paused)

    def pauseProducing(self) -> None:
        self._paused = True

    def resumeProducing(self) -> None:
        self._paused = False
        self.buffered = 0
        self._drain.opened()

    def stopProducing(self) -> None:
        """The connection is lost; `notifyFinish` reports it too."""

    def lost(self) -> None:
        """The client disconnected."""
        self._closed = True
        self.buffered = 0
        self._drain.lost(StreamEnded)

    def finish(self) -> None:
        if not self._closed:
            self._closed = True
            self._request.unregisterProducer()
            self._request.finish()

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            self._request.unregisterProducer()
            # The response must not end normally: loseConnection of a stream would complete it.
            channel: Any = self._request.channel
            (channel if hasattr(channel, "abortConnection") else channel.transport).abortConnection()


@implementer(IResource)
class ApiResource(Resource):
    """A leaf that passes everything below it to the pipeline, with the whole path."""

    isLeaf = True
    _log = Logger()

    def __init__(self, pipeline: IPipeline, clock: IReactorTime, limits: Limits | None = None) -> None:
        Resource.__init__(self)
        self._pipeline = pipeline
        self._clock = clock
        self._limits = limits or Limits()

    def render(self, request: Any) -> int:
        try:
            parsed, gzip = self._request(request)
        except BadHead as bad:
            request.setResponseCode(bad.code)
            request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            request.write(bad.text.encode())
            request.finish()
            return NOT_DONE_YET
        _Exchange(self, request, gzip).begin(self._pipeline, parsed)
        return NOT_DONE_YET

    def _request(self, request: WebRequest) -> tuple[Request, bool]:
        target = parse_line(b"%b %b HTTP/1.1" % (request.method, request.uri))
        lines = [
            b"%b: %b" % (name, value) for name, values in request.requestHeaders.getAllRawHeaders() for value in values
        ]
        if not request.requestHeaders.hasHeader(b"host"):
            # HTTP/2 has :authority instead, which twisted.web does not always forward.
            lines.append(b"host: ")
        block = b"\r\n".join(line for line in lines if not line.lower().startswith(b"expect:"))
        fields = parse_fields(block, modern=True)
        remote = str(getattr(request.getClientAddress(), "host", ""))
        chain = certificate_chain(_transport(request))
        credentials = Credentials(headers=fields.headers, certificates=chain, remote=remote, path=target.path)
        parsed = Request(
            method=target.method,
            path=target.path,
            raw_path=target.raw_path,
            query=target.query,
            headers=fields.headers,
            body=getattr(request, "body", None) or CompleteBody(request),
            credentials=credentials,
            received=self._clock.seconds(),
        )
        return parsed, fields.gzip


def _transport(request: WebRequest) -> Any:
    """The connection's transport: one level deeper below HTTP/2 streams than below HTTP/1.1 channels."""
    channel: Any = request.channel
    connection = getattr(channel, "_conn", None)
    return getattr(connection if connection is not None else channel, "transport", None)


def _waiting(request: WebRequest) -> int:
    """Buffered response bytes of the request's connection, as far as known."""
    return getattr(getattr(request.channel, "_conn", None), "waiting", 0)


class _Exchange:
    """One twisted.web request on its way through the pipeline."""

    _log = Logger()

    def __init__(self, resource: ApiResource, request: WebRequest, gzip: bool) -> None:
        self._resource = resource
        self._request = request
        self._gzip = gzip
        self._gone = False
        self._running: Deferred[Any] | None = None
        self._sink: WebSink | None = None
        self._stream: Any = None

    def begin(self, pipeline: IPipeline, request: Request) -> None:
        """Pass the request to the pipeline after the client has read most of the previous responses."""
        self._request.notifyFinish().addErrback(self._lost)
        self._begin(pipeline, request)

    def _begin(self, pipeline: IPipeline, request: Request) -> None:
        if self._gone:
            return
        if _waiting(self._request) > _MAX_WAITING:
            self._resource._clock.callLater(_LOOK_AGAIN, self._begin, pipeline, request)
            return
        self._running = enter(cast(Any, pipeline.handle(request)), self._respond, self._failed)

    def _lost(self, _: Failure) -> None:
        self._gone = True
        sink, stream = self._sink, self._stream
        self._sink = self._stream = None
        if sink is not None:
            sink.lost()
        if stream is not None:
            stream.stop()
        if self._running is not None:
            self._running.cancel()

    def _failed(self, failure: Failure) -> None:
        self._running = None
        if self._gone and failure.check(CancelledError):
            return
        self._log.failure("the pipeline failed", failure=failure)
        if not self._gone:
            self._request.setResponseCode(500)
            self._request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            self._request.write(b"Internal Server Error\n")
            self._request.finish()

    def _respond(self, response: Response) -> None:
        self._running = None
        request = self._request
        if self._gone:
            if response.stream is not None:
                response.stream.stop()
            return
        request.setResponseCode(response.code)
        request.responseHeaders.removeHeader(b"server")
        for name, value in response.headers:
            request.responseHeaders.addRawHeader(name.encode(), value.encode())
        if response.content_type:
            request.setHeader(b"content-type", response.content_type.encode())
        else:
            request.responseHeaders.removeHeader(b"content-type")
            request.defaultContentType = None
        if response.stream is not None:
            self._stream, self._sink = response.stream, WebSink(request)
            request.write(b"")
            response.stream.start(self._sink)
            return
        pieces = [response.body] if isinstance(response.body, bytes) else list(response.body)
        size = sum(map(len, pieces))
        above = self._resource._limits.gzip_above
        if (
            self._gzip
            and above is not None
            and size > above
            and not request.responseHeaders.hasHeader(b"content-encoding")
        ):
            request.setHeader(b"content-encoding", b"gzip")
            request.responseHeaders.addRawHeader(b"vary", b"Accept-Encoding")
            compressing = compress_aside(self._resource._clock, pieces)
            compressing.addCallback(self._write, response).addErrback(self._failed)
            return
        self._write(pieces, response)

    def _write(self, pieces: list[bytes], response: Response) -> None:
        """Send a complete response."""
        request = self._request
        if self._gone:
            return
        size = sum(map(len, pieces))
        if response.code not in BODILESS:
            request.setHeader(b"content-length", b"%d" % size)
            if request.method != b"HEAD":
                for piece in pieces:
                    request.write(piece)
            else:
                request.write(b"")
        request.finish()


class ApiSite(Site):
    """A Site with only the API and limited bodies. Its protocol supports HTTP/2 with ALPN."""

    noisy = False

    def __init__(self, pipeline: IPipeline, clock: IReactorTime, limits: Limits | None = None) -> None:
        Site.__init__(self, ApiResource(pipeline, clock, limits), requestFactory=ApiRequest, reactor=clock)
        self.displayTracebacks = False

    def log(self, request: object) -> None:
        """Does nothing: the pipeline has its own access log."""
