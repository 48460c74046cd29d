"""The embedded store of a data folder as a server (`orchd-store serve`): on a Unix socket in the folder, and on a port if asked.

Values pass as API servers wrote them: encryption at rest is theirs, and this process has no keys.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from OpenSSL.crypto import Error as TlsError
from twisted.internet import ssl
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint, TCP6ServerEndpoint
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IStreamServerEndpoint
from twisted.internet.task import deferLater
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from orchd.assembly.storage import make_embedded_store, store_file
from orchd.config.settings import Settings
from orchd.store.etcd.space import Space
from orchd.store.grpc.server import ServerFactory
from orchd.store.interfaces import StoreError
from orchd.store.records import Change
from orchd.store.revision_page import RevisionPage
from orchd.store.serving.services import methods
from orchd.store.sqlite import SqliteStore
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.store")
#: Seconds for running calls to end before their connections are closed.
_PATIENCE: Final = 5.0
#: Longest path of a Unix socket in bytes (unix(7)).
_LONGEST_PATH: Final = 107


def socket_file(settings: Settings) -> str:
    """Path of the Unix socket of a served store."""
    return os.path.abspath(f"{settings.storage.data_dir}/store.sock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to listen: an IP address, "" for none, and a port. `tls` is None for plain connections."""

    host: IPv4Address | IPv6Address
    port: int
    tls: Any

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if self.host.version == 6 else str(self.host)
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}"


def address(listen: str, settings: Settings) -> Address:
    """The address of --listen=HOST:PORT, where HOST is an IP address or localhost. Raises ValueError that names the flag."""
    try:
        parts = urlsplit(f"//{listen}")
        port = parts.port
        host = ip_address("127.0.0.1" if parts.hostname == "localhost" else parts.hostname or "")
    except ValueError:
        port = None
    if port is None or parts.path or parts.query or "@" in listen:
        raise ValueError(f"--listen: {listen!r} is not HOST:PORT with an IP address or localhost")
    listener, authorities = settings.serving, settings.authentication.client_ca_file
    if not (listener.cert_file or authorities):
        if not host.is_loopback:
            raise ValueError(
                f"--listen: {host} can be reached from other machines, which needs --tls-cert-file, --tls-private-key-file and"
                " --client-ca-file"
            )
        return Address(host=host, port=port, tls=None)
    if not listener.cert_file:
        raise ValueError("--client-ca-file needs --tls-cert-file and --tls-private-key-file")
    if not authorities:
        raise ValueError("--tls-cert-file needs --client-ca-file: every client of the store must show a certificate")
    return Address(host=host, port=port, tls=_tls(listener.cert_file, listener.key_file, authorities))


def _tls(certificate: str, key: str, authorities: str) -> Any:
    """TLS with client certificates that one of `authorities` has signed. Raises ValueError that names the file."""
    chain, trusted = _certificates("--tls-cert-file", certificate), _certificates("--client-ca-file", authorities)
    try:
        pair = ssl.KeyPair.load(Path(key).read_bytes(), ssl.SSL.FILETYPE_PEM)  # type: ignore[attr-defined]  # Twisted's own way in
        return ssl.CertificateOptions(
            privateKey=pair.original,
            certificate=chain[0].original,
            extraCertChain=[each.original for each in chain[1:]],
            trustRoot=ssl.trustRootFromCertificates(trusted),
            acceptableProtocols=[b"h2"],
        )
    except (OSError, ValueError, TlsError) as error:
        raise ValueError(f"--tls-private-key-file: {key}: {error}") from error


def _certificates(flag: str, name: str) -> list[Any]:
    """The certificates of a PEM file. Raises ValueError that names the flag."""
    begin, end = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
    try:
        data = Path(name).read_bytes()
        found = [
            ssl.Certificate.loadPEM(begin + part.partition(end)[0] + end + b"\n") for part in data.split(begin)[1:]
        ]
    except (OSError, ValueError, TlsError) as error:
        raise ValueError(f"{flag}: {name}: {error}") from error
    if not found:
        raise ValueError(f"{flag}: {name} has no certificate")
    return found


