"""Egress selection: how outgoing connections of a type are made, directly or through an HTTP proxy with CONNECT.

Callers take a `Dial` by the type of what they connect to; a type that is not configured is dialed directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from twisted.internet import ssl
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import UNIXClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IProtocolFactory, IStreamClientEndpoint
from zope.interface import implementer

from orchd.server.outbound.metrics import EgressMetrics
from orchd.txkit.proxy_tunnel import Dial, ProxyError, TunnelEndpoint, connect_request
from orchd.txkit.tcp_client import TcpEndpoint

_PROTOCOL: Final = "http_connect"


class Egress(StrEnum):
    """Types of outgoing connections: to webhooks and other services beside the control plane, to nodes, pods and
    services of the cluster, and to etcd."""

    CONTROL_PLANE = "controlplane"
    CLUSTER = "cluster"
    ETCD = "etcd"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConnectProxy:
    """A proxy at a `url`, or at the path of a Unix socket. `options` makes the TLS options for the host of an https
    URL; it may raise ValueError."""

    url: str = ""
    socket: str = ""
    options: Callable[[str], Any] = ssl.optionsForClientTLS

    @property
    def name(self) -> str:
        """The proxy in error messages."""
        return self.url or f"unix:{self.socket}"

    @property
    def transport(self) -> str:
        """The transport as metrics name it."""
        return "tcp" if self.url else "uds"

    def endpoint(self, reactor: Any, seconds: float) -> Any:
        """The endpoint of the proxy itself."""
        if not self.url:
            return UNIXClientEndpoint(reactor, self.socket, timeout=seconds)
        parts = urlsplit(self.url)
        secure = parts.scheme == "https"
        host = parts.hostname or ""
        plain = TcpEndpoint(reactor, host, parts.port or (443 if secure else 80), timeout=seconds)
        return wrapClientTLS(self.options(host), plain) if secure else plain


class EgressSelector:
    """The dialers of one server. `proxies` are the proxies by type; None stands for direct connections."""

    def __init__(
        self, reactor: Any, proxies: Mapping[Egress, HttpConnectProxy | None], counts_begun: bool = False
    ) -> None:
        self._reactor = reactor
        self._proxies = proxies
        self.metrics = EgressMetrics(counts_begun)
        self.instruments = self.metrics.instruments

    def has(self, egress: Egress) -> bool:
        """True if the type is configured, if only for direct connections."""
        return egress in self._proxies

    def dial(self, egress: Egress) -> Dial | None:
        """The dialer for connections of a type, None for direct ones."""
        proxy = self._proxies.get(egress)
        if proxy is None:
            return None
        return lambda host, port, seconds: _Proxied(self._reactor, proxy, (host, port), seconds, self.metrics)


@implementer(IStreamClientEndpoint)
class _Proxied:
    """Connects to an address through a proxy, and measures it. `connect` fails with ProxyError."""

    def __init__(
        self, reactor: Any, proxy: HttpConnectProxy, to: tuple[str, int], seconds: float, metrics: EgressMetrics
    ) -> None:
        self._reactor = reactor
        self._proxy = proxy
        self._to = to
        self._seconds = seconds
        self._metrics = metrics

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, factory: IProtocolFactory) -> Any:
        proxy, metrics = self._proxy, self._metrics
        began = self._reactor.seconds()
        metrics.begun.add(_PROTOCOL, proxy.transport)
        try:
            connected = await self._tunnel().connect(factory)
        except ProxyError as error:
            metrics.failures.add(_PROTOCOL, proxy.transport, "proxy" if error.connected else "connect")
            raise
        metrics.seconds.observe(self._reactor.seconds() - began, _PROTOCOL, proxy.transport)
        return connected

    def _tunnel(self) -> TunnelEndpoint:
        """Raises ProxyError for a host that cannot be named in a request."""
        proxy = self._proxy
        try:
            request = connect_request(*self._to)
        except UnicodeEncodeError:
            raise ProxyError(f"proxy {proxy.name}: not the name of a host: {self._to[0]!r}") from None
        endpoint = proxy.endpoint(self._reactor, self._seconds)
        return TunnelEndpoint(endpoint, request, proxy=proxy.name, seconds=self._seconds, clock=self._reactor)
