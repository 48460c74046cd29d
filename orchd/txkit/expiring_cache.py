"""A bounded cache whose entries expire."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ExpiringCache(Generic[K, V]):
    """An LRU cache of at most `capacity` entries with a time to live each. `clock` returns monotonic seconds."""

    def __init__(self, capacity: int, clock: Callable[[], float]) -> None:
        self._capacity = capacity
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value of `key`, None if it is absent or has expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._clock() >= entry[1]:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, ttl: float) -> None:
        """Store `value` for `ttl` seconds. With `ttl` <= 0, remove `key` instead."""
        if ttl <= 0:
            self._entries.pop(key, None)
            return
        self._entries[key] = (value, self._clock() + ttl)
        self._entries.move_to_end(key)
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
