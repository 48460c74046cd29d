"""HTTP to nodes, pods and services on behalf of a client: streamed replies, and connections that are handed through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from OpenSSL import SSL
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError, ConnectionClosed, DNSLookupError, TimeoutError
from twisted.internet.protocol import Factory, connectionDone
from twisted.internet.protocol import Protocol as Wire
from twisted.internet.ssl import optionsForClientTLS
from twisted.python.failure import Failure
from twisted.web.client import Agent, ResponseDone, ResponseFailed
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory, IPolicyForHTTPS
from zope.interface import implementer

from orchd.server.pipeline.interfaces import ISink, IStream, Request, Response, StreamEnded
from orchd.txkit.coroutines import start
from orchd.txkit.tls_client import BytesBodyProducer, UnverifiedConnection, own_certificate, trust_roots

#: Bytes that wait for the client before the other side is told to stop sending.
_MOST_BUFFERED = 1 << 20
_CONNECT_SECONDS = 30.0

#: Headers that belong to one connection (RFC 9110, 7.6.1), and what only this server may see of its client.
_NOT_FORWARDED = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade", "content-length", "host", "expect", "authorization",
    )
)  # fmt: skip

_OURS = _NOT_FORWARDED | {"content-type", "date"}

Pairs = Sequence[tuple[str, str]]


class UnreachableError(Exception):
    """Nobody answers there; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer whose body is still to come: either hand on `stream`, or read it with `text`."""

    code: int
    headers: Pairs
    stream: Any  # IStream

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")


class IUpstream(Protocol):
    """How verbs reach others."""

    async def fetch(self, method: str, url: str, headers: Pairs, body: bytes = b"") -> Reply:
        """Send a request. Raises UnreachableError."""

    async def hand_through(self, request: Request, url: str, headers: Pairs | None = None) -> Response:
        """Join the client's connection with one to `url`, which gets `headers` or those that the client may hand on.
        Raises UnreachableError."""


def forwarded(request: Request) -> list[tuple[str, str]]:
    """The client's headers as others may see them."""
    out: list[tuple[str, str]] = []
    named = {word.strip().lower() for value in request.headers.get("connection", ()) for word in value.split(",")}
    for name, values in request.headers.items():
        if name not in _NOT_FORWARDED and name not in named and not name.startswith("impersonate-"):
            out.extend((name, value) for value in values)
    if request.credentials.remote:
        out.append(("X-Forwarded-For", request.credentials.remote))
    return out


def _why(error: BaseException) -> str:
    """An error in words; those of TLS come as a list of triples."""
    if isinstance(error, SSL.Error) and error.args and isinstance(error.args[0], list):
        return "; ".join(str(reason[-1]) for reason in error.args[0]) or "TLS failed"
    return str(error)


def wants_upgrade(request: Request) -> bool:
    """Does the client want another protocol on this connection (RFC 9110, 7.8)?"""
    return any("upgrade" in value.lower() for value in request.headers.get("connection", ()))


@implementer(IPolicyForHTTPS)
class NodePolicy:
    """TLS to nodes, pods and services. `authority` (PEM) signs the certificates of whom it is for; without it any will do,
    as in the reference. `own` gives the certificate and key (PEM; b"" for none) that they are shown."""

    def __init__(self, *, authority: bytes = b"", own: Callable[[], tuple[bytes, bytes]] = lambda: (b"", b"")) -> None:
        self._trust = trust_roots(authority) if authority else None
        self._own = own

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        own = own_certificate(*self._own())
        if self._trust is not None:
            return optionsForClientTLS(hostname.decode(), trustRoot=self._trust, clientCertificate=own)
        return UnverifiedConnection(own)


