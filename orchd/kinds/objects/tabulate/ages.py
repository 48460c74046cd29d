"""Durations and ages in the short form of table cells."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"


def human_duration(seconds: int) -> str:
    """A duration with at most two units, finer for shorter times: ``61s``, ``2m1s``, ``3h``, ``2d1h``, ``2y10d``."""
    if seconds < 120:
        if seconds < 0:
            return INVALID if seconds < -1 else "0s"
        return f"{seconds}s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, rest = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, rest = divmod(hours, 24)
    if days < 8:
        return f"{days}d{rest}h" if rest else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, rest = divmod(days, 365)
    if years < 8 and rest:
        return f"{years}y{rest}d"
    return f"{years}y"


class Ages:
    """Ages at one moment. Call with a time of an object (RFC 3339, None where it has none)."""

    __slots__ = ("_now", "_texts")

    def __init__(self, now: datetime) -> None:
        """`now` has a time zone."""
        self._now = now.astimezone(UTC)
        self._texts: dict[str | None, str] = {None: UNKNOWN, "": UNKNOWN}

    def __call__(self, time: str | None) -> str:
        text = self._texts.get(time)
        if text is None and time is not None:
            text = self._texts[time] = human_duration(int((self._now - datetime.fromisoformat(time)).total_seconds()))
        return text or UNKNOWN

    def of_custom(self, time: str) -> str:
        """The age of a value of a custom object, which may not be a time."""
        try:
            moment = datetime.fromisoformat(time)
        except ValueError:
            return INVALID
        if moment.tzinfo is None or "T" not in time.upper():
            return INVALID
        return self(time)


def between(start: str, end: str) -> str:
    """The time from `start` to `end`."""
    return human_duration(int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()))
