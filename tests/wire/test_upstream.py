"""Connections to backends: streamed responses, errors, upgrades, and forbidden addresses, on real sockets."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint, connectProtocol
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock

from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.authz.messages import forbidden
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.query import EMPTY
from orchd.server.pipeline.running import REVIEW_EVERY, RunningStreams
from orchd.server.pipeline.verbs.subresources.addresses import AddressNotAllowedError, any_address, global_unicast
from orchd.server.pipeline.verbs.subresources.locations import Location
from orchd.server.pipeline.verbs.subresources.upgrade import MOST_HEAD, MOST_REFUSAL, UpgradeError
from orchd.server.pipeline.verbs.subresources.upstream import (
    NodePolicy,
    UnreachableError,
    Upstream,
    UpstreamLimits,
    text,
)
from orchd.testing.doubles.server import BytesBody
from orchd.txkit.coroutines import start
from tests.waiting import until_true

CLOCK: Any = reactor


class Scripted(Protocol):
    """Sends `response` when a head has arrived, then echoes."""

    response = b""
    received = b""
    #: Whether the connection is closed after the response.
    closes = False

    def __init__(self) -> None:
        self.asked: Deferred[None] = Deferred()
        self.lost: Deferred[None] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        if b"\r\n\r\n" in self.received:
            self.received += data
            self.transport.write(data.upper())
            return
        self.received += data
        if b"\r\n\r\n" in self.received:
            self.asked.callback(None)
            self.transport.write(self.response)
            if self.closes:
                self.transport.loseConnection()

    def connectionLost(self, reason: Any = None) -> None:
        self.lost.callback(None)


async def listening(response: bytes, *, closes: bool = False) -> tuple[Any, int, list[Scripted]]:
    servers: list[Scripted] = []

    class ScriptedFactory(Factory):
        noisy = False

        def buildProtocol(self, addr: object) -> Scripted:
            one = Scripted()
            one.response, one.closes = response, closes
            servers.append(one)
            return one

    port: Any = await TCP4ServerEndpoint(CLOCK, 0, interface="127.0.0.1").listen(ScriptedFactory())
    return port, port.getHost().port, servers


@pytest_twisted.ensureDeferred
async def test_responses_are_streamed() -> None:
    """Code and headers come first, then the body."""
    port, number, servers = await listening(b"HTTP/1.1 206 P\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello", closes=True)
    upstream = Upstream(reactor, NodePolicy(), addresses=any_address)
    reply = await upstream.fetch(
        "PUT", Location("http", "127.0.0.1", number), "/p?q", [("X-Sent", "1")], body=BytesBody(b"body")
    )
    assert (reply.code, reply.header("x-a"), await text(reply, 4)) == (206, "b", "hell")
    assert servers[0].received.startswith(b"PUT /p?q HTTP/1.1\r\n")
    assert b"\r\n\r\nbody" in servers[0].received
    await port.stopListening()


@pytest_twisted.ensureDeferred
async def test_refused_connection_is_reported() -> None:
    """Refused connections are reported as such."""
    port, number, _ = await listening(b"")
    await port.stopListening()
    with pytest.raises(UnreachableError):
        await Upstream(reactor, NodePolicy(), addresses=any_address).fetch(
            "GET", Location("http", "127.0.0.1", number), "/", ()
        )


@pytest.mark.parametrize("target", ["/@192.0.2.1/", "//192.0.2.1/x", "//[", "/a#b", "/;p", "/%00?q=//[", "/?"])
@pytest_twisted.ensureDeferred
async def test_targets_do_not_lead_elsewhere(target: str) -> None:
    """The connection is made to the location, and the target is sent as it is."""
    port, number, servers = await listening(b"HTTP/1.1 204 N\r\n\r\n", closes=True)
    upstream = Upstream(reactor, NodePolicy(), addresses=any_address)
    reply = await upstream.fetch("GET", Location("http", "127.0.0.1", number), target, ())
    assert reply.code == 204
    first, *lines = servers[0].received.split(b"\r\n")
    assert (first, lines.count(b"Host: 127.0.0.1:%d" % number)) == (f"GET {target} HTTP/1.1".encode(), 1)
    reply.stream.stop()
    await port.stopListening()


WRONG_HOSTS = [
    "",
    "a b",
    "a@b",
    "a/b",
    "h\u00f6st",
    "a\r\nX: y",
    "127.0.0.1:80",
    "[::1]",
    "a" * 64,
    "a." * 127 + "a",
    "a..b",
    "127.0.0.1@b",
]


@pytest.mark.parametrize("addresses", [any_address, global_unicast])
@pytest.mark.parametrize(
    ("host", "port"), [*((host, 80) for host in WRONG_HOSTS), ("127.0.0.1", 65536), ("127.0.0.1", -1)]
)
@pytest_twisted.ensureDeferred
async def test_impossible_locations_are_unreachable(host: str, port: int, addresses: Any) -> None:
    """Hosts of objects that are neither names nor addresses, and ports out of range, are reported as unreachable."""
    for secure in ("http", "https"):
        upstream, location = Upstream(reactor, NodePolicy(), addresses=addresses), Location(secure, host, port)
        with pytest.raises(UnreachableError, match=r"no such host|invalid port"):
            await upstream.fetch("GET", location, "/", ())
        with pytest.raises(UnreachableError, match=r"no such host|invalid port"):
            await upstream.hand_through(Meeting().request(), location, "/")


class Client(Protocol):
    """Collects received bytes, and notifies of their arrival."""

    def __init__(self) -> None:
        self.data = b""
        self.expected_end: tuple[bytes, Deferred[None]] | None = None

    def dataReceived(self, data: bytes) -> None:
        self.data += data
        if self.expected_end is not None and self.data.endswith(self.expected_end[0]):
            _, waiting = self.expected_end
            self.expected_end = None
            waiting.callback(None)

    async def until(self, end: bytes) -> None:
        if not self.data.endswith(end):
            waiting: Deferred[None] = Deferred()
            self.expected_end = end, waiting
            await waiting


class Takeover:
    """What a channel provides for its connection."""

    def __init__(self, side: Connection) -> None:
        self.side = side
        self.transport: Any = side.transport

    def to(self, protocol: Any) -> None:
        self.side.taker = protocol
        protocol.makeConnection(self.side.transport)


class Connection(Protocol):
    """A connection that waits to be taken over."""

    taker: Any = None

    def dataReceived(self, data: bytes) -> None:
        self.taker.dataReceived(data)

    def connectionLost(self, reason: Any = None) -> None:
        if self.taker is not None:
            self.taker.connectionLost(reason)


UPGRADE = {"upgrade": ("X/1",), "connection": ("Upgrade",), "authorization": ("Bearer s",)}
AGREED = b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x/1\r\n\r\n"


class Meeting:
    """A client whose request asks for an upgrade, its connection, and a scripted backend."""

    async def begin(self, response: bytes, *, closes: bool = False) -> Meeting:
        self.far, self.number, self.backends = await listening(response, closes=closes)
        self.sides: list[Connection] = []
        self.hijacked = 0
        sides = self.sides

        class Sides(Factory):
            noisy = False

            def buildProtocol(self, addr: object) -> Connection:
                sides.append(Connection())
                return sides[-1]

        self.near: Any = await TCP4ServerEndpoint(CLOCK, 0, interface="127.0.0.1").listen(Sides())
        self.client = await connectProtocol(TCP4ClientEndpoint(CLOCK, "127.0.0.1", self.near.getHost().port), Client())
        await until_true(CLOCK, lambda: sides and sides[0].transport is not None)
        return self

    def hijack(self) -> Takeover:
        self.hijacked += 1
        return Takeover(self.sides[0])

    def request(self, headers: Any = None, body: bytes = b"") -> Request:
        headers = UPGRADE if headers is None else headers
        return Request(
            method="POST", path="/", raw_path="/", query=EMPTY, headers=headers, body=BytesBody(body),
            credentials=Credentials(headers=headers), received=0.0, hijack=self.hijack,
        )  # fmt: skip

    async def ask(self, path: str = "/exec?command=ls", seconds: float = 30.0, **more: Any) -> Response:
        upstream = Upstream(reactor, NodePolicy(), addresses=any_address, limits=UpstreamLimits(head_seconds=seconds))
        return await upstream.hand_through(self.request(**more), Location("http", "127.0.0.1", self.number), path)

    async def end(self) -> None:
        self.client.transport.loseConnection()
        for one in self.backends:
            await one.lost
        await self.far.stopListening()
        await self.near.stopListening()


@pytest_twisted.ensureDeferred
async def test_upgraded_connections_are_joined() -> None:
    """The response to the upgrade and all later bytes pass in both directions; when one side closes, both are
    closed."""
    meeting = await Meeting().begin(AGREED + b"early")
    assert (await meeting.ask()).code == 101
    await meeting.client.until(b"early")
    assert meeting.client.data == AGREED + b"early"
    received = meeting.backends[0].received
    assert received.startswith(b"POST /exec?command=ls HTTP/1.1\r\n")
    assert b"Upgrade: X/1\r\nConnection: Upgrade\r\n\r\n" in received
    assert b"Bearer" not in received and b"Content-Length" not in received
    meeting.client.transport.write(b"ping")
    await meeting.client.until(b"PING")
    await meeting.end()


@pytest_twisted.ensureDeferred
async def test_upgraded_connection_ends_with_its_permission() -> None:
    """Joined connections are reviewed each minute, and cut when the request is not allowed any more."""

    class Authorizer:
        verdict = Verdict(decision=Decision.ALLOW)

        async def authorize(self, action: Action) -> Verdict:
            return self.verdict

    meeting, clock, authorizer = await Meeting().begin(AGREED), Clock(), Authorizer()
    running: Any = RunningStreams(clock, authorizer, forbidden)  # type: ignore[arg-type]  # as far as it is asked
    request = meeting.request()
    request.running, request.permitted = running, (Action(user=User(name="u"), verb="create", resource="pods"),)
    upstream = Upstream(reactor, NodePolicy(), addresses=any_address)
    await upstream.hand_through(request, Location("http", "127.0.0.1", meeting.number), "/exec")
    await meeting.client.until(AGREED)
    clock.advance(REVIEW_EVERY)
    assert len(running) == 1
    authorizer.verdict = Verdict(decision=Decision.NO_OPINION)
    clock.advance(REVIEW_EVERY)
    await meeting.backends[0].lost
    assert len(running) == 0
    await meeting.end()


@pytest_twisted.ensureDeferred
async def test_interim_responses_are_dropped() -> None:
    """Only the final response is used."""
    meeting = await Meeting().begin(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n" + AGREED)
    assert (await meeting.ask()).code == 101
    await meeting.client.until(b"x/1\r\n\r\n")
    assert meeting.client.data == AGREED
    await meeting.end()


@pytest_twisted.ensureDeferred
async def test_declared_body_belongs_to_the_request() -> None:
    """A body that the client declared belongs to the request, with its length, and not to the upgraded connection."""
    meeting = await Meeting().begin(AGREED)
    await meeting.ask(body=b"GET / HTTP/1.1\r\n\r\n")
    await until_true(CLOCK, lambda: b"GET / HTTP/1.1\r\n\r\n" in meeting.backends[0].received)
    assert b"Content-Length: 18\r\n\r\nGET / HTTP/1.1\r\n\r\n" in meeting.backends[0].received
    await meeting.end()


REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nX-A: b\r\n"


@pytest.mark.parametrize(
    ("framing", "closes"),
    [
        (b"Content-Length: 2\r\n\r\nno", False),
        (b"Transfer-Encoding: chunked\r\n\r\n1\r\nn\r\n1\r\no\r\n0\r\n\r\n", False),
        (b"\r\nno", True),
    ],
)
@pytest_twisted.ensureDeferred
async def test_refused_upgrade_is_passed_on(framing: bytes, closes: bool) -> None:
    """The backend's response is passed on with our own framing; both connections are closed."""
    meeting = await Meeting().begin(REFUSED + framing, closes=closes)
    response = await meeting.ask()
    assert (response.code, response.content_type, response.body, response.close) == (403, "text/plain", b"no", True)
    assert response.headers == [("X-A", "b")]
    await meeting.backends[0].lost
    assert meeting.hijacked == 0
    await meeting.end()


