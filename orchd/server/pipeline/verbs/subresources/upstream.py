"""HTTP to nodes, pods and services on behalf of a client: streamed responses and upgraded connections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol, cast
from urllib.parse import quote

from OpenSSL import SSL
from twisted.internet import defer
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.endpoints import wrapClientTLS
from twisted.internet.error import ConnectError, ConnectionClosed, DNSLookupError, TimeoutError
from twisted.internet.protocol import Factory, connectionDone
from twisted.internet.protocol import Protocol as Wire
from twisted.internet.ssl import optionsForClientTLS
from twisted.python.failure import Failure
from twisted.web._newclient import RequestGenerationFailed, RequestTransmissionFailed
from twisted.web.client import ResponseDone, ResponseFailed
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import UNKNOWN_LENGTH, IBodyProducer, IPolicyForHTTPS
from zope.interface import implementer

from orchd import errors
from orchd.errors import ApiError
from orchd.server.pipeline.interfaces import IBody, ISink, IStream, Request, Response, StreamEnded
from orchd.server.pipeline.verbs.subresources.addresses import (
    AddressPolicy,
    CheckedEndpoint,
    any_address,
    global_unicast,
)
from orchd.server.pipeline.verbs.subresources.locations import Location
from orchd.server.pipeline.verbs.subresources.upgrade import (
    BackendSide,
    IdleLimit,
    Side,
    UpgradeError,
    UpgradeResponse,
    offered_protocols,
    upgrade_request,
)
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.response_heads import EndpointAgent
from orchd.txkit.tcp_client import TcpEndpoint
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import UnverifiedConnection, own_certificate, trust_roots

#: Buffered bytes for the client at which reading from the backend is paused.
_MOST_BUFFERED = 256 << 10
_CONNECT_SECONDS = 30.0
#: Timeouts in seconds for the response to an upgrade, and for the body of a refusal.
_HEAD_SECONDS, _REFUSAL_SECONDS = 30.0, 10.0
#: Joined connections and forwarded bodies of which nothing is sent for this long are cut, as the reference's agents do.
_IDLE_SECONDS = 4 * 3600.0
#: Maximum body of an upgrade request, in bytes.
_UPGRADE_BODY = 1 << 20
_MOST_PORT = 65535
#: Characters of an unknown host in a message.
_SHOWN_HOST = 256

#: Hop-by-hop headers (RFC 9110, 7.6.1), and client headers that must not be forwarded.
_NOT_FORWARDED = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", "content-length", "host", "expect", "authorization", "http2-settings",
    )
)  # fmt: skip

#: Names of hosts (RFC 1123, 2.1, and underscores).
_HOST = re.compile(r"(?=.{1,253}\.?\Z)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?")

_OURS = _NOT_FORWARDED | {
    "content-type", "date",
    # --cors-allowed-origins alone says which origins may read responses of this server.
    "access-control-allow-credentials", "access-control-allow-headers", "access-control-allow-methods",
    "access-control-allow-origin",
}  # fmt: skip

Pairs = Sequence[tuple[str, str]]


class UnreachableError(Exception):
    """Connecting to the backend failed; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response whose body has not been received: either forward `stream`, or read it with `text`."""

    code: int
    headers: Pairs
    stream: Any  # IStream

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")


class IUpstream(Protocol):
    """HTTP client of the verbs for nodes, pods and services. Connections lead to a location, whatever the target
    contains, which is path and query and begins with a slash."""

    async def fetch(
        self,
        method: str,
        location: Location,
        target: str,
        headers: Pairs,
        client: Request | None = None,
        *,
        body: IBody | None = None,
    ) -> Reply:
        """Send a request with `body`, piece by piece, as fast as the backend reads it. The response may precede its
        end. With `client` the response ends when that request is not permitted any more. Requests are not repeated.
        Raises UnreachableError and AddressNotAllowedError."""

    async def hand_through(
        self, request: Request, location: Location, target: str, headers: Pairs | None = None
    ) -> Response:
        """Upgrade the protocol, with `headers` or the client's forwardable ones. After a successful upgrade
        the client's connection is joined with the backend's; a refusal is the response. Raises UnreachableError,
        UpgradeError for an invalid response, and AddressNotAllowedError."""


def forwardable_headers(request: Request) -> list[tuple[str, str]]:
    """The client's headers that may be forwarded."""
    out: list[tuple[str, str]] = []
    named = {word.strip().lower() for value in request.headers.get("connection", ()) for word in value.split(",")}
    for name, values in request.headers.items():
        if name not in _NOT_FORWARDED and name not in named and not name.startswith("impersonate-"):
            out.extend((name, value) for value in values)
    if request.credentials.remote:
        out.append(("X-Forwarded-For", request.credentials.remote))
    return out


