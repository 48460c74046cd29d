"""Bodies are passed on piece by piece, in both directions, behind HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint, connectProtocol
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from zope.interface import implementer

from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.authz.messages import forbidden
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.http2 import Http2Factory
from orchd.server.pipeline.interfaces import IPipeline, Request, Response
from orchd.server.pipeline.running import REVIEW_EVERY, RunningStreams
from orchd.server.pipeline.verbs.subresources.addresses import any_address
from orchd.server.pipeline.verbs.subresources.locations import Location
from orchd.server.pipeline.verbs.subresources.upstream import NodePolicy, UnreachableError, Upstream, UpstreamLimits

CLOCK: Any = reactor
#: More than all buffers of a connection hold.
SIZE = 16 << 20
_LIMITS = UpstreamLimits()


class Backend(Protocol):
    """Echoes the body of one request, or does what `mode` says."""

    mode = "echo"
    transport: Any

    def __init__(self) -> None:
        self.received = 0
        self.head = b""
        self.lost: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        self.transport.registerProducer(self.transport, True)

    def dataReceived(self, data: bytes) -> None:
        if b"\r\n\r\n" not in self.head:
            self.head += data
            if b"\r\n\r\n" not in self.head:
                return
            self.head, _, data = self.head.partition(b"\r\n\r\n")
            self.head += b"\r\n\r\n"
            if self.mode == "early":
                self.transport.write(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
            elif self.mode == "stalled":
                self.transport.pauseProducing()
            elif self.mode == "log":
                self.transport.write(b"HTTP/1.1 200 OK\r\n\r\nline")
            else:
                # The end of the connection ends the response.
                self.transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        self.received += len(data)
        if self.mode == "echo":
            self.transport.write(data)
            if self.received == SIZE or data.endswith(b"0\r\n\r\n"):
                self.transport.unregisterProducer()
                self.transport.loseConnection()

    def connectionLost(self, reason: Any = None) -> None:
        self.lost.callback(None)


class Authorizer:
    verdict = Verdict(decision=Decision.ALLOW)

    async def authorize(self, action: Action) -> Verdict:
        return self.verdict


@implementer(IPipeline)
class Forwarding:
    """A pipeline that passes every request on to the backend."""

    def __init__(self, port: int, limits: UpstreamLimits) -> None:
        self.upstream = Upstream(reactor, NodePolicy(), addresses=any_address, limits=limits)
        self.location = Location("http", "127.0.0.1", port)
        self.clock = Clock()
        self.authorizer = Authorizer()
        self.running: Any = RunningStreams(self.clock, self.authorizer, forbidden)  # type: ignore[arg-type]
        self.errors: list[str] = []

    async def handle(self, request: Request) -> Response:
        request.running, request.permitted = self.running, (Action(user=User(name="u"), verb="get", resource="pods"),)
        try:
            reply = await self.upstream.fetch(
                request.method, self.location, request.raw_path, (), request, body=request.body
            )
        except UnreachableError as error:
            self.errors.append(str(error))
            return Response(code=503)
        if request.path == "/log":
            reply.stream.last_words = lambda error: error.message.encode()
        return Response(code=reply.code, content_type="", stream=reply.stream)


class Http1(Protocol):
    """Sends one request with a body of `SIZE` bytes, as fast as it is taken."""

    transport: Any

    def __init__(self) -> None:
        self.body = 0
        self.wire = b""
        self.ended: Deferred[None] = Deferred()

    def ask(self, method: str, size: int, path: str = "/x") -> None:
        self.left = size
        self.transport.write(f"{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n".encode())
        if size:
            self.transport.registerProducer(self, False)

    def resumeProducing(self) -> None:
        piece = min(self.left, 1 << 18)
        self.left -= piece
        self.transport.write(b"x" * piece)
        if not self.left:
            self.transport.unregisterProducer()

    def stopProducing(self) -> None:
        """The connection is lost."""

    def dataReceived(self, data: bytes) -> None:
        self.wire = (self.wire + data)[-2000:] if self.body else self.wire + data
        self.body += len(data)
        if self.wire.endswith(b"0\r\n\r\n") and not self.ended.called:
            self.ended.callback(None)

    def connectionLost(self, reason: Any = None) -> None:
        if not self.ended.called:
            self.ended.callback(None)


class Http2(Http1):
    """The same over HTTP/2."""

    def connectionMade(self) -> None:
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.h2.initiate_connection()
        self.reset: Any = None
        self.transport.write(self.h2.data_to_send())

    def ask(self, method: str, size: int, path: str = "/x") -> None:
        self.left = size
        head = [(":method", method), (":path", path), (":scheme", "https"), (":authority", "h")]
        self.h2.send_headers(1, head, end_stream=not size)
        self.push()

    def push(self) -> None:
        while self.left and (room := min(self.h2.local_flow_control_window(1), 16384, self.left)):
            self.left -= room
            self.h2.send_data(1, b"x" * room, end_stream=not self.left)
        self.transport.write(self.h2.data_to_send())

    def dataReceived(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                self.wire += event.data or b"" if len(self.wire) < 2000 else b""
                self.body += len(event.data or b"")
                self.h2.acknowledge_received_data(event.flow_controlled_length or 0, 1)
            elif isinstance(event, h2.events.ResponseReceived):
                self.wire += b"%r" % (event.headers,)
            elif isinstance(event, h2.events.StreamReset):
                self.reset, self.left = event.error_code, 0
                self._end()
            elif isinstance(event, h2.events.StreamEnded):
                self.left = 0
                self._end()
        self.push()

    def _end(self) -> None:
        if not self.ended.called:
            self.ended.callback(None)


class Meeting:
    """A client, a server that forwards, and its backend."""

    async def begin(self, version: type[Http1], mode: str, limits: UpstreamLimits) -> Meeting:
        self.backends: list[Backend] = []
        backends = self.backends

        class Backends(Factory):
            noisy = False

            def buildProtocol(self, addr: object) -> Backend:
                backends.append(Backend())
                backends[-1].mode = mode
                return backends[-1]

        self.far: Any = await TCP4ServerEndpoint(CLOCK, 0, interface="127.0.0.1").listen(Backends())
        self.pipeline = Forwarding(self.far.getHost().port, limits)
        one, two = ApiServerFactory(self.pipeline, CLOCK), Http2Factory(self.pipeline, CLOCK, streams=100)
        factory = two if version is Http2 else one
        self.near: Any = await TCP4ServerEndpoint(CLOCK, 0, interface="127.0.0.1").listen(factory)
        endpoint = TCP4ClientEndpoint(CLOCK, "127.0.0.1", self.near.getHost().port)
        self.client: Any = await connectProtocol(endpoint, version())
        return self

    async def end(self) -> None:
        self.client.transport.abortConnection()
        for one in self.backends:
            await one.lost
        await self.far.stopListening()
        await self.near.stopListening()


Begin = Callable[..., Any]


@pytest_twisted.async_yield_fixture
async def meet() -> AsyncIterator[Begin]:
    met: list[Meeting] = []

    async def begin(version: type[Http1], mode: str, limits: UpstreamLimits = _LIMITS) -> Meeting:
        met.append(await Meeting().begin(version, mode, limits))
        return met[-1]

    yield begin
    for one in met:
        await one.end()


async def until(fact: Callable[[], object]) -> None:
    while not fact():
        pause: Deferred[None] = Deferred()
        CLOCK.callLater(0, pause.callback, None)
        await pause


VERSIONS = pytest.mark.parametrize("version", [Http1, Http2])


@VERSIONS
@pytest_twisted.ensureDeferred
async def test_bodies_flow_in_both_directions_at_once(version: type[Http1], meet: Begin) -> None:
    """A backend that answers while it reads gets a body of any size, and its response reaches the client meanwhile."""
    meeting = await meet(version, "echo")
    meeting.client.ask("POST", SIZE)
    await meeting.client.ended
    assert meeting.backends[0].received >= SIZE and meeting.client.body >= SIZE
    known = b"Content-Length: %d" % SIZE if version is Http1 else b"Transfer-Encoding: chunked"
    assert known.lower() in meeting.backends[0].head.lower()


@VERSIONS
@pytest_twisted.ensureDeferred
async def test_early_responses_reach_the_client(version: type[Http1], meet: Begin) -> None:
    """A response before the end of the body is passed on; the rest of the body is not sent."""
    meeting = await meet(version, "early")
    meeting.client.ask("POST", SIZE)
    await meeting.client.ended
    assert b"403" in meeting.client.wire and b"no" in meeting.client.wire
    assert meeting.backends[0].received < SIZE


@VERSIONS
@pytest_twisted.ensureDeferred
async def test_backend_is_left_with_the_client(version: type[Http1], meet: Begin) -> None:
    """When a client leaves in the middle of a body, so does the request to the backend."""
    meeting = await meet(version, "stalled")
    meeting.client.ask("POST", SIZE)
    await until(lambda: meeting.backends and meeting.backends[0].head)
    assert meeting.client.left
    meeting.client.transport.abortConnection()
    meeting.backends[0].transport.resumeProducing()
    await meeting.backends[0].lost
    assert meeting.backends[0].received < SIZE


@VERSIONS
@pytest_twisted.ensureDeferred
async def test_idle_bodies_are_cut(version: type[Http1], meet: Begin) -> None:
    """A request of which neither side sends anything ends after the limit."""
    meeting = await meet(version, "stalled", UpstreamLimits(idle_seconds=0.2))
    meeting.client.ask("GET", 0)
    await until(lambda: meeting.pipeline.errors)
    assert meeting.pipeline.errors == ["timed out: nothing was sent"]
    meeting.backends[0].transport.resumeProducing()


@pytest.mark.parametrize("path", ["/log", "/other"])
@VERSIONS
@pytest_twisted.ensureDeferred
async def test_response_ends_with_its_permission(version: type[Http1], path: str, meet: Begin) -> None:
    """A response is reviewed each minute, and ends when it is not allowed any more: a log with a reason, others are
    cut."""
    meeting = await meet(version, "log")
    meeting.client.ask("GET", 0, path)
    await until(lambda: b"line" in meeting.client.wire)
    meeting.pipeline.clock.advance(REVIEW_EVERY)
    assert len(meeting.pipeline.running) == 1
    meeting.pipeline.authorizer.verdict = Verdict(decision=Decision.NO_OPINION, reason="gone")
    meeting.pipeline.clock.advance(REVIEW_EVERY)
    await meeting.client.ended
    assert (b"is forbidden" in meeting.client.wire) is (path == "/log")
    complete = meeting.client.wire.endswith(b"0\r\n\r\n") if version is Http1 else meeting.client.reset is None
    assert complete is (path == "/log") and len(meeting.pipeline.running) == 0
    await meeting.backends[0].lost
