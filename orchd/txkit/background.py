"""An owner for work that nobody waits for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start
from orchd.txkit.timeouts import within


class Background:
    """Runs coroutines on behalf of one owner, who is told when one fails and who waits for all when stopping.

    `failed(name, failure)` is called after the failure has been logged; CancelledError is an end like any other.
    """

    _log = Logger()

    def __init__(self, failed: Callable[[str, Failure], object] | None = None) -> None:
        self._failed = failed
        self._running: dict[Deferred[Any], str] = {}
        self._stopping = False
        self._idle: list[Deferred[None]] = []

    def __len__(self) -> int:
        return len(self._running)

    def add(self, coro: Coroutine[Deferred[Any], Any, object], name: str = "") -> None:
        """Start `coro`. After `stop` it is closed unrun: there is nobody left to own it."""
        if self._stopping:
            coro.close()
            return
        name = name or getattr(coro, "__qualname__", repr(coro))
        task = start(coro)
        self._running[task] = name
        task.addBoth(self._ended, task)

    def _ended(self, result: object, task: Deferred[Any]) -> None:
        name = self._running.pop(task)
        if isinstance(result, Failure) and not result.check(CancelledError):
            self._log.failure("{name} failed", failure=result, name=name)
            if self._failed is not None:
                self._failed(name, result)
        if not self._running:
            waiting, self._idle = self._idle, []
            for one in waiting:
                one.callback(None)

    async def idle(self) -> None:
        """Wait until nothing runs."""
        if self._running:
            waiting: Deferred[None] = Deferred(self._forget)
            self._idle.append(waiting)
            await waiting

    def _forget(self, waiting: Deferred[None]) -> None:
        self._idle.remove(waiting)

    async def finish(self, seconds: float, clock: IReactorTime) -> int:
        """Take no more work, wait for the end of what runs, and cancel what has not ended within `seconds` of `clock`:
        as many as that is the result."""
        self._stopping = True
        try:
            await within(start(self.idle()), seconds, clock)
        except TimeoutError:
            """Counted below."""
        late = len(self._running)
        await self.stop()
        return late

    async def stop(self, *, cancel: bool = True) -> None:
        """Take no more work, cancel what runs (or, with `cancel` false, let it finish) and wait for its end."""
        self._stopping = True
        if cancel:
            for task in list(self._running):
                task.cancel()
        await self.idle()
