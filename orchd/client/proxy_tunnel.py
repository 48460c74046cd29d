"""Connections through an HTTP proxy: a CONNECT tunnel, in which TLS with the server is started."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import SplitResult, unquote

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocolFactory, IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

#: Maximum size of a proxy's response to CONNECT in bytes.
_LONGEST_ANSWER = 16 * 1024


class ProxyError(OSError):
    """The proxy rejected CONNECT, or its response is invalid."""


def tunnel_request(host: str, port: int, proxy: SplitResult) -> bytes:
    """The CONNECT request, with the user and password of the proxy's URL."""
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.username is not None:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append("Proxy-Authorization: Basic " + b64encode(user.encode()).decode("ascii"))
    return "\r\n".join([*lines, "", ""]).encode("ascii")


class _Tunnel(Protocol):
    """Requests the tunnel, then connects the transport to the protocol that `factory` builds."""

    def __init__(self, factory: IProtocolFactory, request: bytes) -> None:
        self._factory = factory
        self._request = request
        self._answer = b""
        self._inner: Any = None
        self.opened: Deferred[Any] = Deferred(self._cancel)

    def _cancel(self, _: Deferred[Any]) -> None:
        self._abort()

    def _abort(self) -> None:
        transport: Any = self.transport
        if transport is not None:
            transport.abortConnection()

    def connectionMade(self) -> None:
        transport: Any = self.transport
        transport.write(self._request)

    def dataReceived(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.dataReceived(data)
            return
        self._answer += data
        head, end, rest = self._answer.partition(b"\r\n\r\n")
        if not end:
            if len(self._answer) > _LONGEST_ANSWER:
                self._refuse("its answer to CONNECT does not end")
            return
        line = head.split(b"\r\n", 1)[0].decode("latin-1")
        words = line.split(None, 2)
        if len(words) < 2 or not words[0].startswith("HTTP/") or words[1] != "200":
            self._refuse(f"answered {line!r} to CONNECT")
            return
        transport: Any = self.transport
        self._inner = self._factory.buildProtocol(transport.getPeer())
        self._inner.makeConnection(transport)
        self.opened.callback(self._inner)
        if rest:
            self._inner.dataReceived(rest)

    def _refuse(self, why: str) -> None:
        self._abort()
        if not self.opened.called:
            self.opened.errback(ProxyError(f"the proxy {why}"))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._inner is not None:
            self._inner.connectionLost(reason)
        elif not self.opened.called:
            self.opened.errback(ProxyError("the proxy closed the connection"))


@implementer(IStreamClientEndpoint)
class TunnelEndpoint:
    """Connects to a server through the proxy behind `endpoint`."""

    def __init__(self, endpoint: Any, request: bytes) -> None:
        self._endpoint = endpoint
        self._request = request

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        tunnel = _Tunnel(protocolFactory, self._request)
        connecting: Deferred[Any] = self._endpoint.connect(Factory.forProtocol(lambda: tunnel))
        return connecting.addCallback(lambda _: tunnel.opened)
