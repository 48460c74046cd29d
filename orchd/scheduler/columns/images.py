"""Container images on nodes: the rows that have an image, and its size."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.scheduler.nodes import NodeFacts


class Images:
    """`version` rises when any node's images change."""

    def __init__(self) -> None:
        self.version = 0
        self._rows: dict[str, dict[int, int]] = {}

    def add(self, row: int, facts: NodeFacts) -> None:
        for names, size in facts.images:
            self.version += 1
            for name in names:
                rows = self._rows.get(name)
                if rows is None:
                    self._rows[name] = {row: size}
                else:
                    rows.setdefault(row, size)

    def remove(self, row: int, facts: NodeFacts) -> None:
        for names, _ in facts.images:
            self.version += 1
            for name in names:
                rows = self._rows.get(name, {})
                rows.pop(row, None)
                if not rows:
                    self._rows.pop(name, None)

    def rows(self, name: str) -> Mapping[int, int]:
        """Row -> bytes of an image, by its normalised name."""
        return self._rows.get(name, {})
