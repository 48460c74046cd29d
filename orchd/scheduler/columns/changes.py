"""A bounded log of changed rows. Any number of readers follow it by version."""

from __future__ import annotations

from collections.abc import Iterator

from orchd.scheduler.values import Columns

#: Changes that the log keeps at least. Readers that are further behind recompute everything.
KEPT_CHANGES = 4096


class ChangeLog:
    """Changes of rows, oldest first. `version` counts them. A full log drops its older half."""

    __slots__ = ("_base", "_columns", "_rows", "version")

    def __init__(self) -> None:
        self.version = 0
        self._base = 0
        self._rows: list[int] = []
        self._columns: list[int] = []

    def add(self, row: int, columns: Columns | int) -> None:
        """Record that `columns` of `row` changed."""
        if len(self._rows) >= 2 * KEPT_CHANGES:
            del self._rows[:KEPT_CHANGES], self._columns[:KEPT_CHANGES]
            self._base += KEPT_CHANGES
        self._rows.append(row)
        self._columns.append(int(columns))
        self.version += 1

    def since(self, version: int) -> Iterator[tuple[int, int]] | None:
        """(row, columns) of every change after `version`; None if the log no longer has all of them."""
        begin = version - self._base
        if begin < 0:
            return None
        return zip(self._rows[begin:], self._columns[begin:], strict=True)
