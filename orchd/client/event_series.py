"""Which Events of the events group are written, and how: the second equal one opens a series, later ones are counted in it.

Pure bookkeeping over Event objects; `orchd/client/events.py` writes what this decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchd.client.interfaces import Object
from orchd.client.times import micro_time
from orchd.txkit.lru_cache import LruCache

#: Events that are remembered.
CACHE_SIZE = 4096
#: Seconds without an equal event after which a series is over, and between looks for such.
FINISH_SECONDS = 360.0
#: Seconds after which the count of a series that goes on is written.
REFRESH_SECONDS = 1800.0

_FIELDS = ("action", "reason", "reportingController", "reportingInstance")
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_Key = tuple[Any, ...]


@dataclass(slots=True)
class _Entry:
    """`count` is 1 before there is a series. `last` is when an equal event came, seconds since the epoch."""

    event: Object
    last: float
    count: int = 1


@dataclass(frozen=True, slots=True)
class Serial:
    """An Event to write. With `patch` it was written before, and the patch is enough unless it is gone."""

    key: _Key
    event: Object
    patch: Object | None


class SeriesCache:
    """Sees every event of one broadcaster, in order. `now` is seconds since the epoch."""

    def __init__(self) -> None:
        self._entries: LruCache[_Key, _Entry] = LruCache(CACHE_SIZE)

    def observe(self, event: Object, now: float) -> Serial | None:
        """What to write for a new event; None when counting it is enough for now."""
        key = _key(event)
        entry = self._entries.get(key)
        if entry is None:
            self._entries.put(key, _Entry(event, now))
            return Serial(key, event, None)
        entry.count += 1
        entry.last = now
        return _serial(key, entry) if entry.count == 2 else None

    def refresh(self) -> Iterable[Serial]:
        """All series with their counts of now."""
        return [_serial(key, entry) for key, entry in self._entries.items() if entry.count > 1]

    def finish(self, now: float) -> Iterable[Serial]:
        """Forget what has not come again for a while; what is left to write are the last counts of series."""
        over = [(key, entry) for key, entry in self._entries.items() if now - entry.last > FINISH_SECONDS]
        for key, _ in over:
            self._entries.remove(key)
        return [_serial(key, entry) for key, entry in over if entry.count > 1]

    def forget(self, key: _Key) -> None:
        """The event could not be written: the next equal one begins anew."""
        self._entries.remove(key)


def _serial(key: _Key, entry: _Entry) -> Serial:
    series = {"count": entry.count, "lastObservedTime": micro_time(entry.last)}
    return Serial(key, {**entry.event, "series": series}, {"series": series})


def _key(event: Object) -> _Key:
    related = event.get("related") or {}
    return (
        *(event[name] for name in _FIELDS),
        *(event["regarding"].get(name, "") for name in _REFERENCE),
        *(related.get(name, "") for name in _REFERENCE),
    )
