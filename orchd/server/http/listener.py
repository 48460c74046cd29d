"""The listening socket of the API server, as a member of a service group."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from OpenSSL import SSL
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IStreamServerEndpoint
from twisted.internet.task import LoopingCall
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure

from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.tls import ServerContexts
from orchd.server.http.tls_transport import TlsFactory
from orchd.txkit.log import Logger

#: Seconds between checks of certificate files.
_POLL = 30.0
#: Connections that the system keeps for a listener that does not accept yet.
BACKLOG = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A listening address. `share_port` allows several processes on the port (SO_REUSEPORT), `share_address` allows
    binding while connections of a former process linger, and beside more specific addresses (SO_REUSEADDR)."""

    address: str = "0.0.0.0"
    port: int = 6443
    share_port: bool = False
    share_address: bool = False

    def open(self) -> socket.socket:
        """The bound and listening socket. Raises OSError."""
        listening = self.bind()
        try:
            listening.listen(BACKLOG)
        except OSError as error:
            listening.close()
            raise self._error(error) from error
        return listening

    def bind(self) -> socket.socket:
        """The bound socket, which refuses connections until it listens. Raises OSError."""
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setblocking(False)
            # As Twisted and Go set it for every listener; `share_address` needs nothing else.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.share_port:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if self.address == "::" else 1)
            bound.bind((self.address, self.port))
        except OSError as error:
            bound.close()
            raise self._error(error) from error
        except BaseException:
            bound.close()
            raise
        return bound

    def _error(self, error: OSError) -> OSError:
        return OSError(error.errno, f"cannot listen on {self.address} port {self.port}: {error.strerror}")


class Listener:
    """Listens at a binding or an endpoint while its group runs.

    `contexts` None serves plain HTTP (for tests and behind a TLS proxy). `h2` makes the protocols of connections that
    negotiated HTTP/2. `plain` uses Twisted's TLS instead of `tls_transport`. On stop it accepts no more connections,
    and ends existing ones within `grace` seconds (see `ApiServerFactory.stop`).
    """

    name = "https"
    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        factory: ApiServerFactory,
        at: Binding | IStreamServerEndpoint,
        *,
        contexts: ServerContexts | None,
        h2: IProtocolFactory | None = None,
        grace: float = 10.0,
        plain: bool = False,
    ) -> None:
        self._reactor = reactor
        self._factory = factory
        self._at = at
        self._contexts = contexts
        self._grace = grace
        self._tls: TlsFactory | None = None
        self._port: IListeningPort | None = None
        self._polling = LoopingCall(self._poll)
        self._polling.clock = reactor
        outer: Any = factory
        if contexts is not None and plain:
            outer = TLSMemoryBIOFactory(contexts, False, factory, reactor)
            outer.noisy = False
        elif contexts is not None:
            outer = self._tls = TlsFactory(contexts, factory, reactor, h2)
        self._outer: IProtocolFactory = outer

    @property
    def failed_handshakes(self) -> int:
        """TLS handshakes that failed so far."""
        return 0 if self._tls is None else self._tls.failed_handshakes

    @property
    def address(self) -> tuple[str, int]:
        """The bound address, with the port that the system chose for 0. RuntimeError before the start."""
        if self._port is None:
            raise RuntimeError("not listening")
        host: Any = self._port.getHost()
        return host.host, host.port

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Listen. Raises OSError or the error of the endpoint."""
        if isinstance(self._at, Binding):
            bound = self._at.open()
            try:
                # The reactor duplicates the descriptor.
                self._port = self._reactor.adoptStreamPort(bound.fileno(), bound.family, self._outer)
            finally:
                bound.close()
        else:
            self._port = await self._at.listen(self._outer)
        if self._contexts is not None:
            self._polling.start(_POLL, now=False)

    def _poll(self) -> None:
        assert self._contexts is not None
        try:
            self._contexts.reload()
        except SSL.Error:
            # The loop must continue, or later renewals would be missed.
            self._log.failure("failed to reload certificates")

    async def stop(self) -> None:
        """Stop accepting connections and end the existing ones."""
        if self._polling.running:
            self._polling.stop()
        port, self._port = self._port, None
        if port is not None:
            stopped: Any = port.stopListening()
            if stopped is not None:
                await stopped
        if self._tls is not None:
            self._tls.stop()
        await self._factory.stop(self._grace)
        if self._tls is not None:
            self._tls.stop_h2()
