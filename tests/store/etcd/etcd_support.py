"""Shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from twisted.internet import reactor

from orchd.store.etcd.store import EtcdStore
from orchd.testing.contracts.store import Subject
from orchd.testing.processes.daemon import PATIENCE

#: Starts a store on the given URLs, and stops it at the end. Its calls have no timeout unless one is given.
Open = Callable[..., AbstractAsyncContextManager[EtcdStore]]


@asynccontextmanager
async def impatient(*stores: EtcdStore) -> AsyncIterator[None]:
    """Calls that begin in this block have a short timeout, for tests in which they must time out."""
    before = [(store._timeout, store._health_timeout) for store in stores]
    for store in stores:
        store._timeout = store._health_timeout = 0.3
    for store in stores:
        # A health check that began earlier would have the long timeout.
        await _idle(store)
    try:
        yield
    finally:
        for store, (timeout, health_timeout) in zip(stores, before, strict=True):
            store._timeout, store._health_timeout = timeout, health_timeout


async def _idle(store: EtcdStore) -> None:
    checking = store._check_running
    await until(lambda: checking is None or bool(checking.called))


async def until(true: Callable[[], bool], *, seconds: float = PATIENCE) -> None:
    """Run the reactor until a condition holds."""
    nothing: Any = None
    await Subject(store=nothing, reactor=reactor).until(true, seconds=seconds)