def _error_text(error: BaseException) -> str:
    """The text of an error; TLS errors are lists of triples."""
    if isinstance(error, SSL.Error) and error.args and isinstance(error.args[0], list):
        return "; ".join(str(reason[-1]) for reason in error.args[0]) or "TLS failed"
    return str(error)


@implementer(IPolicyForHTTPS)
class NodePolicy:
    """TLS policy for nodes, pods and services. `authority` (PEM) verifies server certificates; without it none are
    verified, as in the reference. `own` returns the client certificate and key (PEM; b"" for none)."""

    def __init__(self, *, authority: bytes = b"", own: Callable[[], tuple[bytes, bytes]] = lambda: (b"", b"")) -> None:
        self._trust = trust_roots(authority) if authority else None
        self._own = own

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        own = own_certificate(*self._own())
        if self._trust is not None:
            return optionsForClientTLS(hostname.decode(), trustRoot=self._trust, clientCertificate=own)
        return UnverifiedConnection(own)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamLimits:
    """Connecting may take `connect_seconds`. A backend has `head_seconds` to respond to an upgrade; joined connections
    and forwarded bodies end when neither side has sent anything for `idle_seconds`. Joined connections carry
    `bytes_per_second` in each direction (0: no limit)."""

    connect_seconds: float = _CONNECT_SECONDS
    head_seconds: float = _HEAD_SECONDS
    idle_seconds: float = _IDLE_SECONDS
    bytes_per_second: int = 0


class Upstream:
    """`IUpstream` over real connections, one for each request. With `at` (host and port) they all lead there; the host
    of the location is still who has to respond. `addresses` says which addresses may be connected to; others fail with
    AddressNotAllowedError. `dial` connects, None directly."""

    def __init__(
        self,
        reactor: Any,
        policy: IPolicyForHTTPS,
        *,
        at: tuple[str, int] | None = None,
        dial: Dial | None = None,
        addresses: AddressPolicy = global_unicast,
        limits: UpstreamLimits = UpstreamLimits(),
    ) -> None:
        self._reactor = reactor
        self._addresses = addresses
        self._limits = limits
        self._policy = policy
        self._at = at
        self._dial = dial
        self._agent = EndpointAgent(reactor)

    def _endpoint(self, location: Location) -> Any:
        """Raises UnreachableError for a host that is neither an address nor a name of a host, and for an impossible
        port."""
        to = self._at or (location.host, location.port_number)
        if not 1 <= to[1] <= _MOST_PORT:
            raise UnreachableError(f"dial tcp: address {to[1]}: invalid port")
        for host in (to[0], location.host):
            if not is_host(host):
                raise UnreachableError(f"lookup {errors.quoted(host[:_SHOWN_HOST])}: no such host")
        plain: Any
        if self._addresses is not any_address:
            plain = CheckedEndpoint(
                self._reactor, *to, self._addresses, seconds=self._limits.connect_seconds, dial=self._dial
            )
        elif self._dial is not None:
            plain = self._dial(*to, self._limits.connect_seconds)
        else:
            plain = TcpEndpoint(self._reactor, *to, timeout=self._limits.connect_seconds)
        if not location.secure:
            return plain
        return wrapClientTLS(self._policy.creatorForNetloc(location.host.encode(), location.port_number), plain)

    async def fetch(
        self,
        method: str,
        location: Location,
        target: str,
        headers: Pairs,
        client: Request | None = None,
        *,
        body: IBody | None = None,
    ) -> Reply:
        sent = Headers()
        for name, value in headers:
            sent.addRawHeader(name, value)
        sent.setRawHeaders("Host", [location.authority])
        endpoint = self._endpoint(location)
        idle = IdleLimit(self._reactor, self._limits.idle_seconds)
        producer = None if body is None or body.length == 0 else ForwardedBody(body, idle.touch)
        asking = self._agent.request_at(endpoint, method.encode(), ascii_target(target).encode(), sent, producer)
        idle.expired = asking.cancel
        try:
            response = await asking
        except Exception as error:
            idle.stop()
            if idle.is_over:
                raise UnreachableError("timed out: nothing was sent") from None
            if isinstance(error, RequestGenerationFailed | RequestTransmissionFailed | ResponseFailed):
                raise _forwarding_error(error) from error
            if isinstance(error, ConnectError | ConnectionClosed | DNSLookupError | TimeoutError | SSL.Error):
                raise UnreachableError(_error_text(error)) from error
            raise
        received = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.getAllRawHeaders()
            for value in values
        ]
        return Reply(code=response.code, headers=received, stream=ReplyStream(response, idle, client))

    async def hand_through(
        self, request: Request, location: Location, target: str, headers: Pairs | None = None
    ) -> Response:
        body = await request.body.read(_UPGRADE_BODY)
        endpoint = self._endpoint(location)
        factory = Factory.forProtocol(BackendSide)
        factory.noisy = False
        try:
            far: BackendSide = await endpoint.connect(factory)
        except (ConnectError, ConnectionClosed, DNSLookupError, TimeoutError, SSL.Error) as error:
            raise UnreachableError(_error_text(error)) from error
        pairs = forwardable_headers(request) if headers is None else headers
        try:
            far.transport.write(upgrade_request(request, location.authority, ascii_target(target), pairs, body))
            response = await within(start(far.respond()), self._limits.head_seconds, self._reactor)
            if response.agrees(offered_protocols(request)):
                near = _join(request, far, response)
                near.limit(self._reactor, self._limits.idle_seconds)
                if request.running is not None:
                    near.hold(request.running, request.permitted)
                if self._limits.bytes_per_second:
                    near.slow_down(self._reactor, self._limits.bytes_per_second)
                # The connection was taken over: the returned response is not sent.
                return Response(code=101)
            if response.code < 400:
                raise UpgradeError(f"invalid upgrade response: status code {response.code}")
            data = await within(start(far.refusal(response)), _REFUSAL_SECONDS, self._reactor)
        except defer.TimeoutError:
            raise UpgradeError("timed out waiting for the response to an upgrade") from None
        finally:
            if not far.is_joined:
                far.transport.abortConnection()
        kept = encoded(response.headers)
        content_type = next((value for name, value in response.headers if name.lower() == "content-type"), "")
        return Response(code=response.code, content_type=content_type, headers=kept, body=data, close=True)


