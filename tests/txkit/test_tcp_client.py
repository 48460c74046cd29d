"""Outgoing TCP connections."""

from __future__ import annotations

from typing import Any, cast

import pytest_twisted
from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.protocol import Factory, Protocol

from orchd.txkit.tcp_client import TcpEndpoint, address_endpoint


@pytest_twisted.ensureDeferred
async def test_small_pieces_are_sent_at_once() -> None:
    """Connections do not wait for acknowledgements of what they have sent (TCP_NODELAY)."""
    clock = cast(Any, reactor)
    port: Any = await TCP4ServerEndpoint(clock, 0, interface="127.0.0.1").listen(Factory.forProtocol(Protocol))
    to = "127.0.0.1", port.getHost().port
    for endpoint in (TcpEndpoint(clock, *to), address_endpoint(clock, *to, seconds=30)):
        protocol: Any = await endpoint.connect(Factory.forProtocol(Protocol))
        assert protocol.transport.getTcpNoDelay()
        protocol.transport.abortConnection()
    await port.stopListening()
