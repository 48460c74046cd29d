"""Series of events.{abbr}.io Events: the second equal event starts a series, later ones increase its count.

Pure functions over Event objects and a bounded cache; `orchd/client/events.py` writes the results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import microtime
from orchd.txkit.lru_cache import LruCache

#: Maximum number of cached events.
CACHE_SIZE = 4096
#: Seconds without an equal event after which a series ends, and between checks for ended series.
FINISH_SECONDS = 360.0
#: Seconds between writes of the count of a continuing series.
REFRESH_SECONDS = 1800.0

_FIELDS = ("action", "reason", "reportingController", "reportingInstance")
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_Key = tuple[Any, ...]


@dataclass(slots=True)
class _Entry:
    """`count` is 1 until a series starts. `last` is the time of the last equal event, in seconds since the epoch."""

    event: Object
    last: float
    count: int = 1


@dataclass(frozen=True, slots=True)
class Serial:
    """An Event to write. With `patch` it exists already unless it was deleted."""

    key: _Key
    event: Object
    patch: Object | None


class SeriesCache:
    """Processes every event of one broadcaster, in order. `now` is seconds since the epoch."""

    def __init__(self) -> None:
        self._entries: LruCache[_Key, _Entry] = LruCache(CACHE_SIZE)

    def observe(self, event: Object, now: float) -> Serial | None:
        """The Event to write for a new event; None if it was only counted."""
        key = _key(event)
        entry = self._entries.get(key)
        if entry is None:
            self._entries.put(key, _Entry(event, now))
            return Serial(key, event, None)
        entry.count += 1
        entry.last = now
        return _serial(key, entry) if entry.count == 2 else None

    def refresh(self) -> Iterable[Serial]:
        """All series with their current counts."""
        return [_serial(key, entry) for key, entry in self._entries.items() if entry.count > 1]

    def finish(self, now: float) -> Iterable[Serial]:
        """Remove events that have not recurred. Returns the final counts of the series that ended."""
        over = [(key, entry) for key, entry in self._entries.items() if now - entry.last > FINISH_SECONDS]
        for key, _ in over:
            self._entries.remove(key)
        return [_serial(key, entry) for key, entry in over if entry.count > 1]

    def forget(self, key: _Key) -> None:
        """Remove an event that could not be written: the next equal one is treated as new."""
        self._entries.remove(key)


def _serial(key: _Key, entry: _Entry) -> Serial:
    series = {"count": entry.count, "lastObservedTime": microtime(entry.last)}
    return Serial(key, {**entry.event, "series": series}, {"series": series})


def _key(event: Object) -> _Key:
    related = event.get("related") or {}
    return (
        *(event[name] for name in _FIELDS),
        *(event["regarding"].get(name, "") for name in _REFERENCE),
        *(related.get(name, "") for name in _REFERENCE),
    )
