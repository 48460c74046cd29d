"""The embedded store of a data folder as a server (`orchd-store serve`): on a Unix socket in the folder, and on a port
if asked.

Values pass as API servers wrote them: encryption at rest is theirs, and this process has no keys.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from OpenSSL import SSL
from OpenSSL.crypto import Error as TlsError
from twisted.internet import ssl
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from zope.interface import implementer

from orchd.assembly.storage import make_embedded_store
from orchd.assembly.store_ports import Address, StorePorts
from orchd.config.settings import Settings
from orchd.store.interfaces import StoreError
from orchd.store.sqlite import SqliteStore
from orchd.txkit.file_reloading import FileReloader
from orchd.txkit.pem import read_certificates

#: Least seconds between checks of certificate files for changes.
_CHECK: Final = 1.0


def address(listen: str, settings: Settings, clock: Callable[[], float]) -> Address:
    """The address of --listen=HOST:PORT, where HOST is an IP address or localhost; `clock` is monotonic. Raises
    ValueError that names the flag."""
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
                f"--listen: {host} can be reached from other machines, which needs --tls-cert-file, "
                "--tls-private-key-file and --client-ca-file"
            )
        return Address(host=host, port=port, tls=None)
    if not listener.cert_file:
        raise ValueError("--client-ca-file needs --tls-cert-file and --tls-private-key-file")
    if not authorities:
        raise ValueError("--tls-cert-file needs --client-ca-file: every client of the store must show a certificate")
    return Address(
        host=host, port=port, tls=CertificateFiles(listener.cert_file, listener.key_file, authorities, clock)
    )


@implementer(IOpenSSLServerConnectionCreator)
class CertificateFiles:
    """TLS of new connections, whose clients show certificates that one of `authorities` has signed. All are names of
    files, which are read again after a change. Raises ValueError that names the file and its flag."""

    def __init__(self, certificate: str, key: str, authorities: str, clock: Callable[[], float]) -> None:
        names = certificate, key, authorities
        self._context = FileReloader(
            "the certificates of the served store",
            lambda: _context(*names),
            lambda: names,
            clock=clock,
            interval=_CHECK,
        )

    def serverConnectionForTLS(self, protocol: object) -> SSL.Connection:
        """A connection with memory BIOs, in accept state."""
        connection = SSL.Connection(self._context(), None)
        connection.set_accept_state()
        return connection


def _context(certificate: str, key: str, authorities: str) -> SSL.Context:
    chain, trusted = _certificates("--tls-cert-file", certificate), _certificates("--client-ca-file", authorities)
    try:
        # Twisted's own way in.
        pair = ssl.KeyPair.load(Path(key).read_bytes(), ssl.SSL.FILETYPE_PEM)  # type: ignore[attr-defined]
        options = ssl.CertificateOptions(
            privateKey=pair.original,
            certificate=chain[0].original,
            extraCertChain=[each.original for each in chain[1:]],
            trustRoot=ssl.trustRootFromCertificates(trusted),
            acceptableProtocols=[b"h2"],
        )
        # Of a key that is not the certificate's, an error.
        return options.getContext()
    except (OSError, ValueError, TlsError, SSL.Error) as error:
        raise ValueError(f"--tls-private-key-file: {key}: {error}") from error


def _certificates(flag: str, name: str) -> list[Any]:
    try:
        return read_certificates(name)
    except ValueError as error:
        raise ValueError(f"{flag}: {name}: {error}") from error


class StoreServer:
    """The store of `settings`, served on its socket and on `listen`, if that is an address."""

    def __init__(self, settings: Settings, reactor: Any, random: Any, listen: Address | None) -> None:
        """Raises StoreError, which names the flag."""
        if settings.storage.etcd is not None:
            raise StoreError("--etcd-servers is given: etcd is served by itself")
        if settings.storage.encryption_provider_config:
            raise StoreError(
                "--encryption-provider-config is for API servers: they encrypt before the store sees a value, "
                "and it has no keys"
            )
        self.store: SqliteStore = make_embedded_store(settings, reactor)
        self._ports = StorePorts(self.store, settings, reactor, random, listen)
        self.urls = self._ports.urls

    async def start(self) -> None:
        """Open the store, then listen. Raises StoreError."""
        await self.store.start()
        try:
            await self._ports.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop listening, finish running calls, close the store."""
        await self._ports.stop()
        await self.store.stop()
        self._ports.close()
