"""The ports on which other processes reach an embedded store: a Unix socket in the data folder, and a TCP port if
asked."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint, TCP6ServerEndpoint
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IStreamServerEndpoint
from twisted.internet.task import deferLater
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from orchd.config.settings import Settings
from orchd.store.etcd.space import Space
from orchd.store.grpc.server import ServerFactory
from orchd.store.interfaces import StoreError
from orchd.store.records import Change
from orchd.store.revision_page import RevisionPage
from orchd.store.serving.services import methods
from orchd.store.sqlite import SqliteStore

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


@implementer(IStreamServerEndpoint)
@dataclass(frozen=True, slots=True)
class _Secured:
    """An endpoint whose connections are TLS."""

    endpoint: Any
    tls: Any

    def listen(self, protocolFactory: Any) -> Deferred[IListeningPort]:
        wrapped: Deferred[IListeningPort] = self.endpoint.listen(TLSMemoryBIOFactory(self.tls, False, protocolFactory))
        return wrapped


class StorePorts:
    """The ports of `store` for other processes: the socket of `settings`, with the revision page beside it, and
    `listen`, if that is an address."""

    def __init__(
        self, store: SqliteStore, settings: Settings, reactor: Any, random: Any, listen: Address | None = None
    ) -> None:
        """Raises StoreError, which names the flag."""
        self.socket = socket_file(settings)
        if len(os.fsencode(self.socket)) > _LONGEST_PATH:
            raise StoreError(f"--data-dir: the path of the socket is too long: {self.socket}")
        self._store, self._reactor, self._listen = store, reactor, listen
        self._dialect_name = settings.dialect.name
        self.urls = [f"unix://{self.socket}", *([listen.url] if listen is not None else [])]
        self._factory = ServerFactory(methods(store, reactor, random=random, urls=self.urls), reactor)
        self._ports: list[IListeningPort] = []
        self._page: RevisionPage | None = None

    async def start(self) -> None:
        """Listen; the store has been started. Raises StoreError."""
        await self._record_dialect()
        # The lock of the store is held: no process listens on a socket that a killed process has left.
        with suppress(FileNotFoundError):
            os.unlink(self.socket)
        try:
            # Written before the first connection, so that every client finds it.
            self._page = RevisionPage(self.socket, self._store.revision)
            self._store.on_revision = self._page.write
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

    async def _record_dialect(self) -> None:
        """The key by which API servers whose prefix is / know that they may use these objects."""
        key = Space("").dialect_key.decode()
        if self._store.newest(key) is None:
            await self._store.apply([Change(key, self._dialect_name.encode())])

    async def stop(self) -> None:
        """Stop listening, finish running calls."""
        for port in self._ports:
            await _ended(port)
        self._factory.retire()
        end = self._reactor.seconds() + _PATIENCE
        while self._factory.connections and self._reactor.seconds() < end:
            await deferLater(self._reactor, 0.01)
        self._factory.abort()

    def close(self) -> None:
        """Remove the socket and the page; the store has been stopped."""
        if self._page is not None:
            self._store.on_revision = None
            self._page.close()
            self._page = None
            with suppress(FileNotFoundError):
                os.unlink(self.socket)


async def _ended(port: IListeningPort) -> None:
    stopping = port.stopListening()
    if stopping is not None:
        await stopping
