"""A bounded mapping that evicts the least recently used entry."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """At most `capacity` entries; `get` and `put` count as use. `evicted` is called with each value that gives way to
    another key."""

    def __init__(self, capacity: int, evicted: Callable[[V], object] = lambda value: None) -> None:
        self._capacity = capacity
        self._evicted = evicted
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        """A snapshot of all keys, the least recently used first; does not count as use."""
        return iter(list(self._entries))

    def get(self, key: K) -> V | None:
        """The value of `key`, None without one."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: K, value: V) -> None:
        """Set the value of `key`; beyond the capacity the least recently used entry is dropped."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._capacity:
            self._evicted(self._entries.popitem(last=False)[1])

    def obtain(self, key: K, make: Callable[[], V]) -> V:
        """The value of `key`; on a miss, the value of `make()`, which is added."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def remove(self, key: K) -> None:
        """Remove `key` if it exists."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()

    def values(self) -> Iterable[V]:
        """The current values; does not count as use. Valid until the next change."""
        return self._entries.values()

    def items(self) -> Iterator[tuple[K, V]]:
        """A snapshot of all entries, the least recently used first; does not count as use."""
        return iter(list(self._entries.items()))
