"""Connections to others: streamed replies, refusals, and connections handed through, on real sockets."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint, connectProtocol
from twisted.internet.protocol import Factory, Protocol

from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.query import EMPTY
from orchd.server.pipeline.verbs.subresources.upstream import NodePolicy, UnreachableError, Upstream, text

CLOCK: Any = reactor


class Scripted(Protocol):
    """Says `answer` when a head has arrived, then echoes."""

    answer = b""
    received = b""

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        if b"\r\n\r\n" in self.received:
            self.transport.write(data.upper())
            return
        self.received += data
        if b"\r\n\r\n" in self.received:
            self.transport.write(self.answer)
            if b"Content-Length" in self.answer:
                self.transport.loseConnection()


async def listening(answer: bytes) -> tuple[Any, int, list[Scripted]]:
    made: list[Scripted] = []

    class Made(Factory):
        noisy = False

        def buildProtocol(self, addr: object) -> Scripted:
            one = Scripted()
            one.answer = answer
            made.append(one)
            return one

    port: Any = await TCP4ServerEndpoint(CLOCK, 0, interface="127.0.0.1").listen(Made())
    return port, port.getHost().port, made


@pytest_twisted.ensureDeferred
async def test_replies_are_streamed() -> None:
    """Code and headers first, then the body."""
    port, number, made = await listening(b"HTTP/1.1 206 P\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello")
    upstream = Upstream(reactor, NodePolicy())
    reply = await upstream.fetch("PUT", f"http://127.0.0.1:{number}/p?q", [("X-Sent", "1")], b"body")
    assert (reply.code, reply.header("x-a"), await text(reply, 4)) == (206, "b", "hell")
    assert made[0].received.startswith(b"PUT /p?q HTTP/1.1\r\n")
    assert b"\r\n\r\nbody" in made[0].received
    await port.stopListening()


@pytest_twisted.ensureDeferred
async def test_nobody_there() -> None:
    """Refused connections are told as such."""
    port, number, _ = await listening(b"")
    await port.stopListening()
    with pytest.raises(UnreachableError):
        await Upstream(reactor, NodePolicy()).fetch("GET", f"http://127.0.0.1:{number}/", ())


class Client(Protocol):
    """Collects, and tells when something has arrived."""

    def __init__(self) -> None:
        self.data = b""
        self.wanted: tuple[bytes, Deferred[None]] | None = None

    def dataReceived(self, data: bytes) -> None:
        self.data += data
        if self.wanted is not None and self.data.endswith(self.wanted[0]):
            _, waiting = self.wanted
            self.wanted = None
            waiting.callback(None)

    async def until(self, end: bytes) -> None:
        if not self.data.endswith(end):
            waiting: Deferred[None] = Deferred()
            self.wanted = end, waiting
            await waiting


class Taken:
    """What a channel gives for its connection."""

    def __init__(self, side: Taking) -> None:
        self.side = side

    def to(self, protocol: Any) -> None:
        self.side.taker = protocol
        protocol.makeConnection(self.side.transport)


class Taking(Protocol):
    """A connection that is waiting to be taken over."""

    taker: Any = None

    def dataReceived(self, data: bytes) -> None:
        self.taker.dataReceived(data)

    def connectionLost(self, reason: Any = None) -> None:
        self.taker.connectionLost(reason)


@pytest_twisted.ensureDeferred
async def test_connections_are_joined() -> None:
    """The answer to the upgrade and everything after it goes through in both directions; the end of one is the end of both."""
    far, number, made = await listening(b"HTTP/1.1 101 Switching\r\n\r\n")
    sides: list[Taking] = []

    class Sides(Factory):
        noisy = False

        def buildProtocol(self, addr: object) -> Taking:
            sides.append(Taking())
            return sides[-1]

    near: Any = await TCP4ServerEndpoint(CLOCK, 0, interface="127.0.0.1").listen(Sides())
    client = await connectProtocol(TCP4ClientEndpoint(CLOCK, "127.0.0.1", near.getHost().port), Client())
    while not sides or sides[0].transport is None:
        pause: Deferred[None] = Deferred()
        CLOCK.callLater(0, pause.callback, None)
        await pause
    headers = {"upgrade": ("X/1",), "connection": ("Upgrade",), "authorization": ("Bearer s",)}
    request = Request(
        method="POST", path="/", raw_path="/", query=EMPTY, headers=headers, body=None,
        credentials=Credentials(headers=headers), received=0.0, hijack=lambda: Taken(sides[0]),
    )  # fmt: skip
    await Upstream(reactor, NodePolicy()).hand_through(request, f"http://127.0.0.1:{number}/exec?command=ls")
    await client.until(b"\r\n\r\n")
    assert made[0].received.startswith(b"POST /exec?command=ls HTTP/1.1\r\n")
    assert b"Upgrade: X/1\r\nConnection: Upgrade" in made[0].received
    assert b"Bearer" not in made[0].received
    client.transport.write(b"ping")
    await client.until(b"PING")
    gone: Deferred[None] = Deferred()
    made[0].connectionLost = lambda reason=None: gone.callback(None)  # type: ignore[method-assign]  # to hear of the end
    client.transport.loseConnection()
    await gone
    await far.stopListening()
    await near.stopListening()
