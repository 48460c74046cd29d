"""Reasons for which nodes were rejected: per row the first rejecting filter and its code, converted to statuses on
demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IRefusals, IRowFilter
from orchd.scheduler.values import Code, Status, count_reasons

if TYPE_CHECKING:
    from numpy.typing import NDArray


def count_refusals(refused: Refusals) -> str:
    """How many nodes have each reason."""
    return f"0/{refused.nodes} nodes are available: {', '.join(refused.counted())}."


def explain_refusals(refused: Refusals) -> str:
    """How many nodes have each reason, or the reason that holds for the pod as a whole, and why nothing could be done
    about it."""
    reasons = refused.counted() if refused.everywhere is None else [refused.everywhere.message]
    parts = [f"0/{refused.nodes} nodes are available:", *([f"{', '.join(reasons)}."] if reasons else ())]
    if refused.explanations:
        parts.append(", ".join(refused.explanations))
    return " ".join(parts)


#: By the release that begins a rule.
MESSAGES: Final[Sequence[tuple[str, Callable[[Refusals], str]]]] = (("", count_refusals), ("1.26", explain_refusals))


@implementer(IRefusals)
class Refusals:
    """`found` are (name, filter, codes of all rows) in the order of the filters. `single` holds statuses of single
    rows, which come before those; `everywhere` is a pre-filter's, for all rows."""

    def __init__(
        self,
        snapshot: Snapshot,
        rows: NDArray[np.intp],
        judged: Iterable[tuple[str, IRowFilter, NDArray[np.int64]]],
        single: dict[int, Status],
        everywhere: Status | None = None,
    ) -> None:
        self._snapshot = snapshot
        self.single = single
        self.everywhere = everywhere
        #: Why post-filter plugins could do nothing.
        self.explanations: list[str] = []
        #: True if the other post-filter plugins are not asked.
        self.explained = False
        self._judges: list[tuple[str, IRowFilter]] = []
        self._rows = rows
        self._which = np.full(len(rows), -1, dtype=np.int16)
        self._codes = np.zeros(len(rows), dtype=np.int64)
        for name, judge, codes in judged:
            here = codes[rows]
            new = (self._which < 0) & (here != 0)
            if new.any():
                self._which[new] = len(self._judges)
                self._codes[new] = here[new]
                self._judges.append((name, judge))
        self._statuses: dict[tuple[int, int], Status] = {}

    def _status(self, which: int, code: int) -> Status:
        status = self._statuses.get((which, code))
        if status is None:
            name, judge = self._judges[which]
            plain = judge.status(code)
            status = self._statuses[which, code] = Status(plain.code, plain.reasons, name)
        return status

    def _each(self) -> Iterator[tuple[int, Status]]:
        """Rows rejected by columns without a status of their own."""
        for row, which, code in zip(self._rows.tolist(), self._which.tolist(), self._codes.tolist(), strict=True):
            if which >= 0 and row not in self.single:
                yield row, self._status(which, code)

    def statuses(self) -> dict[int, Status]:
        """Statuses by row."""
        if self.everywhere is not None:
            return dict.fromkeys(self._snapshot.rows().tolist(), self.everywhere)
        return {**dict(self._each()), **self.single}

    def status(self, row: int) -> Status | None:
        if self.everywhere is not None:
            return self.everywhere
        if row in self.single:
            return self.single[row]
        at = np.nonzero(self._rows == row)[0]
        if not len(at) or self._which[at[0]] < 0:
            return None
        return self._status(int(self._which[at[0]]), int(self._codes[at[0]]))

    def _groups(self) -> Iterator[tuple[Status, int]]:
        """Distinct statuses with the number of nodes that have them."""
        if self.everywhere is not None:
            yield self.everywhere, self._snapshot.count
            return
        which, codes = self._which, self._codes
        if self.single:
            apart = np.isin(self._rows, list(self.single))
            which, codes = which[~apart], codes[~apart]
            for status in self.single.values():
                yield status, 1
        for number in range(len(self._judges)):
            values, counts = np.unique(codes[which == number], return_counts=True)
            for code, count in zip(values.tolist(), counts.tolist(), strict=True):
                yield self._status(number, code), count

    def size(self) -> int:
        """Bytes of its arrays."""
        return self._rows.nbytes + self._which.nbytes + self._codes.nbytes

    def reasons(self) -> dict[str, int]:
        """Number of nodes by reason."""
        return count_reasons(self._groups())

    def plugins(self) -> frozenset[str]:
        """Plugins that rejected any node."""
        return frozenset(status.plugin for status, _ in self._groups() if status.plugin)

    def resolvable(self) -> Sequence[int]:
        if self.everywhere is not None:
            return () if self.everywhere.code is Code.UNRESOLVABLE else self._snapshot.rows().tolist()
        helps = np.zeros(self._snapshot.size, dtype=np.bool_)
        for number in range(len(self._judges)):
            here = self._which == number
            for code in np.unique(self._codes[here]).tolist():
                if self._status(number, code).code is not Code.UNRESOLVABLE:
                    helps[self._rows[here & (self._codes == code)]] = True
        for row, status in self.single.items():
            helps[row] = status.code is not Code.UNRESOLVABLE
        rows = self._snapshot.rows()
        resolvable: list[int] = rows[helps[rows]].tolist()
        return resolvable

    def explain(self, reason: str, *, last: bool = False) -> None:
        self.explanations.append(reason)
        self.explained = last

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self._snapshot.count

    def counted(self) -> list[str]:
        """Each reason with its number of nodes, sorted as texts."""
        return sorted(f"{nodes} {reason}" for reason, nodes in self.reasons().items())
