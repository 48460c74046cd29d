"""Endpoint reconciler: keeps the endpoints of the API service equal to the set of live servers.

Each server keeps a key with a TTL in the shared store, and writes the servers it finds there into the endpoints: the
"lease" reconciler of the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IReactorTime

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.server.bootstrap import ensure_objects, objects
from orchd.store.interfaces import IStore, KeyExistsError, RevisionConflictError, StoreError
from orchd.txkit.log import Logger
from orchd.txkit.periodic import Periodic

_log = Logger()
_PREFIX: Final = "/.servers/"
#: Seconds between renewals of the key, and its TTL.
_INTERVAL: Final = 10.0
_TTL: Final = 15


class EndpointReconciler:
    """The reconciler of one server. `at` is its advertised address and port."""

    def __init__(
        self,
        store: IStore,
        client: IClient,
        dialect: Dialect,
        clock: IReactorTime,
        wall: Callable[[], float],
        at: objects.ServerEndpoint,
    ) -> None:
        self._store = store
        self._client = client
        self._dialect = dialect
        self._wall = wall
        self._at = at
        self._key = f"{_PREFIX}{at.ip}:{at.port}"
        self._loop = Periodic(
            "reconcile the endpoints of this server's service",
            self._reconcile_once,
            _INTERVAL,
            clock,
            (StoreError, ApiError),
        )

    async def start(self) -> None:
        if not self._at.publishable:
            return
        self._loop.start(now=True)

    async def stop(self) -> None:
        """Withdraw this server. The endpoints of the last server are preserved, since it may restart."""
        if not self._loop.running:
            return
        self._loop.stop()
        try:
            await self._withdraw()
            await self._tell()
        except (StoreError, ApiError) as error:
            # The endpoint is then removed when this server's key expires.
            _log.warn("failed to remove this server from the endpoints of its service: {why}", why=str(error))

    async def _withdraw(self) -> None:
        item = await self._store.get(self._key)
        if item is not None:
            await self._store.delete(self._key, expected=item.revision)

    async def _reconcile_once(self) -> None:
        await self._renew()
        await self._tell()

    async def _renew(self) -> None:
        item = await self._store.get(self._key)
        try:
            if item is None:
                await self._store.create(self._key, b"", ttl=_TTL)
            else:
                await self._store.update(self._key, b"", expected=item.revision, ttl=_TTL)
        except (KeyExistsError, RevisionConflictError):
            # The key has just expired, or another server wrote it: retry in the next period.
            return

    async def _servers(self) -> list[objects.ServerEndpoint]:
        """The servers to publish."""
        page = await self._store.range(_PREFIX)
        servers = []
        for item in page.items:
            ip, _, port = item.key.removeprefix(_PREFIX).rpartition(":")
            servers.append(objects.ServerEndpoint(ip=ip, port=int(port)))
        return servers

    async def _tell(self) -> None:
        servers = await self._servers()
        await ensure_objects.ensure(
            self._client, objects.own_endpoints(self._dialect, servers), now=timestamp(self._wall())
        )


class CountedEndpointReconciler(EndpointReconciler):
    """Publishes up to `count` servers: this one, and those that the endpoints have already. Which of too many servers
    are gone is not known: those that follow this one in the list are dropped. It is the "master-count" reconciler of
    the reference."""

    def __init__(
        self,
        store: IStore,
        client: IClient,
        dialect: Dialect,
        clock: IReactorTime,
        wall: Callable[[], float],
        at: objects.ServerEndpoint,
        count: int,
    ) -> None:
        super().__init__(store, client, dialect, clock, wall, at)
        self._count = count
        self._leaving = False

    async def _renew(self) -> None:
        """Does nothing: the endpoints themselves are the list of servers."""
        self._leaving = False

    async def _withdraw(self) -> None:
        self._leaving = True

    async def _servers(self) -> list[objects.ServerEndpoint]:
        try:
            endpoints = await self._client.get(ResourceRef("", "v1", "endpoints"), "default", self._dialect("{long}"))
        except ApiError as error:
            if error.code != 404:
                raise
            endpoints = {}
        servers = {
            objects.ServerEndpoint(ip=address["ip"], port=port["port"])
            for subset in endpoints.get("subsets") or ()
            for port in subset.get("ports") or ()
            for address in subset.get("addresses") or ()
        }
        if self._leaving:
            return sorted(servers - {self._at})
        addresses = sorted(servers | {self._at})
        while len(addresses) > self._count:
            del addresses[(addresses.index(self._at) + 1) % len(addresses)]
        return addresses
