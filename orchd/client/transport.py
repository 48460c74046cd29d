"""HTTP connections to one server: TLS as the client configuration says, through a proxy, with files that are
renewed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from OpenSSL.crypto import Error as CryptoError
from twisted.internet import ssl
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import wrapClientTLS
from twisted.internet.error import VerifyError
from twisted.internet.interfaces import IProtocolFactory
from twisted.web.client import URI, Agent
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from orchd.pki.clientconfig import ClientConfig, ClientConfigError
from orchd.txkit.background import Background
from orchd.txkit.file_reloading import FileReloader
from orchd.txkit.proxy_tunnel import TunnelEndpoint, tunnel_request
from orchd.txkit.response_heads import bounded_heads_pool
from orchd.txkit.tcp_client import TcpEndpoint
from orchd.txkit.tls_client import UnverifiedConnection, own_certificate, trust_roots

#: Seconds between checks of certificate files.
_FILES_AGE = 60.0


def tls_options(config: ClientConfig, host: str, certificate: bytes, key: bytes) -> Any:
    """Options of TLS connections: verification of the server and client certificate by `config`. Raises
    ClientConfigError."""
    try:
        own = own_certificate(certificate, key)
        if config.insecure:
            return UnverifiedConnection(own)
        trust = trust_roots(config.authority) if config.authority else None
    except (CryptoError, VerifyError, ValueError) as error:
        raise ClientConfigError(
            f"certificates of user {config.user!r} or cluster {config.cluster!r}: {error}"
        ) from None
    return ssl.optionsForClientTLS(config.server_name or host, trustRoot=trust, clientCertificate=own)


@implementer(IAgentEndpointFactory)
class _Endpoints:
    """Where an agent connects to, with the pair that was set last."""

    def __init__(self, reactor: Any, timeout: float) -> None:
        self._reactor = reactor
        self._timeout = timeout
        self.config: ClientConfig
        self.options: Any = None

    def endpointForURI(self, uri: Any) -> Any:
        host, port = uri.host.decode("ascii").strip("[]"), uri.port
        proxy = urlsplit(self.config.proxy)
        plain: Any
        if proxy.hostname:
            secure = proxy.scheme == "https"
            proxy_port = proxy.port or (443 if secure else 80)
            at = TcpEndpoint(self._reactor, proxy.hostname, proxy_port, timeout=self._timeout)
            to_proxy: Any = wrapClientTLS(ssl.optionsForClientTLS(proxy.hostname), at) if secure else at
            plain = TunnelEndpoint(
                to_proxy,
                tunnel_request(host, port, proxy),
                proxy=f"{proxy.scheme}://{proxy.hostname}:{proxy_port}",
                seconds=self._timeout,
                clock=self._reactor,
            )
        else:
            plain = TcpEndpoint(self._reactor, host, port, timeout=self._timeout)
        return plain if uri.scheme == b"http" else wrapClientTLS(self.options, plain)


class Transport:
    """Persistent connections to the server of `config`, replaced when the client certificate changes."""

    def __init__(self, config: ClientConfig, reactor: Any, *, timeout: float, connections: int) -> None:
        parts = urlsplit(config.server)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise ClientConfigError(f"not an HTTP server: {config.server}")
        if config.proxy and parts.scheme != "https":
            raise ClientConfigError(f"proxy-url needs a server with https: {config.server}")
        self._host = parts.hostname
        self._background = Background()
        self.config = config
        self._pool = bounded_heads_pool(reactor, persistent=True)
        self._pool.maxPersistentPerHost = connections
        self._endpoints = _Endpoints(reactor, timeout)
        self._pair = (config.certificate, config.key)
        self._stale = False
        self._renew()
        self._files: FileReloader[ClientConfig] | None = None
        if config.files:
            self._files = FileReloader(
                f"certificates for {self._host}",
                self._read,
                lambda: config.files,
                clock=reactor.seconds,
                interval=_FILES_AGE,
            )
            self.config = self._files.value
        self._agent = Agent.usingEndpointFactory(reactor, self._endpoints, pool=self._pool)

    def _renew(self) -> None:
        self._endpoints.config = self.config
        self._endpoints.options = tls_options(self.config, self._host, *self._pair)

    def reload(self) -> None:
        """Use the certificates that are in the files now; they are checked at most once a minute."""
        config = self.config if self._files is None else self._files()
        if config is not self.config:
            self.config, self._stale = config, True

    def _read(self) -> ClientConfig:
        config = self.config.reread()
        # Raises ValueError while certificate and key do not match.
        tls_options(config, self._host, config.certificate, config.key)
        return config

    def connect(self, factory: IProtocolFactory, pair: tuple[bytes, bytes]) -> Deferred[Any]:
        """A new connection to the server, outside the pool; it presents the certificate of `pair`."""
        self._present(pair)
        connecting: Deferred[Any] = self._endpoints.endpointForURI(URI.fromBytes(self.config.server.encode())).connect(
            factory
        )
        return connecting

    def _present(self, pair: tuple[bytes, bytes]) -> None:
        if self._stale or pair != self._pair:
            self._stale, self._pair = False, pair
            self._renew()
            self._background.add(self._drop(), "closing connections with an old certificate")

    def request(self, method: bytes, url: bytes, headers: Any, body: Any, pair: tuple[bytes, bytes]) -> Any:
        """A Deferred of the response, on a connection that shows the certificate and key of `pair`."""
        self._present(pair)
        return self._agent.request(method, url, headers, body)

    async def _drop(self) -> None:
        await self._pool.closeCachedConnections()

    async def close(self) -> None:
        """Close kept connections."""
        await self._background.stop()
        await self._pool.closeCachedConnections()
