"""Connections through an HTTP proxy: a CONNECT tunnel, in which TLS with the server is started."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, unquote

from OpenSSL import SSL
from service_identity import VerificationError
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.internet.interfaces import IProtocolFactory, IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.txkit.failures import describe
from orchd.txkit.timeouts import within

#: Maximum size of a proxy's response to CONNECT in bytes.
LONGEST_RESPONSE = 16 * 1024

#: Makes the endpoint of a host and port that are reached within a number of seconds.
Dial = Callable[[str, int, float], IStreamClientEndpoint]


class ProxyError(ConnectError, OSError):
    """No tunnel through the proxy; the text names the proxy and says why. `connected` is False when the proxy itself
    was not reached."""

    def __init__(self, text: str, *, connected: bool = True) -> None:
        OSError.__init__(self, text)
        self.osError = None
        self.connected = connected

    def __str__(self) -> str:
        return str(self.args[0])


def _error_text(error: BaseException) -> str:
    """Why the proxy was not reached."""
    return (
        str(error).rstrip(".")
        if isinstance(error, ConnectError | DNSLookupError)
        else describe(error, ("the proxy", 0))
    )


def connect_request(host: str, port: int, *more: str) -> bytes:
    """The CONNECT request for a host and port, with header lines."""
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return "\r\n".join([f"CONNECT {target} HTTP/1.1", f"Host: {target}", *more, "", ""]).encode("ascii")


def tunnel_request(host: str, port: int, proxy: SplitResult) -> bytes:
    """The CONNECT request, with the user and password of the proxy's URL."""
    if proxy.username is None:
        return connect_request(host, port)
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return connect_request(host, port, "Proxy-Authorization: Basic " + b64encode(user.encode()).decode("ascii"))


class _Tunnel(Protocol):
    """Requests the tunnel, then connects the transport to the protocol that `factory` builds. `opened` fires with that
    protocol, or fails with ProxyError."""

    def __init__(self, factory: IProtocolFactory, request: bytes, proxy: str) -> None:
        self._factory = factory
        self._request = request
        self._proxy = proxy
        self._response = b""
        self._inner: Any = None
        self.is_connected = False
        self.opened: Deferred[Any] = Deferred(self._cancel)

    def _cancel(self, _: Deferred[Any]) -> None:
        self._abort()

    def _abort(self) -> None:
        transport: Any = self.transport
        if transport is not None:
            transport.abortConnection()

    def connectionMade(self) -> None:
        self.is_connected = True
        transport: Any = self.transport
        transport.write(self._request)

    def dataReceived(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.dataReceived(data)
            return
        if self.opened.called:
            return
        self._response += data
        head, end, rest = self._response.partition(b"\r\n\r\n")
        if len(head) > LONGEST_RESPONSE:
            self._refuse(f"its response to CONNECT is longer than {LONGEST_RESPONSE} bytes")
        elif end:
            self._read(head, rest)

    def _read(self, head: bytes, rest: bytes) -> None:
        line = head.split(b"\r\n", 1)[0].decode("latin-1")
        words = line.split(None, 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or words[1] != "200":
            self._refuse(f"responded to CONNECT with {line[:200]!r}")
        elif rest:
            # In a tunnel the client sends first, so these bytes are not the server's.
            self._refuse(f"sent {len(rest)} bytes after its response to CONNECT")
        else:
            transport: Any = self.transport
            self._inner = self._factory.buildProtocol(transport.getPeer())
            self._inner.makeConnection(transport)
            self.opened.callback(self._inner)

    def _refuse(self, why: str, *, connected: bool = True) -> None:
        if not self.opened.called:
            self.opened.errback(ProxyError(f"proxy {self._proxy}: {why}", connected=connected))
        self._abort()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._inner is not None:
            self._inner.connectionLost(reason)
        elif isinstance(reason.value, SSL.Error | VerificationError):
            self._refuse(_error_text(reason.value), connected=False)
        else:
            self._refuse("the connection was closed before a response to CONNECT")


@implementer(IStreamClientEndpoint)
class TunnelEndpoint:
    """Connects to a server through the proxy behind `endpoint`. `proxy` is the name of the proxy in errors. The proxy
    and its response have `seconds` of `clock` in all; whatever fails is a ProxyError."""

    def __init__(self, endpoint: Any, request: bytes, *, proxy: str, seconds: float, clock: IReactorTime) -> None:
        self._endpoint = endpoint
        self._request = request
        self._proxy = proxy
        self._seconds = seconds
        self._clock = clock

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        tunnel = _Tunnel(protocolFactory, self._request, self._proxy)
        return Deferred.fromCoroutine(self._limited(tunnel))

    async def _limited(self, tunnel: _Tunnel) -> Any:
        try:
            return await within(Deferred.fromCoroutine(self._open(tunnel)), self._seconds, self._clock)
        except defer.TimeoutError:
            why = (
                f"no response to CONNECT within {self._seconds:g} seconds"
                if tunnel.is_connected
                else "the connection timed out"
            )
            raise ProxyError(f"proxy {self._proxy}: {why}", connected=tunnel.is_connected) from None

    async def _open(self, tunnel: _Tunnel) -> Any:
        factory = Factory.forProtocol(lambda: tunnel)
        factory.noisy = False
        try:
            await self._endpoint.connect(factory)
        except defer.CancelledError:
            raise
        except Exception as error:
            # Every failure of the network becomes an error that names the proxy.
            raise ProxyError(f"proxy {self._proxy}: {_error_text(error)}", connected=False) from error
        return await tunnel.opened
