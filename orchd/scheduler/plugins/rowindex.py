"""An index from names to rows that is updated one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
_NO_ROWS: frozenset[int] = frozenset()


class RowIndex(Generic[T]):
    """The names of each row, and the rows of each name."""

    def __init__(self) -> None:
        self._names: dict[int, Set[T]] = {}
        self._rows: dict[T, set[int]] = {}

    def put(self, row: int, names: Iterable[T]) -> None:
        """Set the names of a row."""
        before, after = self._names.get(row, frozenset()), frozenset(names)
        for name in before - after:
            rows = self._rows[name]
            rows.discard(row)
            if not rows:
                del self._rows[name]
        for name in after - before:
            self._rows.setdefault(name, set()).add(row)
        if after:
            self._names[row] = after
        else:
            self._names.pop(row, None)

    def rows(self, name: T) -> Set[int]:
        """The rows that have a name. Callers must not modify the result."""
        return self._rows.get(name, _NO_ROWS)

    def clear(self) -> None:
        self._names.clear()
        self._rows.clear()
