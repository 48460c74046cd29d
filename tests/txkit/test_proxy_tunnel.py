"""Tunnels through a proxy: time limits and cancellation, on a clock."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from orchd.txkit.proxy_tunnel import ProxyError, TunnelEndpoint, connect_request


class Aborted(StringTransport):
    aborted = False

    def abortConnection(self) -> None:
        self.aborted = True


class Place:
    """A proxy that accepts the connection at once, or never."""

    def __init__(self, *, reachable: bool) -> None:
        self.clock, self.transport, self._reachable = Clock(), Aborted(), reachable  # type: ignore[no-untyped-call]
        self.tunnel: Any = None
        endpoint = TunnelEndpoint(self, connect_request("::1", 443), proxy="http://p:1", seconds=5, clock=self.clock)
        self.made: list[Any] = []
        self.opening = endpoint.connect(Factory.forProtocol(Protocol))
        self.opening.addBoth(self.made.append)

    def connect(self, factory: Factory) -> Deferred[Any]:
        if not self._reachable:
            return Deferred()
        self.tunnel = factory.buildProtocol(None)
        self.tunnel.makeConnection(self.transport)
        return succeed(self.tunnel)


@pytest.mark.parametrize(
    ("reachable", "why"), [(True, "no response to CONNECT within 5 seconds"), (False, "the connection timed out")]
)
def test_handshake_timeout_closes_the_connection(reachable: bool, why: str) -> None:
    """The connection to a proxy that does not answer in time is closed."""
    place = Place(reachable=reachable)
    place.clock.advance(4.9)
    assert not place.made
    place.clock.advance(0.1)
    error = place.made[0].value
    assert isinstance(error, ProxyError)
    assert (str(error), error.connected) == (f"proxy http://p:1: {why}", reachable)
    assert place.transport.aborted == reachable
    assert not place.clock.getDelayedCalls()


def test_cancelling_closes_the_connection() -> None:
    """A cancelled caller leaves no connection."""
    place = Place(reachable=True)
    place.opening.cancel()
    assert place.made[0].check(CancelledError)
    assert place.transport.aborted
    assert not place.clock.getDelayedCalls()


def test_bytes_after_the_tunnel() -> None:
    """A response in pieces opens the tunnel; further bytes, and the end of the connection, go to the protocol."""
    place = Place(reachable=True)
    written: bytes = place.transport.value()  # type: ignore[no-untyped-call]
    assert written == b"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"
    for part in (b"HTTP/1.1 200 Conn", b"ected\r\nVia: p\r\n\r", b"\n"):
        place.tunnel.dataReceived(part)
    (inner,) = place.made
    heard: list[Any] = []
    inner.dataReceived = heard.append
    inner.connectionLost = heard.append
    place.tunnel.dataReceived(b"hello")
    place.tunnel.connectionLost("gone")
    assert heard == [b"hello", "gone"]
