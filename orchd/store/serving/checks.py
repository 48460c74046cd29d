"""Checks of writing requests before anything of them is executed (etcd: api/v3rpc/key.go)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

from orchd.store.serving.bounds import Bounds, bounds, key_text
from orchd.store.serving.errors import (
    duplicate_key,
    empty_key,
    key_not_found,
    lease_provided,
    too_many_operations,
    value_provided,
)
from orchd.store.serving.ranges import check_range

#: Maximum operations of a transaction, in each of its lists and along each path of nested ones. etcd's default is 128.
_MOST_OPERATIONS: Final = 1024


def check_put(request: Any) -> None:
    """Raises StatusError."""
    if not request.key:
        raise empty_key()
    if request.ignore_value and request.value:
        raise value_provided()
    if request.ignore_lease and request.lease:
        raise lease_provided()
    key_text(request.key)


def check_delete(request: Any) -> None:
    """Raises StatusError."""
    if not request.key:
        raise empty_key()


def check_transaction(request: Any) -> None:
    """Raises StatusError, also for a key that one branch would write twice."""
    _check_operations(request, _MOST_OPERATIONS)
    _written(request.success)
    _written(request.failure)


def _check_operations(request: Any, most: int) -> None:
    count = max(len(request.compare), len(request.success), len(request.failure))
    if count > most:
        raise too_many_operations()
    for compare in request.compare:
        if not compare.key:
            raise empty_key()
    for operations in (request.success, request.failure):
        for operation in operations:
            _check_operation(operation, most - count)


def _check_operation(operation: Any, most: int) -> None:
    kind = operation.WhichOneof("one")
    if kind == "range":
        check_range(operation.range)
    elif kind == "put":
        check_put(operation.put)
    elif kind == "delete_range":
        check_delete(operation.delete_range)
    elif kind == "txn":
        _check_operations(operation.txn, most)
    else:
        raise key_not_found()


class _Deleted:
    """Ranges that operations delete, merged for the question whether a key is in one of them."""

    def __init__(self, ranges: Sequence[Bounds]) -> None:
        self._lows: list[str] = []
        self._highs: list[str | None] = []
        for each in sorted(ranges, key=lambda each: each.low):
            if self._lows and _reaches(self._highs[-1], each.low):
                self._highs[-1] = _later(self._highs[-1], each.high)
            else:
                self._lows.append(each.low)
                self._highs.append(each.high)

    def __contains__(self, key: str) -> bool:
        at = bisect_right(self._lows, key) - 1
        if at < 0:
            return False
        high = self._highs[at]
        return high is None or key < high


def _reaches(high: str | None, low: str) -> bool:
    return high is None or high >= low


def _later(one: str | None, other: str | None) -> str | None:
    return None if one is None or other is None else max(one, other)


def _written(operations: Any) -> tuple[set[str], list[Bounds]]:
    """The keys that a branch puts, and the ranges that it deletes. Raises StatusError if they overlap, or a key is put
    twice."""
    here: list[Bounds] = []
    nested: list[tuple[tuple[set[str], list[Bounds]], tuple[set[str], list[Bounds]]]] = []
    puts: list[str] = []
    for operation in operations:
        kind = operation.WhichOneof("one")
        if kind == "delete_range":
            here.append(bounds(operation.delete_range.key, operation.delete_range.range_end))
        elif kind == "txn":
            nested.append((_written(operation.txn.success), _written(operation.txn.failure)))
        elif kind == "put":
            puts.append(key_text(operation.put.key))
    seen: set[str] = set()
    for (then, then_deleted), (otherwise, otherwise_deleted) in nested:
        deleted = _Deleted(here)
        # Only one of the two branches runs.
        both = then | otherwise
        if not seen.isdisjoint(both) or any(key in deleted for key in both):
            raise duplicate_key()
        seen |= both
        here += then_deleted + otherwise_deleted
    deleted = _Deleted(here)
    for key in puts:
        if key in seen or key in deleted:
            raise duplicate_key()
        seen.add(key)
    return seen, here
