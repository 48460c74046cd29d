"""Work that would keep the reactor from its other clients for too long, done in another thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred, DeferredLock
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start

T = TypeVar("T")

#: Bytes of input above which work is done in the other thread.
LARGE: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Aside:
    """Calls pure functions of large inputs in another thread, one after the other: more threads that compute would keep
    the reactor's own from running. `in_thread` calls a function there; without one it is called where it stands.

    A thread cannot be stopped: when a caller is cancelled, the next call begins only after the abandoned one has ended."""

    in_thread: Callable[..., Awaitable[Any]] | None = None
    _lock: DeferredLock = field(default_factory=DeferredLock)

    async def __call__(self, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """Returns or raises the result of `function`. `size` is the size of its input in bytes."""
        if self.in_thread is None or size <= LARGE:
            return function(*arguments)
        await self._lock.acquire()
        waiting: Deferred[T] = Deferred()
        start(self._computed(function, *arguments)).addBoth(self._ended, waiting)
        return await waiting

    async def _computed(self, function: Callable[..., T], *arguments: Any) -> T:
        assert self.in_thread is not None, "asked only then"
        made: T = await self.in_thread(function, *arguments)
        return made

    def _ended(self, result: T | Failure, waiting: Deferred[T]) -> None:
        self._lock.release()
        # Does nothing for a caller that was cancelled.
        waiting.callback(result)