@implementer(IAgentEndpointFactory)
class Upstream:
    """`IUpstream` over real connections, one for each request. With `at` (host and port) they all lead there, whatever
    the URL says; its host is still who has to answer."""

    def __init__(self, reactor: Any, policy: IPolicyForHTTPS, *, at: tuple[str, int] | None = None) -> None:
        self._reactor = reactor
        self._policy = policy
        self._at = at
        self._agent = Agent.usingEndpointFactory(reactor, self)

    def endpointForURI(self, uri: Any) -> Any:
        """For the agent: where a URL leads."""
        return self._endpoint(uri.scheme == b"https", uri.host.decode(), uri.port)

    def _endpoint(self, secure: bool, host: str, port: int) -> Any:
        plain = HostnameEndpoint(self._reactor, *(self._at or (host, port)), timeout=_CONNECT_SECONDS)
        return wrapClientTLS(self._policy.creatorForNetloc(host.encode(), port), plain) if secure else plain

    async def fetch(self, method: str, url: str, headers: Pairs, body: bytes = b"") -> Reply:
        sent = Headers()
        for name, value in headers:
            sent.addRawHeader(name, value)
        try:
            response = await self._agent.request(method.encode(), url.encode(), sent, BytesBodyProducer(body) if body else None)
        except ResponseFailed as error:
            raise UnreachableError("; ".join(_why(reason.value) for reason in error.reasons)) from error
        except (ConnectError, ConnectionClosed, DNSLookupError, TimeoutError, SSL.Error) as error:
            raise UnreachableError(_why(error)) from error
        received = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.getAllRawHeaders()
            for value in values
        ]
        return Reply(code=response.code, headers=received, stream=ReplyStream(response))

    async def hand_through(self, request: Request, url: str, headers: Pairs | None = None) -> Response:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        endpoint = self._endpoint(secure, parts.hostname or "", parts.port or (443 if secure else 80))
        factory = Factory.forProtocol(_Side)
        factory.noisy = False
        try:
            far: _Side = await endpoint.connect(factory)
        except (ConnectError, ConnectionClosed, DNSLookupError, TimeoutError, SSL.Error) as error:
            raise UnreachableError(_why(error)) from error
        assert request.hijack is not None
        near = _Side()
        taken = request.hijack()
        far.join(near)
        said = forwarded(request) if headers is None else headers
        far.transport.write(_upgrade_head(request, parts.netloc, url.partition(parts.netloc)[2] or "/", said))
        taken.to(near)
        near.registered()
        far.registered()
        # The connection is not ours any longer: whatever we return is not sent.
        return Response(code=101)


def _upgrade_head(request: Request, host: str, path: str, headers: Pairs) -> bytes:
    lines = [f"{request.method} {path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines += [f"Upgrade: {value}" for value in request.headers.get("upgrade", ())]
    lines += ["Connection: Upgrade", "", ""]
    return "\r\n".join(lines).encode("latin-1", "replace")


class _Side(Wire):
    """One of two connections whose bytes go to each other, each as fast as the other takes them."""

    _peer: _Side | None = None
    transport: Any

    def join(self, peer: _Side) -> None:
        self._peer, peer._peer = peer, self

    def registered(self) -> None:
        """Let the peer's transport stop ours when it cannot keep up."""
        if self._peer is not None:
            self.transport.registerProducer(self._peer.transport, True)

    def dataReceived(self, data: bytes) -> None:
        if self._peer is not None:
            self._peer.transport.write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            peer._peer = None
            peer.transport.unregisterProducer()
            peer.transport.loseConnection()


@implementer(IStream)
class ReplyStream(Wire):
    """The body of a reply on its way to the client. States: waiting, running (there is a sink), over."""

    transport: Any

    def __init__(self, response: Any) -> None:
        self._response = response
        self._sink: ISink | None = None
        self._over = False
        self._waiting: Deferred[None] | None = None

    def start(self, sink: ISink) -> None:
        self._sink = sink
        self._response.deliverBody(self)

    def dataReceived(self, data: bytes) -> None:
        sink = self._sink
        if sink is None or self._over:
            return
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
            self.transport.resumeProducing()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._over or self._sink is None:
            return
        self._over = True
        if reason.check(ResponseDone, PotentialDataLoss):
            self._sink.finish()
        else:
            self._sink.abort()

    def stop(self) -> None:
        if self._over:
            return
        self._over = True
        if self._sink is None:
            self._response.deliverBody(_Unwanted())
        elif self.transport is not None:
            self.transport.stopProducing()


class _Unwanted(Wire):
    """The body of a reply that nobody wants to have."""

    transport: Any

    def connectionMade(self) -> None:
        self.transport.stopProducing()


@implementer(ISink)
class _Collecting:
    """Keeps the beginning of a body."""

    buffered = 0

    def __init__(self, most: int) -> None:
        self.data = b""
        self.ended: Deferred[None] = Deferred()
        self._most = most

    def write(self, data: bytes) -> None:
        self.data = (self.data + data)[: self._most]

    async def writable(self) -> None:
        """Always."""

    def finish(self) -> None:
        self.ended.callback(None)

    abort = finish


async def text(reply: Reply, most: int) -> str:
    """The first `most` bytes of a reply's body."""
    sink = _Collecting(most)
    reply.stream.start(sink)
    await sink.ended
    return sink.data.decode("utf-8", "replace")


def encoded(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Response headers that may be handed on: not those that this server's own answer has anyway."""
    return [(name, value) for name, value in pairs if name.lower() not in _OURS]
