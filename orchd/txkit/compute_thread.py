"""Pure functions of large inputs, called in another thread so that they do not block the reactor, and in turn for each
flow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start
from orchd.txkit.fair_lock import FairLock

T = TypeVar("T")

#: Bytes of input above which a function is called in the other thread.
LARGE: Final = 16 * 1024
#: For whom this context works, such as the name of a user. Code that sets it restores it.
current_flow: ContextVar[str] = ContextVar("current_flow", default="")


@dataclass(frozen=True, slots=True)
class ComputeThread:
    """Calls pure functions of large inputs in another thread, one at a time: several computing threads would starve the
    reactor's. `in_thread` calls a function there; without it, functions are called in the reactor's thread. Calls for
    different flows (`current_flow`) take turns, so that a client with many large inputs delays its own more than
    others'.

    A thread cannot be stopped: if a caller is cancelled, the next call begins only after the abandoned one has ended.
    """

    in_thread: Callable[..., Awaitable[Any]] | None = None
    _lock: FairLock = field(default_factory=FairLock)

    async def __call__(self, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """Call `function`; returns its result or raises its exception. `size` is the size of its input in bytes. Raises
        TooManyWaitingError when too many calls of the flow wait."""
        if self.in_thread is None or size <= LARGE:
            return function(*arguments)
        await self._lock.acquire(current_flow.get())
        waiting: Deferred[T] = Deferred()
        start(self._call(function, *arguments)).addBoth(self._finish, waiting)
        return await waiting

    async def _call(self, function: Callable[..., T], *arguments: Any) -> T:
        assert self.in_thread is not None, "checked by __call__"
        result: T = await self.in_thread(function, *arguments)
        return result

    def _finish(self, result: T | Failure, waiting: Deferred[T]) -> None:
        self._lock.release()
        # Does nothing for a caller that was cancelled.
        waiting.callback(result)
