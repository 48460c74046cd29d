"""Work that would keep the reactor from its other clients for too long, done in another thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from twisted.internet.defer import DeferredLock

T = TypeVar("T")

#: Bytes of input above which work is done in the other thread.
LARGE: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Aside:
    """Calls pure functions of large inputs in another thread, one after the other: more threads that compute would keep
    the reactor's own from running. `in_thread` calls a function there; without one it is called where it stands."""

    in_thread: Callable[..., Awaitable[Any]] | None = None
    _lock: DeferredLock = field(default_factory=DeferredLock)

    async def __call__(self, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """Returns or raises the result of `function`. `size` is the size of its input in bytes."""
        if self.in_thread is None or size <= LARGE:
            return function(*arguments)
        await self._lock.acquire()
        try:
            made: T = await self.in_thread(function, *arguments)
        finally:
            self._lock.release()
        return made
