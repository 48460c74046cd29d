"""Results of a profile's columnar plugins per pod template, cached between scheduling cycles.

Results of local filters and scores are columns. A cycle recomputes only the rows that changed since the last one. A
part is compiled again when its plugin's epoch or the number of rows has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import ISingleRow
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import Columns, CycleState
from orchd.txkit.lru_cache import LruCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Rows = NDArray[np.intp]

#: Templates whose results are cached per profile.
MAX_TEMPLATES = 256
#: All rows are recomputed if more than one in this many changed.
_FULL_RECOMPUTE_SHARE = 4
_ALL_COLUMNS = int(Columns.ALL)


def one_row(compiled: object, many: str) -> Callable[[int], int]:
    """A function for the code or score of one row: `ISingleRow.at` if provided, else the method named `many` on one
    row."""
    if ISingleRow.providedBy(compiled):
        single: Callable[[int], int] = compiled.at
        return single
    return lambda row: int(getattr(compiled, many)(np.array([row], dtype=np.intp))[0])


class Part:
    """One filter or score plugin. `compiled` is None or a number if the plugin treats all nodes alike. `column` has the
    values of a local one, by row; None otherwise. `read` names the method of the compiled rows that returns values."""

    __slots__ = ("_compile", "_read", "column", "columns", "compiled", "epoch", "index", "local", "one", "plugin")

    def __init__(self, index: int, plugin: Any, compile_rows: Callable[[CycleState, Pod], Any], read: str) -> None:
        self.index = index
        self.plugin = plugin
        self._compile = compile_rows
        self._read = read
        self.epoch = -1
        self.compiled: Any = None
        self.column: Any = None
        self.one: Callable[[int], int] = one_row(None, read)
        self.local = False
        self.columns = 0

    def compile(self, state: CycleState, pod: Pod) -> None:
        self.epoch = self.plugin.epoch
        self.compiled = self._compile(state, pod)
        rows = None if isinstance(self.compiled, int) else self.compiled
        self.local = rows is not None and rows.local
        self.columns = 0 if rows is None else int(rows.columns) | int(Columns.ROWS)
        self.column = self.values(None) if self.local else None
        self.one = one_row(rows, self._read)

    def values(self, rows: Rows | None) -> Any:
        """The values of a local part for `rows`, or for all rows if None."""
        return getattr(self.compiled, self._read)(rows)


class Evaluation:
    """Results for one template. `passing` marks the rows that pass every local filter."""

    __slots__ = ("_snapshot", "_version", "filters", "passing", "scores", "size")

    def __init__(
        self, snapshot: Snapshot, filters: Sequence[tuple[int, Any]], scores: Sequence[tuple[int, Any]]
    ) -> None:
        self._snapshot = snapshot
        self._version = -1
        self.size = 0
        self.filters = [Part(index, plugin, plugin.compile_filter, "codes") for index, plugin in filters]
        self.scores = [Part(index, plugin, plugin.compile_score, "scores") for index, plugin in scores]
        self.passing: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)

    def refresh(self, state: CycleState, pod: Pod) -> None:
        """Apply all changes since the last call."""
        snapshot = self._snapshot
        recompiled = resized = self.size != snapshot.size
        # A part compiled for an older epoch must not be evaluated for rows added since.
        for part in self.filters:
            if resized or part.epoch != part.plugin.epoch:
                part.compile(state, pod)
                recompiled = True
        for score in self.scores:
            if resized or score.epoch != score.plugin.epoch:
                score.compile(state, pod)
        if not resized and self._version != snapshot.version:
            self._follow()
        self.size = snapshot.size
        self._version = snapshot.version
        if recompiled:
            self._join(None)

    def _follow(self) -> None:
        """Recompute the rows that changed since the last call."""
        changes = self._snapshot.log.since(self._version)
        touched: dict[int, int] = {}
        if changes is not None:
            for row, columns in changes:
                touched[row] = touched.get(row, 0) | columns
        if changes is None or len(touched) * _FULL_RECOMPUTE_SHARE > self.size:
            self._compute_all()
            return
        if len(touched) == 1:
            self._follow_row(*touched.popitem())
            return
        rows_by_columns: dict[int, Rows | None] = {}
        for part in (*self.filters, *self.scores):
            if part.local:
                rows = _rows(touched, part.columns, rows_by_columns)
                if rows is not None:
                    part.column[rows] = part.values(rows)
        self._join(_rows(touched, _ALL_COLUMNS, rows_by_columns))

    def _follow_row(self, row: int, columns: int) -> None:
        """`_follow` for the common case of a single changed row."""
        passes = bool(self._snapshot.alive[row])
        for part in self.filters:
            codes = part.column
            if codes is None:
                continue
            if part.columns & columns:
                codes[row] = part.one(row)
            passes = passes and not codes[row]
        for score in self.scores:
            if score.column is not None and score.columns & columns:
                score.column[row] = score.one(row)
        self.passing[row] = passes

    def _compute_all(self) -> None:
        for part in (*self.filters, *self.scores):
            if part.local:
                part.column = part.values(None)
        self._join(None)

    def _join(self, rows: Rows | None) -> None:
        """Recompute `passing` for `rows`, or for all rows if None."""
        if rows is None:
            passing = self._snapshot.alive.copy()
            for part in self.filters:
                if part.column is not None:
                    passing &= part.column == 0
            self.passing = passing
            return
        some = self._snapshot.alive[rows]
        for part in self.filters:
            if part.column is not None:
                some &= part.column[rows] == 0
        self.passing[rows] = some


def _rows(touched: dict[int, int], columns: int, rows_by_columns: dict[int, Rows | None]) -> Rows | None:
    """Rows in which any of `columns` changed; None if there are none."""
    if columns in rows_by_columns:
        return rows_by_columns[columns]
    rows = [row for row, what in touched.items() if what & columns]
    rows_ = rows_by_columns[columns] = np.array(rows, dtype=np.intp) if rows else None
    return rows_


class Evaluations:
    """Evaluations of one profile, for the most recently used templates."""

    def __init__(
        self, snapshot: Snapshot, filters: Sequence[tuple[int, Any]], scores: Sequence[tuple[int, Any]]
    ) -> None:
        self._snapshot = snapshot
        self._filters = filters
        self._scores = scores
        self._evaluations: LruCache[PodTemplate, Evaluation] = LruCache(MAX_TEMPLATES)

    def of(self, state: CycleState, pod: Pod) -> Evaluation:
        """The current evaluation of a pod's template."""
        evaluation = self._evaluations.obtain(
            pod.template, lambda: Evaluation(self._snapshot, self._filters, self._scores)
        )
        evaluation.refresh(state, pod)
        return evaluation
