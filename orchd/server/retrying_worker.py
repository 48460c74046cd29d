"""Serial work queue of names, with retries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.errors import ApiError
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: Seconds before a failed name is retried.
_PAUSE = 1.0


class RetryingWorker:
    """Calls `look` with the added names in order, one at a time; a queued name is not added twice.

    After an ApiError a name is retried, unless its object does not exist (404). Any other error is logged, and the name
    dropped until it is added again, so that one failing object does not block others. `what` names the kind of object
    in messages.
    """

    _log = Logger()

    def __init__(self, what: str, look: Callable[[str], Awaitable[object]], clock: IReactorTime) -> None:
        self._what = what
        self._look = look
        self._clock = clock
        self._queue: dict[str, None] = {}
        self._again: dict[str, IDelayedCall] = {}
        self._waiting: Deferred[None] | None = None
        self._background = Background()

    def add(self, name: str) -> None:
        """Queue `name`. Names may be added before the start."""
        again = self._again.pop(name, None)
        if again is not None and again.active():
            again.cancel()
        self._queue[name] = None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def start(self) -> None:
        self._background = Background()
        self._background.add(self._work(), f"looking after each {self._what}")

    async def stop(self) -> None:
        """Cancel the current call."""
        await self._background.stop()
        while self._again:
            self._again.popitem()[1].cancel()

    async def _work(self) -> None:
        while True:
            while not self._queue:
                self._waiting = Deferred()
                await self._waiting
            name = next(iter(self._queue))
            del self._queue[name]
            try:
                await self._look(name)
            except CancelledError:
                raise
            except ApiError as error:
                self._failed(name, error)
            except Exception:
                self._log.failure("{what} {name} failed and is not retried", what=self._what, name=name)

    def _failed(self, name: str, error: ApiError) -> None:
        if error.code == 404:
            return
        if error.code != 409:
            self._log.warn("{what} {name}: {error}", what=self._what, name=name, error=error.message)
        # It may have been added again during the call: once is enough.
        if name not in self._queue:
            self._again[name] = self._clock.callLater(_PAUSE, self.add, name)
