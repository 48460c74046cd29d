"""Texts of job indexes: numbers and intervals, as in ``1,3-5``."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds.digits import integer
from orchd.kinds.gotext.values import quote

_NUMBER: Final = re.compile("[-+]?[0-9]{1,19}").fullmatch


class IndexesError(ValueError):
    """A malformed text; the message is that of the reference."""


def count(text: str, completions: int) -> int:
    """The number of indexes in a text, which must ascend and be less than `completions`. Raises IndexesError."""
    last, total = -1, 0
    for part in text.split(",") if text else ():
        first, end = interval(part, completions)
        if last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def interval(part: str, completions: int) -> tuple[int, int]:
    """The first and the last index of a part. Raises IndexesError."""
    limits = part.split("-")
    if len(limits) > 2:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise IndexesError(f"the fragment {quote(part)} {why}")
    first = last = _index(limits[0], completions)
    if len(limits) > 1:
        last = _index(limits[1], completions)
        if first >= last:
            raise IndexesError(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not _NUMBER(text):
        raise IndexesError(f"cannot convert string to integer for index: {quote(text)}")
    if integer(text) >= completions:
        raise IndexesError(f"too large index: {quote(text)}")
    return integer(text)


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that both texts have; None without one. Malformed parts are skipped."""
    left, right = (_intervals(text, completions) for text in (completed, failed))
    i = j = 0
    while i < len(left) and j < len(right):
        (start, end), (first, last) = left[i], right[j]
        if start <= last and first <= end:
            return max(start, first)
        if start <= first:
            i += 1
        else:
            j += 1
    return None


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    intervals = []
    for part in text.split(",") if text else ():
        try:
            intervals.append(interval(part, completions))
        except IndexesError:
            continue
    return intervals
