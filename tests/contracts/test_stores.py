"""Every store passes the contract suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from zope.interface.verify import verifyObject

from orchd.store.compaction import HistoryLimits
from orchd.store.etcd.servers import make_servers
from orchd.store.etcd.store import EtcdOptions, EtcdStore
from orchd.store.interfaces import IStore
from orchd.store.memory import MemoryStore
from orchd.store.sqlite import SqliteStore
from orchd.testing.contracts.store import CHECKS, Subject
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.etcd import Etcd
from tests.contracts.rebased_store import Rebased
from tests.etcd import KINDS, running_etcd

STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda path: MemoryStore(reactor),
    "sqlite": lambda path: SqliteStore(reactor, path / "store", dialect_name="any"),
    # Little history in memory, so that every read of the past uses the file.
    "sqlite-history-on-disk": lambda path: SqliteStore(
        reactor, path / "store", dialect_name="any", history=HistoryLimits(recent_events=2)
    ),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("kind", STORES)
@pytest_twisted.ensureDeferred
async def test_store_passes_the_contract(kind: str, check: Any, tmp_path: Path) -> None:
    """The check's own docstring states the fact."""
    store = STORES[kind](tmp_path)
    verifyObject(IStore, store)
    await store.start()
    try:
        await check(Subject(store=store, reactor=reactor, many=100_000 if kind == "memory" else 20_000))
    finally:
        await store.stop()


ETCD = {
    "etcd": HistoryLimits(compaction_interval=0),
    # Every read of the past is a separate watch.
    "etcd-history-in-etcd": HistoryLimits(compaction_interval=0, recent_events=2),
}


@pytest.fixture(scope="module", params=KINDS)
def etcd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with running_etcd(tmp_path_factory.mktemp("etcd"), request.param) as server:
        yield server


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("kind", ETCD)
@pytest_twisted.ensureDeferred
async def test_etcd_store_passes_the_contract(kind: str, check: Any, etcd: Etcd) -> None:
    """etcd, and the embedded store in its place, pass the same checks, each under its own prefix, with revisions
    counted from the start of the store."""
    servers = make_servers(reactor, [etcd.url])
    # What a slow machine answers late is no failure of the store.
    prefix = f"/{kind}-{check.__name__}"
    options = EtcdOptions(prefix=prefix, timeout=PATIENCE, health_timeout=PATIENCE, start_timeout=PATIENCE)
    store = Rebased(
        EtcdStore(reactor, servers, dialect_name="any", options=options, history=ETCD[kind], random=Random(1))
    )
    verifyObject(IStore, store)
    await store.start()
    try:
        await check(Subject(store=store, reactor=reactor, many=4000, shared=True))
    finally:
        await store.stop()
