"""Every store passes the contract suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from zope.interface.verify import verifyObject

from orchd.store.interfaces import IStore
from orchd.store.memory import MemoryStore
from orchd.store.sqlite import SqliteStore
from orchd.testing.store_contract import CHECKS, Subject

STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda path: MemoryStore(reactor),
    "sqlite": lambda path: SqliteStore(reactor, path / "store", dialect_name="any"),
    # So little of the past in memory that every look back goes to the file.
    "sqlite-history-on-disk": lambda path: SqliteStore(reactor, path / "store", dialect_name="any", recent_events=2),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("kind", STORES)
@pytest_twisted.ensureDeferred
async def test_contract(kind: str, check: Any, tmp_path: Path) -> None:
    """The check's own docstring states the fact."""
    store = STORES[kind](tmp_path)
    verifyObject(IStore, store)
    await store.start()
    try:
        await check(Subject(store=store, reactor=reactor, many=100_000 if kind == "memory" else 20_000))
    finally:
        await store.stop()
