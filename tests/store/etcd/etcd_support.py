"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from twisted.internet import reactor

from orchd.store.etcd.store import EtcdStore
from orchd.testing.store_contract import Subject

#: Starts a store on the URLs given, and stops it in the end.
Open = Callable[..., AbstractAsyncContextManager[EtcdStore]]


async def until(true: Callable[[], bool], *, seconds: float = 600.0) -> None:
    """Let the reactor turn until something holds."""
    nothing: Any = None
    await Subject(store=nothing, reactor=reactor).until(true, seconds=seconds)
