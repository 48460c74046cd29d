"""Which core/v1 Events are written, and how: similar ones combined, equal ones counted, floods cut off.

Pure bookkeeping over Event objects; `orchd/client/events.py` writes what this decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from orchd.client.interfaces import Object
from orchd.txkit.lru_cache import LruCache
from orchd.txkit.token_bucket import TokenBucket

#: Entries of each of the three memories.
CACHE_SIZE = 4096
#: From so many different messages on, within so many seconds of one another, similar events are combined.
COMBINE_FROM, COMBINE_SECONDS = 10, 600.0
#: Events of one source about one object: at once, and per second after that.
SPAM_BURST, SPAM_RATE = 25, 1 / 300.0
COMBINED_PREFIX = "(combined from similar events): "

_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Correlated:
    """An Event to write. With `patch` it was written before under the same name, and the (strategic merge) patch is
    enough unless it is gone."""

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
    """Sees every event of one broadcaster, in order. `wall` is seconds since the epoch."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._similar: LruCache[_Key, _Similar] = LruCache(CACHE_SIZE)
        self._observed: LruCache[_Key, _Observed] = LruCache(CACHE_SIZE)
        self._buckets: LruCache[_Key, TokenBucket] = LruCache(CACHE_SIZE)

    def correlate(self, event: Object) -> Correlated | None:
        """What to write for a new event; None when its source writes too much about its object."""
        event, key = self._combine(event)
        found = self._count(event, key)
        now = self._wall()
        bucket = self._buckets.obtain(_source_and_object(event), lambda: TokenBucket(SPAM_RATE, SPAM_BURST, now))
        return found if bucket.take(now) else None

    def _combine(self, event: Object) -> tuple[Object, _Key]:
        """The event itself, or the one that stands for it and those like it; with the key of what is equal to it."""
        key = (*_source_and_object(event), event["type"], event["reason"])
        now = self._wall()
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
    source, about = event["source"], event["involvedObject"]
    return (
        source.get("component", ""),
        source.get("host", ""),
        *(about.get(name, "") for name in ("kind", "namespace", "name", "uid", "apiVersion")),
    )
