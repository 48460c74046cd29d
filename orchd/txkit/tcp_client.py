"""Outgoing TCP connections."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IProtocol, IProtocolFactory, ITCPTransport


class TcpEndpoint(HostnameEndpoint):
    """Connects to a host and port, and sends small pieces at once (TCP_NODELAY): otherwise the system keeps the second
    of two until the far side has acknowledged the first, which on Linux it may do 40 ms later."""

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        return super().connect(protocolFactory).addCallback(_send_at_once)


def _send_at_once(protocol: Any) -> Any:
    if ITCPTransport.providedBy(protocol.transport):
        protocol.transport.setTcpNoDelay(True)
    return protocol
