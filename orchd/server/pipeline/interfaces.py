"""The values between HTTP and the verbs: `Request` in, `Response` out, and the contract of a stage.

`http/` makes a Request from a connection, `orchd.server.local` makes the same from a call; stages see no difference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.authz.interfaces import Action
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.running import RunningStreams, Stream
from orchd.txkit.tracing import RequestSpan
from orchd.values import value_class


@value_class()
class RequestInfo:
    """The parsed path and method (specification, "Resource URIs").

    For a resource request `verb` is one of get list watch create update patch delete deletecollection (proxy paths keep
    the HTTP method's verb); `prefix` is "api" or "apis". Otherwise `verb` is the lower-case method and the rest is "".
    """

    is_resource: bool
    path: str
    verb: str
    prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    #: The path has the segments of a namespace, but no name.
    unnamed_namespace: bool = False
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    #: The path segment before the resource that set the verb ("watch", "proxy"); "" without one.
    special: str = ""


class IArrival(Interface):
    """A request body whose end has not arrived when its request begins."""

    complete: bool = Attribute("True once nothing more arrives.")

    async def ends_within(size: int) -> bool:
        """Wait until the body has ended, or more than `size` bytes have arrived; True if it has at most `size` bytes.
        `size` is less than what is received ahead of a reader. Not while the body is read."""

    def refuse(error: Exception) -> None:
        """Receive no more: a pending or later read raises `error`. The connection ends after the response."""


class IBody(Interface):
    """A request body that has not been read yet."""

    arrival: IArrival | None = Attribute("The rest of a body that is not complete yet; None if it is.")

    value: dict[str, Any] | None = Attribute(
        "The object, from a client in this process, which hands it over as a value: a shared tree. None for bytes."
    )

    length: int | None = Attribute("Bytes of the whole body; None if they are not known before its end.")

    async def read(limit: int) -> bytes:
        """The whole body as bytes. Raises ApiError 413 above `limit` bytes, ApiError 400/500 for a broken transfer
        coding, CancelledError when the client disconnects, or the response ends before the body of the request.
        Called at most once."""

    async def piece() -> bytes:
        """The next bytes of a body that is forwarded, b"" at its end; called again and again instead of `read`. The
        client is read as fast as pieces are taken. Raises like `read`, without a limit."""


class Trace:
    """Notes about a request for audit, metrics and traces, taken while it is served."""

    __slots__ = (
        "annotations", "audit_id", "audited", "began", "body", "body_size", "read_bytes", "span", "terminated",
        "webhook_seconds",
    )  # fmt: skip

    def __init__(self) -> None:
        self.audit_id = ""
        #: True if the request is audited. Stages then record their decisions in `annotations`.
        self.audited = False
        self.annotations: dict[str, str] = {}
        #: Bytes of the body that were read, None if it was not.
        self.read_bytes: int | None = None
        #: Size of the body, or of what it grows to, once it has been read, and its object as it was understood, once a
        #: verb has decoded it.
        self.body_size = 0
        self.body: Mapping[str, Any] | None = None
        #: The span of the request, None without one, and its begin in epoch seconds, 0.0 without traces.
        self.span: RequestSpan | None = None
        self.began = 0.0
        #: True if the server ended the request to protect itself: a limit, a timeout, or an internal error.
        self.terminated = False
        #: Seconds that admission webhooks took.
        self.webhook_seconds = 0.0

    def add_webhook_time(self, seconds: float) -> None:
        """Count time that admission webhooks took."""
        self.webhook_seconds += seconds


@dataclass(slots=True, kw_only=True)
class Request:
    """One request on its way through the stages. Stages set the optional members; nothing else is mutable.

    `headers` has lower-case names and all values in order; `query` keeps every value of a parameter in order.
    `path` is decoded, `raw_path` as sent (without the query).
    """

    method: str
    path: str
    raw_path: str
    query: Query
    headers: Mapping[str, tuple[str, ...]]
    body: IBody
    credentials: Credentials
    received: float
    info: RequestInfo | None = None
    #: Why `info` is that of a request for no resource; the failure stage raises it.
    parse_error: Exception | None = None
    user: User | None = None
    #: The authenticated user who impersonates `user`; None without impersonation.
    impersonator: User | None = None
    #: What was authorized for this request, impersonation included. Long requests are authorized again.
    permitted: tuple[Action, ...] = ()
    #: Holds the streams of other servers that are passed on to the client, as long as their permission lasts; None
    #: without.
    running: RunningStreams[Stream] | None = None
    warnings: list[str] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)
    #: Headers added to the response, whichever stage makes it.
    response_headers: list[tuple[str, str]] = field(default_factory=list)
    #: False if the client, one in this process, uses nothing of a successful response: its body may be empty.
    need_response: bool = True
    #: For upgrade subresources: takes over the raw connection (None where the transport cannot).
    hijack: Callable[[], Any] | None = None

    @property
    def uses_body(self) -> bool:
        """True if the client or the audit log uses the body of a successful response."""
        return self.need_response or self.trace.audited

    def header(self, name: str) -> str:
        """First value of a header, "" without one. `name` in lower case."""
        values = self.headers.get(name)
        return values[0] if values else ""

    def uri(self) -> str:
        """The path as sent, with the query encoded again."""
        query = urlencode(self.query, doseq=True)
        return f"{self.raw_path}?{query}" if query else self.raw_path

    def param(self, name: str) -> str:
        """First value of a query parameter, "" without one."""
        return self.query.first(name)


class StreamEnded(Exception):
    """The peer of a stream has disconnected, or reads too slowly."""


class ISink(Interface):
    """Destination of a streamed response, with bounded buffering."""

    buffered: int = Attribute("Bytes accepted and not yet taken by the peer.")

    def write(data: bytes) -> None:
        """Send one piece now (in this reactor turn as far as the socket takes it). Never blocks."""

    def writable() -> Deferred[None]:
        """Fires when `buffered` is below the transport's low mark; for producers that can wait. Fails with StreamEnded
        when the client is gone. Cancel it to stop waiting."""

    def finish() -> None:
        """End the response normally."""

    def abort() -> None:
        """Close the connection: the response cannot be completed."""


class IStream(Interface):
    """The body of a streaming response: a watch, a log, a proxied response."""

    def start(sink: ISink) -> None:
        """Called once, when the head has been written."""

    def stop() -> None:
        """The peer has disconnected or the server stops: release all resources. Idempotent, also after `finish`."""


class Pieces:
    """A large body that is generated while it is sent, so that a slow client does not keep all of it in memory.

    `size` is its length in bytes; `make` returns its pieces in order, and may be called again."""

    __slots__ = ("_make", "size")

    def __init__(self, size: int, make: Callable[[], Iterator[bytes]]) -> None:
        self.size = size
        self._make = make

    def __iter__(self) -> Iterator[bytes]:
        return self._make()


class ListPieces(Pieces):
    """The body of a JSON list whose items can be decoded one by one. `empty` is the list without items. The first
    `skip` bytes of each of `items` are replaced by a brace in the list."""

    __slots__ = ("_items", "_skip", "empty")

    def __init__(
        self, size: int, make: Callable[[], Iterator[bytes]], *, empty: bytes, items: Sequence[bytes], skip: int
    ) -> None:
        super().__init__(size, make)
        self.empty = empty
        self._items, self._skip = items, skip

    def items(self) -> Iterator[bytes]:
        """The items' texts in order, as they stand in the list."""
        return (b"{" + item[self._skip :] for item in self._items) if self._skip else iter(self._items)


#: A complete body. A list of pieces is sent piece by piece, without being joined.
Body = bytes | list[bytes] | Pieces


def size_of(body: Body) -> int:
    """Length of a body in bytes."""
    if isinstance(body, bytes):
        return len(body)
    return body.size if isinstance(body, Pieces) else sum(map(len, body))


def whole(body: Body) -> bytes:
    """A body as one bytes value."""
    return body if isinstance(body, bytes) else b"".join(body)


@dataclass(slots=True, kw_only=True)
class Response:
    """A response. Either `body` (complete; sets Content-Length) or `stream`.

    `headers` are (name, value) pairs in sending order."""

    code: int = 200
    content_type: str = "application/json"
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: Body = b""
    stream: IStream | None = None
    #: True if the connection is closed after this response.
    close: bool = False


#: The rest of the pipeline after a stage.
Next = Callable[[Request], Awaitable[Response]]


class Stage(Protocol):
    """A step in running order: responds itself, or awaits `then(request)` and may inspect the response.

    ApiError anywhere below becomes a Status in the outermost stage. CancelledError is re-raised by every stage.
    """

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]: ...


class IPipeline(Interface):
    """The entry point of the pipeline, for HTTP and for local clients."""

    async def handle(request: Request) -> Response:
        """Handle a request. Raises nothing but CancelledError. Usually finishes without suspending for reads."""
