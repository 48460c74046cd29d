"""Results of concurrent clients on few keys are linearizable."""

from __future__ import annotations

import itertools
import os
import random
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import deferLater

from orchd.store.compaction import HistoryLimits
from orchd.store.etcd.servers import make_servers
from orchd.store.etcd.store import EtcdOptions, EtcdStore
from orchd.store.interfaces import IStore, KeyExistsError, KeyValue, RevisionConflictError, StoreError
from orchd.store.memory import MemoryStore
from orchd.store.sqlite import SqliteStore
from orchd.testing.contracts.linear import History, Kind, Outcome, State
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.etcd import Etcd
from orchd.testing.processes.served_store import ServedStore
from tests.etcd import KINDS, running_etcd
from tests.waiting import until_true

reactor: Any = installed
KEYS = ("/l/a", "/l/b", "/l/c")
SEED = int(os.environ.get("ORCHD_LINEAR_SEED", "1"))
STEPS = int(os.environ.get("ORCHD_LINEAR_STEPS", "60"))


class Clients:
    """Clients of several stores on the same data, and their results."""

    def __init__(self, stores: list[IStore]) -> None:
        ticks = itertools.count(1)
        self.history = History(clock=lambda: next(ticks))
        self.stores = stores
        self._runs = 0

    async def get(self, client: str, store: IStore, key: str) -> KeyValue | None:
        operation = self.history.begin(client, Kind.GET, key)
        # A consistent read as in the server: at a revision that covers all acknowledged writes.
        item: KeyValue | None = await store.get(key, revision=await store.current_revision())
        seen: State = (item.value.decode(), item.revision) if item is not None else None
        self.history.saw(operation, seen)
        return item

    async def put(self, client: str, store: IStore, key: str, value: str, expected: int) -> None:
        operation = self.history.begin(client, Kind.PUT, key, value=value, expected=expected)
        try:
            if expected:
                revision = await store.update(key, value.encode(), expected=expected)
            else:
                revision = await store.create(key, value.encode())
        except (KeyExistsError, RevisionConflictError):
            self.history.refused(operation)
        else:
            self.history.wrote(operation, revision)

    async def delete(self, client: str, store: IStore, key: str, expected: int) -> None:
        operation = self.history.begin(client, Kind.DELETE, key, expected=expected)
        try:
            revision = await store.delete(key, expected=expected)
        except RevisionConflictError:
            self.history.refused(operation)
        else:
            self.history.wrote(operation, revision)

    async def register(self, client: str, choose: Random) -> None:
        """Reads, guarded writes and deletions, some with an outdated guard."""
        known: dict[str, int] = {}
        for step in range(STEPS):
            key, store = choose.choice(KEYS), choose.choice(self.stores)
            try:
                if choose.random() < 0.4 or key not in known:
                    item = await self.get(client, store, key)
                    known[key] = item.revision if item is not None else 0
                elif choose.random() < 0.2 and known[key]:
                    await self.delete(client, store, key, known[key])
                else:
                    await self.put(client, store, key, f"{client}-{step}", known[key])
            except StoreError:
                await deferLater(reactor, 0.02)
            if choose.random() < 0.3:
                await deferLater(reactor, choose.uniform(0, 0.01))

    async def count(self, client: str, choose: Random) -> None:
        """Repeatedly increment what was read; the value also names the writer."""
        for step in range(STEPS // 3):
            key, store = choose.choice(KEYS), choose.choice(self.stores)
            try:
                item = await self.get(client, store, key)
                number = int(item.value.partition(b" ")[0]) if item is not None else 0
                await self.put(client, store, key, f"{number + 1} {client}-{step}", item.revision if item else 0)
            except StoreError:
                await deferLater(reactor, 0.02)

    async def run(self, workload: Callable[[str, Random], Coroutine[Any, Any, None]], *, clients: int = 6) -> None:
        self._runs += 1
        running: list[Deferred[None]] = [
            ensureDeferred(workload(f"{self._runs}c{number}", Random(SEED * 100 + number))) for number in range(clients)
        ]
        for each in running:
            await each

    async def check_counters(self) -> None:
        """The counter has every acknowledged increment, and at most those with an unknown outcome in addition."""
        for key in KEYS:
            item = await self.get("last", self.stores[0], key)
            number = int(item.value.partition(b" ")[0]) if item is not None else 0
            sure = self.history.count(Outcome.OK, key)
            assert sure <= number <= sure + self.history.count(Outcome.UNKNOWN, key)
        self.history.check()


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with running_etcd(tmp_path_factory.mktemp("etcd")) as server:
        yield server


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with running_etcd(tmp_path_factory.mktemp("served"), "served") as server:
        yield server


def url_of(server: Etcd) -> str:
    """That of the Unix socket, where the revision is shared, if there is one."""
    return server.socket if isinstance(server, ServedStore) else server.url


Make = Any  # A function () -> stores, with the attribute `kind`.


@pytest.fixture(params=["memory", "sqlite", "sqlite-history-on-disk", "etcd", "two-on-etcd", "two-on-served"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Creates stores, not started, on the same data each time (except in memory)."""
    kind: str = request.param

    def etcd_store(server: Etcd) -> EtcdStore:
        # A call that times out would have an unknown outcome.
        return EtcdStore(
            reactor, make_servers(reactor, [url_of(server)]), dialect_name="any", random=Random(1),
            options=EtcdOptions(prefix=f"/{tmp_path.name}", timeout=PATIENCE, health_timeout=PATIENCE),
        )  # fmt: skip

    def stores() -> list[IStore]:
        if kind == "memory":
            return [MemoryStore(reactor)]
        if kind.startswith("sqlite"):
            recent = 1000 if kind == "sqlite" else 2
            return [
                SqliteStore(
                    reactor, tmp_path / "store", dialect_name="any", history=HistoryLimits(recent_events=recent)
                )
            ]
        server = request.getfixturevalue(kind.removeprefix("two-on-"))
        return [etcd_store(server) for _ in range(1 if kind == "etcd" else 2)]

    factory: Make = stores
    factory.kind = kind
    if kind.removeprefix("two-on-") in KINDS:
        request.getfixturevalue(kind.removeprefix("two-on-"))
    return factory


@asynccontextmanager
async def started(make: Make) -> AsyncIterator[list[IStore]]:
    stores = make()
    for store in stores:
        await store.start()
    try:
        yield stores
    finally:
        for store in stores:
            await store.stop()


@pytest.mark.parametrize("workload", ["register", "count"])
@pytest_twisted.ensureDeferred
async def test_concurrent_clients_are_linearizable(make: Make, workload: str) -> None:
    """Guarded writes, deletions and consistent reads of concurrent clients are linearizable, through one store or
    two."""
    async with started(make) as stores:
        clients = Clients(stores)
        await clients.run(getattr(clients, workload))
        if workload == "count":
            await clients.check_counters()
        else:
            clients.history.check()
        assert clients.history.count(Outcome.UNKNOWN, KEYS[0]) == 0


@pytest_twisted.ensureDeferred
async def test_restarts_are_linearizable(make: Make) -> None:
    """A store that is stopped and restarted under its clients continues: nothing is lost or repeated."""
    if make.kind == "memory":
        pytest.skip("a memory store has nothing to go on from")
    clients = Clients([])
    for _ in range(3):
        async with started(make) as stores:
            clients.stores = stores
            working = ensureDeferred(clients.run(clients.count))
            await deferLater(reactor, 0.02)
        await working
    async with started(make) as stores:
        clients.stores = stores
        await clients.check_counters()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trouble", ["pause", "restart"])
@pytest_twisted.ensureDeferred
async def test_etcd_failures_are_linearizable(
    request: pytest.FixtureRequest, kind: str, trouble: str, tmp_path: Path
) -> None:
    """Results stay linearizable while etcd, or the served store, is stopped (SIGSTOP), or killed and restarted."""
    etcd: Etcd = request.getfixturevalue(kind)
    choose = random.Random(SEED)

    def make() -> list[IStore]:
        return [
            EtcdStore(
                reactor,
                make_servers(reactor, [url_of(etcd)]),
                dialect_name="any",
                options=EtcdOptions(prefix=f"/{tmp_path.name}"),
                random=Random(number),
            )
            for number in (1, 2)
        ]

    async with started(make) as stores:
        clients = Clients(stores)
        working = ensureDeferred(clients.run(clients.register))
        for _ in range(2):
            await deferLater(reactor, choose.uniform(0.05, 0.15))
            if trouble == "pause":
                etcd.signal(signal.SIGSTOP)
                await deferLater(reactor, 0.5)
                etcd.signal(signal.SIGCONT)
            else:
                etcd.kill()
                etcd.start()
        await working
        clients.history.check()
        # Recovered without intervention.
        await until_true(reactor, lambda: not any(store.healthy() for store in stores))
        await clients.run(clients.register)
        clients.history.check()
