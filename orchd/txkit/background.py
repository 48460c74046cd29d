"""Owners of background coroutines."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.timeouts import within


class Background:
    """Runs coroutines for one owner, reports their failures, and awaits them at shutdown.

    `failed(name, failure)` is called after a failure was logged. CancelledError is not a failure.
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
        """Start `coro`. After `stop` or `finish`, `coro` is closed without running. `name` identifies it in the log."""
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
        """Wait until no coroutine runs."""
        if self._running:
            waiting: Deferred[None] = Deferred(self._forget)
            self._idle.append(waiting)
            await waiting

    def _forget(self, waiting: Deferred[None]) -> None:
        self._idle.remove(waiting)

    async def finish(self, seconds: float, clock: IReactorTime) -> int:
        """Refuse new work, wait up to `seconds` of `clock` for running coroutines, then cancel the rest.

        Returns the number of cancelled coroutines.
        """
        self._stopping = True
        try:
            await within(start(self.idle()), seconds, clock)
        except TimeoutError:
            """Counted below."""
        late = len(self._running)
        await self.stop()
        return late

    async def stop(self, *, cancel: bool = True) -> None:
        """Refuse new work, cancel running coroutines (with `cancel` False: let them finish), and wait for their end."""
        self._stopping = True
        if cancel:
            for task in list(self._running):
                task.cancel()
        await self.idle()
