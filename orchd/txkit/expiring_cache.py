"""A bounded memory whose entries end by themselves."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ExpiringCache(Generic[K, V]):
    """At most `capacity` entries, the least recently used goes first. `seconds` is a clock that never goes back."""

    def __init__(self, capacity: int, seconds: Callable[[], float]) -> None:
        self._capacity = capacity
        self._seconds = seconds
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """What was put under `key`, None when it has expired or was never there."""
        found = self._entries.get(key)
        if found is None:
            return None
        if self._seconds() >= found[1]:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, ttl: float) -> None:
        """Keep `value` for `ttl` seconds; for none at all when that is not above 0."""
        if ttl <= 0:
            self._entries.pop(key, None)
            return
        self._entries[key] = (value, self._seconds() + ttl)
        self._entries.move_to_end(key)
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)

    def forget(self) -> None:
        """Drop everything."""
        self._entries.clear()