def _join(request: Request, far: BackendSide, response: UpgradeResponse) -> Side:
    """Join a client with a backend that has agreed; the client's side."""
    assert request.hijack is not None
    taken = request.hijack()
    near = Side()
    far.is_joined = True
    taken.transport.write(response.block)
    near.transport = taken.transport
    far.join_client(near)
    taken.to(near)
    near.registered()
    far.registered()
    return near


def ascii_target(target: str) -> str:
    """A path and query whose characters beyond ASCII are percent-encoded."""
    return target if target.isascii() else quote(target, safe="!#$%&'()*+,-./:;=?@[]_~")


def is_host(text: str) -> bool:
    """True for an IP address and for the name of a host. Objects give others, which resolvers and headers do not
    take."""
    if _HOST.fullmatch(text) is not None:
        return True
    try:
        ip_address(text)
    except ValueError:
        return False
    return text.isascii()


def _forwarding_error(error: Any) -> Exception:
    """The error to raise for a request that failed: that of reading the client's body, or UnreachableError with the
    reasons."""
    for reason in error.reasons:
        if reason.check(ApiError, CancelledError):
            return cast(Exception, reason.value)
    return UnreachableError("; ".join(_error_text(reason.value) for reason in error.reasons))


@implementer(IBodyProducer)
class ForwardedBody:
    """A client's body on its way to a backend: the next piece is read when the backend has taken the last one. `touch`
    is called for each piece."""

    def __init__(self, body: IBody, touch: Callable[[], object]) -> None:
        self.length: Any = UNKNOWN_LENGTH if body.length is None else body.length
        self._body = body
        self._touch = touch
        self._resumed: Deferred[None] | None = None
        self._sending: Deferred[None] | None = None
        self._stopped = False

    def startProducing(self, consumer: Any) -> Deferred[None]:
        ended: Deferred[None] = Deferred(lambda _: self._stop_sending())
        self._sending = start(self._send(consumer))
        self._sending.addBoth(self._tell, ended)
        return ended

    def _tell(self, result: Any, ended: Deferred[None]) -> None:
        """Report the end of the body, once, and not after its reader has gone."""
        if not self._stopped and not ended.called:
            ended.callback(result)

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()

    async def _send(self, consumer: Any) -> None:
        while True:
            if self._resumed is not None:
                await self._resumed
            data = await self._body.piece()
            if not data:
                return
            self._touch()
            consumer.write(data)

    def pauseProducing(self) -> None:
        if self._resumed is None:
            self._resumed = Deferred()

    def resumeProducing(self) -> None:
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            resumed.callback(None)

    def stopProducing(self) -> None:
        self._stopped = True
        self._stop_sending()


