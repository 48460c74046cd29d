"""The newest revision of etcd, read once for callers that ask at the same time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd.store.interfaces import StoreError


class NewestRevision:
    """Callers share a read, but only one that began after their call. `read` raises StoreError; `spawn` runs a
    background task."""

    def __init__(
        self, read: Callable[[], Awaitable[int]], spawn: Callable[[Coroutine[Deferred[Any], Any, object]], None]
    ) -> None:
        self._read = read
        self._spawn = spawn
        #: Waiters for the next read, while one is running.
        self._next: list[Deferred[int]] | None = None

    async def get(self) -> int:
        """The newest revision. Raises StoreError. Cancelling ends only this call."""
        waiter: Deferred[int] = Deferred()
        if self._next is not None:
            self._next.append(waiter)
        else:
            self._next = []
            self._spawn(self._run([waiter]))
        return await waiter

    async def _run(self, waiting: list[Deferred[int]]) -> None:
        while waiting:
            try:
                revision = await self._read()
            except StoreError:
                _respond(waiting, Failure())
            else:
                _respond(waiting, revision)
            waiting, self._next = self._next or [], []
        self._next = None


def _respond(waiting: list[Deferred[int]], result: int | Failure) -> None:
    for waiter in waiting:
        if waiter.called:
            continue
        if isinstance(result, Failure):
            waiter.errback(result)
        else:
            waiter.callback(result)
