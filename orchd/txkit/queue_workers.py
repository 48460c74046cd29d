"""Workers on the keys of a queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime

from orchd.txkit.background import Background
from orchd.txkit.log import Logger
from orchd.txkit.work_queue import WorkQueue

K = TypeVar("K", bound=Hashable)


class QueueWorkers(Generic[K]):
    """Calls `look` with the added keys in order, at most `at_once` at a time and one at a time for each key.

    `look` returns the seconds after which the key is added again, None for never; adding it earlier replaces that. If
    it raises, the error is logged and the key dropped until it is added again, so that one failing object does not
    block others. `what` names the kind of object in messages.
    """

    _log = Logger()

    def __init__(
        self, what: str, look: Callable[[K], Awaitable[float | None]], clock: IReactorTime, *, at_once: int = 1
    ) -> None:
        self._what = what
        self._look = look
        self._at_once = at_once
        self._queue: WorkQueue[K] = WorkQueue(clock)
        self._background = Background()

    def add(self, key: K) -> None:
        """Queue `key`. Keys may be added before the start."""
        self._queue.add(key)

    def start(self) -> None:
        self._background = Background()
        for _ in range(self._at_once):
            self._background.add(self._work(), f"looking after each {self._what}")

    async def stop(self) -> None:
        """Cancel current calls and drop delayed keys; queued keys wait for the next start."""
        await self._background.stop()
        self._queue.drop_delayed()

    async def _work(self) -> None:
        while (key := await self._queue.get()) is not None:
            try:
                pause = await self._look(key)
                # It may have been added again during the call: once is enough.
                if pause is not None and key not in self._queue:
                    self._queue.add_after(key, pause)
            except CancelledError:
                raise
            except Exception:
                self._log.failure("{what} {name} failed and is not retried", what=self._what, name=key)
            finally:
                self._queue.done(key)