@implementer(IStreamServerEndpoint)
@dataclass(frozen=True, slots=True)
class _Secured:
    """An endpoint whose connections are TLS."""

    endpoint: Any
    tls: Any

    def listen(self, protocolFactory: Any) -> Deferred[IListeningPort]:
        wrapped: Deferred[IListeningPort] = self.endpoint.listen(TLSMemoryBIOFactory(self.tls, False, protocolFactory))
        return wrapped


class StoreServer:
    """The store of `settings`, served on its socket and on `listen`, if that is an address."""

    def __init__(self, settings: Settings, reactor: Any, random: Any, listen: Address | None) -> None:
        """Raises StoreError, which names the flag."""
        if settings.storage.etcd is not None:
            raise StoreError("--etcd-servers is given: etcd is served by itself")
        if settings.storage.encryption_provider_config:
            raise StoreError(
                "--encryption-provider-config is for API servers: they encrypt before the store sees a value, and it has no keys"
            )
        self.socket = socket_file(settings)
        if len(os.fsencode(self.socket)) > _LONGEST_PATH:
            raise StoreError(f"--data-dir: the path of the socket is too long: {self.socket}")
        self._path = store_file(settings)
        self._reactor = reactor
        self._listen = listen
        self._dialect_name = settings.dialect.name
        self.store: SqliteStore = make_embedded_store(settings, reactor)
        self.urls = [f"unix://{self.socket}", *([listen.url] if listen is not None else [])]
        self._factory = ServerFactory(methods(self.store, reactor, random=random, urls=self.urls), reactor)
        self._ports: list[IListeningPort] = []
        self._page: RevisionPage | None = None

    async def start(self) -> None:
        """Open the store, then listen. Raises StoreError."""
        await self.store.start()
        try:
            await self._record_dialect()
            await self._open_ports()
        except BaseException:
            await self.stop()
            raise

    async def _record_dialect(self) -> None:
        """The key by which API servers whose prefix is / know that they may use these objects."""
        key = Space("").dialect_key.decode()
        if self.store.newest(key) is None:
            await self.store.apply([Change(key, self._dialect_name.encode())])

    async def _open_ports(self) -> None:
        # The lock of the store says that no process listens on what a killed one has left.
        with suppress(FileNotFoundError):
            os.unlink(self.socket)
        try:
            # Before the first connection, so that no client looks for it in vain.
            self._page = RevisionPage(self.socket, self.store.revision)
            self.store.on_revision = self._page.write
            self._ports.append(self._reactor.listenUNIX(self.socket, self._factory, mode=0o600))
            if self._listen is not None:
                where = self._listen
                kind = TCP6ServerEndpoint if where.host.version == 6 else TCP4ServerEndpoint
                endpoint: Any = kind(self._reactor, where.port, interface=str(where.host))
                if where.tls is not None:
                    endpoint = _Secured(endpoint, where.tls)
                self._ports.append(await endpoint.listen(self._factory))
        except (OSError, CannotListenError) as error:
            raise StoreError(f"cannot listen: {error}") from error

    async def stop(self) -> None:
        """Stop listening, answer running calls, close the store."""
        for port in self._ports:
            await _ended(port)
        self._factory.retire()
        end = self._reactor.seconds() + _PATIENCE
        while self._factory.connections and self._reactor.seconds() < end:
            await deferLater(self._reactor, 0.01)
        self._factory.abort()
        await self.store.stop()
        if self._page is not None:
            self.store.on_revision = None
            self._page.close()
        with suppress(FileNotFoundError):
            os.unlink(self.socket)


async def _ended(port: IListeningPort) -> None:
    stopping = port.stopListening()
    if stopping is not None:
        await stopping
