"""Deadlines that are seldom reached, such as those of calls that are answered: one timer of the reactor for many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IReactorTime


class Deadline:
    """`reached` is called at a time on the reactor's clock, unless it is cancelled before."""

    __slots__ = ("_among", "at", "reached")

    def __init__(self, at: float, reached: Callable[[], object], among: dict[Deadline, None]) -> None:
        self.at = at
        self.reached = reached
        self._among = among
        among[self] = None

    def cancel(self) -> None:
        """Does nothing after the time."""
        self._among.pop(self, None)


class Deadlines:
    """Those after the same number of seconds are reached in the order in which they were made, so that only the first needs a timer."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._after: dict[float, dict[Deadline, None]] = {}

    def after(self, seconds: float, reached: Callable[[], object]) -> Deadline:
        """Have `reached` called in so many seconds. It must not raise."""
        among = self._after.get(seconds)
        if among is None:
            among = self._after[seconds] = {}
            self._clock.callLater(seconds, self._check, seconds)
        return Deadline(self._clock.seconds() + seconds, reached, among)

    def _check(self, seconds: float) -> None:
        among = self._after[seconds]
        now = self._clock.seconds()
        while among:
            first: Any = next(iter(among))
            if first.at > now:
                self._clock.callLater(first.at - now, self._check, seconds)
                return
            del among[first]
            first.reached()
        # A deadline that `reached` has made is among those, and has found them.
        del self._after[seconds]