@pytest.mark.parametrize(
    ("response", "why"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "invalid upgrade response: status code 200"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "invalid upgrade response: status code 302"),
        (b"HTTP/1.1 101 S\r\n\r\n", "invalid upgrade response: status code 101"),
        (b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "invalid upgrade response: status code 101"),
        (b"HTTP/1.1 101 S\r\nUpgrade: X/1\r\n\r\n", "invalid upgrade response: status code 101"),
        (b"SSH-2.0\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 101 S\r\nA b\r\n\r\n", "malformed MIME header line"),
        (b"HTTP/1.1 101 S\r\nA: b\nB: c\r\n\r\n", "malformed MIME header line"),
        (b"HTTP/1.1 101 S\r\n" + b"a: b\r\n" * MOST_HEAD, "the head of the response to an upgrade is too large"),
        (b"HTTP/1.1 100 S\r\n\r\n" * MOST_HEAD, "the head of the response to an upgrade is too large"),
        (REFUSED + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", "bad Content-Length"),
        (REFUSED + b"Content-Length: -2\r\n\r\n", "bad Content-Length"),
        (REFUSED + b"Content-Length: 99999999\r\n\r\n", "the response to an upgrade is too large"),
        (REFUSED + b"\r\n" + b"x" * (MOST_REFUSAL + 1), "the response to an upgrade is too large"),
        (REFUSED + b"Transfer-Encoding: gzip\r\n\r\n", "unsupported transfer encoding"),
        (REFUSED + b"Transfer-Encoding: chunked\r\n\r\nx\r\n", "invalid byte in chunk length"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_invalid_upgrade_responses_are_errors(response: bytes, why: str) -> None:
    """A response that is neither a switch to an offered protocol nor a rejection is an error."""
    meeting = await Meeting().begin(response)
    with pytest.raises(UpgradeError, match=why):
        await meeting.ask()
    await meeting.backends[0].lost
    assert meeting.hijacked == 0
    await meeting.end()


@pytest_twisted.ensureDeferred
async def test_silent_backend_is_an_error() -> None:
    """A backend that does not respond, or closes without a response, is an error."""
    meeting = await Meeting().begin(b"HTTP/1.1 101")
    with pytest.raises(UpgradeError, match="timed out"):
        await meeting.ask(seconds=0.01)
    await meeting.end()
    meeting = await Meeting().begin(b"HTTP/1.1 101", closes=True)
    with pytest.raises(UpgradeError, match="unexpected EOF"):
        await meeting.ask()
    await meeting.end()


@pytest_twisted.ensureDeferred
async def test_disconnect_closes_the_backend_connection() -> None:
    """The end of the request closes the connection to the backend."""
    meeting = await Meeting().begin(b"")
    asking = start(meeting.ask())
    asking.addErrback(lambda failure: failure.trap(CancelledError))
    await until_true(CLOCK, lambda: meeting.backends)
    await meeting.backends[0].asked
    asking.cancel()
    await meeting.backends[0].lost
    await meeting.end()


@pytest_twisted.ensureDeferred
async def test_header_values_are_escaped() -> None:
    """A line break in a value, such as a user's name, is escaped; non-ASCII characters in a path are escaped."""
    meeting = await Meeting().begin(AGREED)
    upstream = Upstream(reactor, NodePolicy(), addresses=any_address)
    named = [("X-Remote-User", "a\r\nX-Remote-Group: system:masters")]
    await upstream.hand_through(meeting.request(), Location("http", "127.0.0.1", meeting.number), "/\u010d", named)
    head = meeting.backends[0].received
    assert head.startswith(b"POST /%C4%8D HTTP/1.1\r\n")
    assert b"X-Remote-User: a  X-Remote-Group: system:masters\r\n" in head
    await meeting.end()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost", "0x7f.1", "2130706433", "0"])
@pytest_twisted.ensureDeferred
async def test_forbidden_addresses_are_refused(host: str) -> None:
    """Addresses of this machine are refused in any spelling unless allowed."""
    port, number, servers = await listening(b"")
    upstream = Upstream(reactor, NodePolicy())
    location = Location("http", host, number)
    with pytest.raises(AddressNotAllowedError):
        await upstream.fetch("GET", location, "/", ())
    meeting = Meeting()
    with pytest.raises(AddressNotAllowedError):
        await upstream.hand_through(meeting.request(), location, "/")
    assert not servers
    await port.stopListening()
