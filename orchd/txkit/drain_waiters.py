"""Writers that wait until a stream accepts data again."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail, succeed


class DrainWaiters:
    """The waiting writers of one stream. Each wait ends once: when the stream accepts data, or when it is lost.

    The number of waiters is bounded by the caller: a stream has one writer, or a few.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Deferred[None]] = []

    def wait(self) -> Deferred[None]:
        """A Deferred that fires at `opened` and fails at `lost`. Cancel it to stop waiting."""
        waiting: Deferred[None] = Deferred(self._waiting.remove)
        self._waiting.append(waiting)
        return waiting

    def writable(self, why: type[Exception], *, closed: bool, paused: bool) -> Deferred[None]:
        """The state of a stream as a Deferred: fires if it accepts data now, fails with `why` if it is closed, and
        waits else."""
        if closed:
            return fail(why())
        return self.wait() if paused else succeed(None)

    def opened(self) -> None:
        """Resume all waiters. Waits that begin during this call end at the next one."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            waiting.pop(0).callback(None)

    def lost(self, why: type[Exception]) -> None:
        """Fail all waiters, each with a new instance of `why`."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            waiting.pop(0).errback(why())
