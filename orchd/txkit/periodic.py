"""A coroutine that is repeated in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger


class Periodic:
    """Calls `work` every `seconds`, one call at a time. `expected` are the errors that do not end the repetition: they
    are logged as "failed to WHAT: ERROR; retrying". Any other error is logged as a failure, and ends it."""

    _log = Logger()

    def __init__(
        self,
        what: str,
        work: Callable[[], Awaitable[object]],
        seconds: float,
        clock: IReactorTime,
        expected: tuple[type[Exception], ...],
    ) -> None:
        self._what = what
        self._work = work
        self._seconds = seconds
        self._expected = expected
        self._loop = LoopingCall(self._turn)
        self._loop.clock = clock
        self._call: Deferred[None] | None = None

    @property
    def running(self) -> bool:
        """True from `start` until `stop`, or until an unexpected error."""
        return self._loop.running

    def start(self, *, now: bool) -> None:
        """Begin with a call `now`, or after the first period."""
        self._loop.start(self._seconds, now=now).addErrback(
            lambda failure: self._log.failure("{what}: ended by an error", failure=failure, what=self._what)
        )

    def stop(self) -> None:
        """Cancel a running call, and make no other."""
        if self._loop.running:
            self._loop.stop()
        if self._call is not None:
            self._call.cancel()

    def _turn(self) -> Deferred[None]:
        self._call = start(self._once())
        return self._call

    async def _once(self) -> None:
        try:
            await self._work()
        except CancelledError:
            return
        except self._expected as error:
            self._log.warn(
                "failed to {what}: {why}; retrying", what=self._what, why=getattr(error, "message", "") or str(error)
            )
