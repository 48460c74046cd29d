"""Those who wait until the other end of a stream takes data again."""

from __future__ import annotations

from twisted.internet.defer import Deferred


class DrainWaiters:
    """The waiters of one stream. Each is told once: that there is room again, or why there never will be.

    As many as call `wait`, which its user bounds: one stream has one writer, or a few."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Deferred[None]] = []

    def wait(self) -> Deferred[None]:
        """Fires at `opened`, fails at `lost`. Cancel it to wait no longer."""
        waiting: Deferred[None] = Deferred(self._waiting.remove)
        self._waiting.append(waiting)
        return waiting

    def opened(self) -> None:
        """There is room again. Who waits anew from here on waits for the next time."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            waiting.pop(0).callback(None)

    def lost(self, why: type[Exception]) -> None:
        """The other end is gone: each gets an exception of its own."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            waiting.pop(0).errback(why())
