"""Indexes of entries by label or field value. An index is built at its first query, so that memory follows use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice

from orchd.cache.entries import Entry
from orchd.txkit.lru_cache import LruCache

#: Maximum number of indexes; the least recently used one is dropped. Cost of an index: one dict lookup per change, one
#: reference per entry.
_MAX_INDEXES = 16
#: Requirements of a query whose indexes are consulted: a selector may have thousands, and each index is made of all
#: entries.
_MOST_CONSULTED = 8
_NONE: frozenset[str] = frozenset()


class _Index:
    """Paths by the value of one label or field."""

    __slots__ = ("_label", "_name", "_paths")

    def __init__(self, name: str, label: bool) -> None:
        self._name = name
        self._label = label
        self._paths: dict[str, set[str]] = {}

    def _value(self, entry: Entry) -> str | None:
        # A missing label has no value; a missing field counts as "".
        return entry.labels.get(self._name) if self._label else entry.fields.get(self._name, "")

    def replace(self, path: str, old: Entry | None, new: Entry | None) -> None:
        before = None if old is None else self._value(old)
        after = None if new is None else self._value(new)
        if before == after:
            return
        if before is not None:
            paths = self._paths[before]
            paths.discard(path)
            if not paths:
                del self._paths[before]
        if after is not None:
            paths_after = self._paths.get(after)
            if paths_after is None:
                self._paths[after] = {path}
            else:
                paths_after.add(path)

    def paths(self, value: str) -> set[str] | frozenset[str]:
        return self._paths.get(value, _NONE)


class Indexes:
    """The label and field indexes of one resource."""

    def __init__(self) -> None:
        self._indexes: LruCache[tuple[bool, str], _Index] = LruCache(_MAX_INDEXES)

    def __len__(self) -> int:
        return len(self._indexes)

    def clear(self) -> None:
        self._indexes.clear()

    def replace(self, path: str, old: Entry | None, new: Entry | None) -> None:
        """Update all indexes for an entry that was added (`old` None), changed or removed (`new` None)."""
        for index in self._indexes.values():
            index.replace(path, old, new)

    def paths(
        self, entries: Iterable[Entry], labels: Mapping[str, str], fields: Mapping[str, str]
    ) -> set[str] | frozenset[str]:
        """A superset of the paths that meet exact requirements: the result of the most selective index among those of
        the first requirements. Do not modify it."""
        best: set[str] | frozenset[str] | None = None
        requirements = chain(((True, *each) for each in labels.items()), ((False, *each) for each in fields.items()))
        for label, name, value in islice(requirements, _MOST_CONSULTED):
            candidates = self._index(entries, name, label).paths(value)
            if best is None or len(candidates) < len(best):
                best = candidates
            if not best:
                break
        return _NONE if best is None else best

    def _index(self, entries: Iterable[Entry], name: str, label: bool) -> _Index:
        def make() -> _Index:
            index = _Index(name, label)
            for entry in entries:
                index.replace(entry.path, None, entry)
            return index

        return self._indexes.obtain((label, name), make)
