"""How many seats a priority level could use: those that are occupied and those that waiting requests need."""

from __future__ import annotations

from math import sqrt
from typing import Final

#: What of the smoothed demand is left after a period, once demand falls: half of it after five minutes.
_DECAY: Final = 0.977


class Demand:
    """The demand of a level over time, and what it was in the last period. All numbers are seats, times in seconds."""

    __slots__ = (
        "_began", "_changed", "_integral", "_most", "_squares", "average", "deviation", "peak", "smoothed", "value",
    )  # fmt: skip

    def __init__(self, now: float) -> None:
        self.value = 0
        #: Maximum, average over time and standard deviation of the last period, and the smoothed demand.
        self.peak = 0
        self.average = self.deviation = self.smoothed = 0.0
        self._most = 0
        self._integral = self._squares = 0.0
        self._began = self._changed = now

    def change(self, by: int, now: float) -> None:
        """The demand grows `by` seats, or falls if it is negative."""
        value, seconds = self.value, now - self._changed
        self._integral += value * seconds
        self._squares += value * value * seconds
        self._changed = now
        value += by
        self.value = value
        if value > self._most:
            self._most = value

    def end_period(self, now: float) -> None:
        """Determine the numbers of the period until `now`, and begin the next one."""
        self.change(0, now)
        self.peak, self._most = self._most, self.value
        seconds = now - self._began
        if seconds > 0:
            self.average = self._integral / seconds
            self.deviation = sqrt(max(0.0, self._squares / seconds - self.average**2))
            envelope = self.average + self.deviation
            self.smoothed = max(envelope, _DECAY * self.smoothed + (1 - _DECAY) * envelope)
        self._began = now
        self._integral = self._squares = 0.0