@implementer(IStream)
class ReplyStream(Wire):
    """The body of a response on its way to the client. States: waiting, running (there is a sink), over.

    It ends when nothing is sent until `idle` expires, and when `client` is not permitted any more."""

    transport: Any
    log = Logger()

    def __init__(self, response: Any, idle: IdleLimit, client: Request | None = None) -> None:
        self._response = response
        self._idle = idle
        idle.expired = self._expired
        self._client = client
        self.permitted = () if client is None else client.permitted
        #: What the client is sent when its permission has ended; for protocols that are text.
        self.last_words: Callable[[ApiError], bytes] = lambda _: b""
        self._sink: ISink | None = None
        self._over = False
        self._waiting: Deferred[None] | None = None

    def start(self, sink: ISink) -> None:
        self._sink = sink
        if self._client is not None and self._client.running is not None:
            self._client.running.add(self)
        self._response.deliverBody(self)

    def dataReceived(self, data: bytes) -> None:
        sink = self._sink
        if sink is None or self._over:
            return
        self._idle.touch()
        sink.write(data)
        if sink.buffered > _MOST_BUFFERED and self._waiting is None:
            self.transport.pauseProducing()
            self._waiting = start(self._resume(sink))

    async def _resume(self, sink: ISink) -> None:
        try:
            await sink.writable()
        except (StreamEnded, CancelledError):
            return
        self._waiting = None
        if not self._over:
            self._idle.touch()
            self.transport.resumeProducing()

    def _end(self) -> None:
        self._over = True
        self._idle.stop()
        if self._client is not None and self._client.running is not None:
            self._client.running.discard(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._over or self._sink is None:
            return
        self._end()
        if reason.check(ResponseDone, PotentialDataLoss):
            self._sink.finish()
        else:
            self._sink.abort()

    def fail(self, error: ApiError) -> None:
        """End the response with the last words; without any it is cut, so that it does not look complete."""
        sink = self._sink
        if self._over or sink is None or self._client is None:
            return
        self.log.info(
            "a response of {path} was cut: {why}", path=errors.quoted(self._client.raw_path), why=error.message
        )
        self.stop()
        words = self.last_words(error)
        if words:
            sink.write(words)
            sink.finish()
        else:
            sink.abort()

    def _expired(self) -> None:
        sink = self._sink
        self.stop()
        if sink is not None:
            sink.abort()

    def stop(self) -> None:
        if self._over:
            return
        self._end()
        if self._sink is None:
            self._response.deliverBody(_Unwanted())
        elif self.transport is not None:
            self.transport.stopProducing()


class _Unwanted(Wire):
    """Discards the body of a response."""

    transport: Any

    def connectionMade(self) -> None:
        self.transport.stopProducing()


@implementer(ISink)
class _Collecting:
    """Collects the first `most` bytes of a body. `ended` fires at its end; `is_complete`
    is then True unless the connection broke."""

    buffered = 0

    def __init__(self, most: int) -> None:
        self.data = bytearray()
        self.ended: Deferred[None] = Deferred()
        self.is_complete = False
        self._most = most

    def write(self, data: bytes) -> None:
        self.data += data[: self._most - len(self.data)]

    def writable(self) -> Deferred[None]:
        """Always."""
        return succeed(None)

    def finish(self) -> None:
        self.is_complete = True
        self.ended.callback(None)

    def abort(self) -> None:
        self.ended.callback(None)


async def _collect(reply: Reply, most: int) -> _Collecting:
    sink = _Collecting(most)
    reply.stream.start(sink)
    try:
        await sink.ended
    except CancelledError:
        reply.stream.stop()
        raise
    return sink


async def text(reply: Reply, most: int) -> str:
    """The first `most` bytes of a response body."""
    return (await _collect(reply, most)).data.decode("utf-8", "replace")


async def content(reply: Reply, most: int) -> bytes:
    """The first `most` bytes of a response body. Raises UnreachableError when the connection breaks before its end."""
    sink = await _collect(reply, most)
    if not sink.is_complete:
        raise UnreachableError("the connection was lost before the end of the response")
    return bytes(sink.data)


def encoded(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Response headers that may be forwarded: without those that this server sets itself."""
    return [(name, value) for name, value in pairs if name.lower() not in _OURS]
