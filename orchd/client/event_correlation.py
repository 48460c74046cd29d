"""Correlation of core/v1 Events before they are written: aggregation of similar events, counting of equal ones, rate
limit per source and object.

Pure functions over Event objects and bounded caches; `orchd/client/events.py` writes the results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from orchd.kinds.jsonvalues import Object
from orchd.txkit.lru_cache import LruCache
from orchd.txkit.token_bucket import TokenBucket

#: Maximum number of entries of each cache.
CACHE_SIZE = 4096
#: Number of different messages from which similar events are aggregated, and the interval in seconds in which they
#: count.
COMBINE_FROM, COMBINE_SECONDS = 10, 600.0
#: Burst and rate (per second) of the events of one source about one object.
SPAM_BURST, SPAM_RATE = 25, 1 / 300.0
COMBINED_PREFIX = "(combined from similar events): "

_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Correlated:
    """An Event to write. With `patch`, a strategic merge patch, the Event exists already unless it was deleted."""

    event: Object
    patch: Object | None


@dataclass(slots=True)
class _Similar:
    messages: set[str] = field(default_factory=set)
    last: float = float("-inf")


@dataclass(slots=True)
class _Observed:
    count: int
    first: str
    name: str


class Correlator:
    """Processes every event of one broadcaster, in order. `wall` is seconds since the epoch."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._similar: LruCache[_Key, _Similar] = LruCache(CACHE_SIZE)
        self._observed: LruCache[_Key, _Observed] = LruCache(CACHE_SIZE)
        self._buckets: LruCache[_Key, TokenBucket] = LruCache(CACHE_SIZE)

    def correlate(self, event: Object) -> Correlated | None:
        """The Event to write for a new event; None if the source exceeds its rate for the object."""
        about, now = _source_and_object(event), self._wall()
        event, key = self._combine(event, about, now)
        correlated = self._count(event, key)
        bucket = self._buckets.obtain(about, lambda: TokenBucket(SPAM_RATE, SPAM_BURST, now))
        return correlated if bucket.take(now) else None

    def _combine(self, event: Object, about: _Key, now: float) -> tuple[Object, _Key]:
        """The event, or the aggregate of similar events; and its key for counting."""
        key = (*about, event["type"], event["reason"])
        similar = self._similar.obtain(key, _Similar)
        if now - similar.last > COMBINE_SECONDS:
            similar.messages.clear()
        similar.messages.add(event["message"])
        similar.last = now
        if len(similar.messages) < COMBINE_FROM:
            return event, (*key, event["involvedObject"].get("fieldPath", ""), event["message"])
        similar.messages.pop()
        return {**event, "message": COMBINED_PREFIX + event["message"]}, key

    def _count(self, event: Object, key: _Key) -> Correlated:
        before = self._observed.get(key)
        if before is None:
            self._observed.put(key, _Observed(1, event["firstTimestamp"], event["metadata"]["name"]))
            return Correlated(event, None)
        before.count += 1
        again = {
            **event,
            "metadata": {**event["metadata"], "name": before.name},
            "firstTimestamp": before.first,
            "count": before.count,
        }
        return Correlated(again, {name: again[name] for name in ("count", "lastTimestamp", "message")})


def _source_and_object(event: Object) -> _Key:
    source, about = event["source"].get, event["involvedObject"].get
    return (
        source("component", ""),
        source("host", ""),
        about("kind", ""),
        about("namespace", ""),
        about("name", ""),
        about("uid", ""),
        about("apiVersion", ""),
    )
