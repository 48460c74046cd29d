"""Exponential backoff by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

#: Initial back-off in seconds, doubled with each attempt, and its maximum.
_FIRST: Final = 1.0
_LONGEST: Final = 900.0


class Backoff:
    """`seconds` is a monotonic clock. Keys without an attempt for twice the maximum are dropped."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        #: Key -> (back-off, time of the last attempt).
        self._entries: dict[Hashable, tuple[float, float]] = {}

    def attempt(self, key: Hashable) -> float:
        """0 if an attempt may be made now, which counts as made; else the seconds to wait."""
        now = self._seconds()
        self._entries = {k: e for k, e in self._entries.items() if now - e[1] <= 2 * _LONGEST}
        entry = self._entries.get(key)
        if entry is None:
            self._entries[key] = (_FIRST, now)
            return 0.0
        pause, last = entry
        if now - last < pause:
            return pause - (now - last)
        self._entries[key] = (min(pause * 2, _LONGEST), now)
        return 0.0
