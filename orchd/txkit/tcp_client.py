"""Outgoing TCP connections. They send small pieces at once (TCP_NODELAY): otherwise the system keeps the second of two
until the far side has acknowledged the first, which on Linux it may do 40 ms later."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.interfaces import IProtocol, IProtocolFactory, ITCPTransport


class _SendingAtOnce:
    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        connecting: Deferred[IProtocol] = super().connect(protocolFactory)  # type: ignore[misc]  # of an endpoint
        return connecting.addCallback(_send_at_once)


def _send_at_once(protocol: Any) -> Any:
    if ITCPTransport.providedBy(protocol.transport):
        protocol.transport.setTcpNoDelay(True)
    return protocol


class TcpEndpoint(_SendingAtOnce, HostnameEndpoint):
    """Connects to a host and port."""


class _Ipv4Endpoint(_SendingAtOnce, TCP4ClientEndpoint):
    pass


class _Ipv6Endpoint(_SendingAtOnce, TCP6ClientEndpoint):
    pass


def address_endpoint(reactor: Any, address: str, port: int, *, seconds: float) -> Any:
    """Connects to an IP address and port, without a resolver, within so many seconds."""
    sort = _Ipv6Endpoint if ":" in address else _Ipv4Endpoint
    return sort(reactor, address, port, timeout=seconds)
