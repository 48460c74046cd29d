"""A call whose result is shared by concurrent waiters."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start

T = TypeVar("T")


class SharedCall(Generic[T]):
    """Runs `make()` once for all concurrent waiters.

    The call starts with the first `wait`, and is cancelled when the last waiter is cancelled. `ended` is called before
    the waiters resume, or on cancellation; `wait` must not be called afterwards.
    """

    def __init__(self, make: Callable[[], Coroutine[Deferred[Any], Any, T]], ended: Callable[[], object]) -> None:
        self._make = make
        self._ended = ended
        self._begun = False
        self._task: Deferred[T] | None = None
        self._waiting: list[Deferred[T]] = []

    async def wait(self) -> T:
        """The result of the call, or its exception."""
        waiting: Deferred[T] = Deferred(self._left)
        self._waiting.append(waiting)
        if not self._begun:
            self._begun = True
            task = start(self._make())
            self._task = task
            task.addBoth(self._done)
        return await waiting

    def _left(self, gone: Deferred[T]) -> None:
        self._waiting.remove(gone)
        if not self._waiting and self._task is not None:
            self._ended()
            self._task.cancel()

    def _done(self, result: T | Failure) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._ended()
        for one in waiting:
            if isinstance(result, Failure):
                one.errback(result)
            else:
                one.callback(result)
