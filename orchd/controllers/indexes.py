"""Sets of completion indexes as intervals: their cost follows the text of status.completedIndexes, not the numbers that
it names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

#: An index: the digits of an int32.
_INDEX: Final = re.compile(r"[0-9]{1,10}\Z")
#: A part of a list of indexes: ``3`` or ``5-7``.
_PART: Final = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?\Z")


@dataclass(frozen=True, slots=True)
class IndexSet:
    """Immutable set of indexes: ascending pairs of the first and the last one, which neither overlap nor touch."""

    intervals: tuple[tuple[int, int], ...] = ()

    def __contains__(self, index: int) -> bool:
        at = bisect_right(self.intervals, index, key=_first)
        return at > 0 and index <= self.intervals[at - 1][1]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    @property
    def size(self) -> int:
        """About the bytes of the text, for a caller of `txkit.compute_thread`."""
        return 8 * len(self.intervals)

    def __str__(self) -> str:
        """``0-2,5,7,8``: as status.completedIndexes has it."""
        return ",".join(
            str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}"
            for first, last in self.intervals
        )

    def with_indexes(self, indexes: Iterable[int]) -> IndexSet:
        """The union with single indexes."""
        added = [(index, index) for index in indexes]
        return _merged([*self.intervals, *added]) if added else self

    def union(self, other: IndexSet) -> IndexSet:
        """The union with another set."""
        return _merged([*self.intervals, *other.intervals])

    def count_common(self, other: IndexSet) -> int:
        """Number of indexes that both sets have."""
        mine, theirs, common = iter(self.intervals), iter(other.intervals), 0
        one, two = next(mine, None), next(theirs, None)
        while one is not None and two is not None:
            common += max(0, min(one[1], two[1]) - max(one[0], two[0]) + 1)
            if one[1] < two[1]:
                one = next(mine, None)
            else:
                two = next(theirs, None)
        return common

    def missing(self, count: int, most: int) -> list[int]:
        """The first `count` indexes below `most` that are not in the set."""
        out: list[int] = []
        begin = 0
        for first, last in (*self.intervals, (most, most)):
            out += islice(range(begin, min(first, most)), count - len(out))
            if len(out) == count:
                break
            begin = last + 1
        return out


def parse_index(text: str) -> int | None:
    """The index that a pod's annotation names; None for any other text."""
    return int(text) if _INDEX.match(text) else None


def _first(interval: tuple[int, int]) -> int:
    return interval[0]


def _merged(intervals: list[tuple[int, int]]) -> IndexSet:
    intervals.sort()
    out: list[tuple[int, int]] = []
    for first, last in intervals:
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return IndexSet(tuple(out))


def parse_indexes(text: str, most: int) -> IndexSet:
    """The indexes below `most` that ``0,2-4`` names. Invalid parts, which another client must have written, are
    ignored."""
    intervals: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        match = _PART.match(part)
        if match is not None:
            first = int(match[1])
            last = min(int(match[2] or first), most - 1)
            if first <= last:
                intervals.append((first, last))
    return _merged(intervals)
