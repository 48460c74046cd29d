"""Frames are sent together at the end of a turn, at once as far as the socket takes them, and in order."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.tcp import Connection
from twisted.internet.testing import StringTransport

from orchd.store.etcd import connection
from orchd.store.grpc.http2 import Http2
from orchd.store.grpc.sending import Sender


class Peer:
    """A connection to a socket, whose reactor does not run: what its transport keeps stays there."""

    def __init__(self) -> None:
        self.clock = Clock()
        one, self.other = socket.socketpair()
        for each in (one, self.other):
            each.setblocking(False)
        self.writing: list[Any] = []
        self.transport = Connection(one, Protocol(), reactor=self)  # type: ignore[arg-type]  # has what is called
        self.transport.connected = True
        self.http = Http2(self, client=True, window=1 << 20, connection_window=1 << 20)  # type: ignore[arg-type]  # nothing is received
        self.sender = Sender(self.http, self.clock)
        self.sender.connected(self.transport)

    def addWriter(self, writer: Any) -> None:
        self.writing.append(writer)

    def removeWriter(self, writer: Any) -> None:
        self.writing.remove(writer)

    def queue(self, data: bytes) -> None:
        self.http._out.append(data)
        self.http.unsent += len(data)

    def received(self) -> bytes:
        data = b""
        try:
            while piece := self.other.recv(1 << 20):
                data += piece
        except BlockingIOError:
            pass
        return data


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.transport.socket.close()
    peer.other.close()


def test_turn_is_sent_together(peer: Peer) -> None:
    """What is queued in one turn is sent at its end, without the transport's help."""
    peer.queue(b"a")
    peer.sender.soon()
    peer.queue(b"b")
    peer.sender.soon()
    assert peer.received() == b""
    peer.clock.advance(0)
    assert peer.received() == b"ab"
    assert not peer.writing
    assert not peer.clock.getDelayedCalls()


def test_much_is_sent_before_the_end_of_the_turn(peer: Peer) -> None:
    """Large frames do not pile up."""
    peer.queue(b"a" * 70_000)
    peer.sender.soon()
    assert len(peer.received()) == 70_000


def test_rest_keeps_its_place(peer: Peer) -> None:
    """What the socket does not take is left to the transport, and later frames are not sent before it."""
    peer.queue(b"a" * 4_000_000)
    peer.sender.now()
    assert peer.writing
    first = peer.received()
    assert set(first) == {ord("a")}
    peer.queue(b"b")
    peer.sender.now()
    assert peer.received() == b""
    rest = b""
    while peer.transport.dataBuffer or peer.transport._tempDataBuffer:
        peer.transport.doWrite()
        rest += peer.received()
    assert first + rest == b"a" * 4_000_000 + b"b"


def test_other_transports_decide_themselves() -> None:
    """A transport that is no socket is written to at once."""
    transport = StringTransport()
    http = Http2(Protocol(), client=True, window=1 << 20, connection_window=1 << 20)  # type: ignore[arg-type]  # as above
    sender = Sender(http, Clock())
    sender.connected(transport)
    http._out.append(b"a")
    sender.soon()
    assert transport.value() == b"a"


@pytest.mark.parametrize("at_once", [True, False])
def test_call_is_sent_when_it_is_made(peer: Peer, at_once: bool) -> None:
    """To a store on this machine, which then works on it during the rest of the turn; elsewhere at the end of the
    turn."""
    client = connection.Connection("a", "http", lambda lost, reason: None, peer.clock, at_once=at_once)
    cast(Any, client).makeConnection(peer.transport)
    peer.clock.advance(0)
    assert peer.received()
    client.call("/s/m", lambda message: None, lambda error: None).send(b"one", last=True)
    client.call("/s/m", lambda message: None, lambda error: None).send(b"two", last=True)
    sent = peer.received()
    peer.clock.advance(0)
    assert (b"two" in sent) is at_once
    assert (b"two" in peer.received()) is not at_once
