"""A real etcd for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet import reactor

from orchd.store.compaction import HistoryLimits
from orchd.store.etcd.servers import TlsFiles, make_servers
from orchd.store.etcd.store import EtcdOptions, EtcdStore
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.etcd import Etcd
from tests.etcd import KINDS, etcd_program, running_etcd
from tests.store.etcd.etcd_support import Open

_numbers = count()


@pytest.fixture(scope="session")
def program() -> str:
    return etcd_program()


@pytest.fixture(scope="module", params=KINDS)
def etcd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """One etcd, or served store, for all tests of a module, each of which uses its own prefix."""
    with running_etcd(tmp_path_factory.mktemp("etcd"), request.param) as server:
        yield server


@pytest.fixture(params=KINDS)
def own_etcd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Etcd]:
    """An etcd, or served store, that the test may stop or break."""
    with running_etcd(tmp_path / "etcd", request.param) as server:
        yield server


@pytest.fixture
def prefix() -> str:
    return f"/test-{next(_numbers)}"


@pytest.fixture
def opened(prefix: str) -> Open:
    @asynccontextmanager
    async def opened(
        *urls: str, tls: TlsFiles | None = None, dialect_name: str = "any", recent_events: int = 1000, **more: Any
    ) -> AsyncIterator[EtcdStore]:
        patience = dict.fromkeys(("timeout", "health_timeout", "start_timeout"), PATIENCE)
        history = HistoryLimits(compaction_interval=0, recent_events=recent_events)
        options = EtcdOptions(**{**patience, "prefix": prefix, **more})
        store = EtcdStore(
            reactor, make_servers(reactor, urls, tls), dialect_name=dialect_name, options=options, history=history,
            random=Random(1),
        )  # fmt: skip
        await store.start()
        try:
            yield store
        finally:
            await store.stop()

    return opened
