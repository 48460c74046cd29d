"""Derived representations of entries and changes, cached within one limit for the whole server."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

_NONE: Final[Mapping[Any, Any]] = {}


class DerivedHolder:
    """A value with cached representations in `derived`, by key. Read `derived`; add with `keep`.

    Any representation may be missing at the next read: under memory pressure the oldest holders lose theirs.
    """

    __slots__ = ("_budget", "derived")

    def __init__(self, budget: DerivedBudget | None) -> None:
        self.derived: Mapping[Any, Any] = _NONE
        self._budget = budget

    @property
    def budget(self) -> DerivedBudget | None:
        """The budget that accounts for `derived`, for holders created from this one. None: nothing is cached."""
        return self._budget

    def keep(self, key: Any, value: Any, size: int) -> None:
        """Cache `value`, which takes about `size` bytes, under `key`. Does nothing without a budget."""
        if self._budget is not None:
            self._budget.keep(self, key, value, size)


class DerivedBudget:
    """Accounts for the cached representations of all holders of a server: at most `limit` bytes.

    Evicts the holders whose first representation was cached first. Reads do not affect the order, so that they cost
    nothing; a holder that is read often is recomputed once in a while.
    """

    def __init__(self, limit: int) -> None:
        self.bytes = 0
        self._limit = limit
        self._sizes: OrderedDict[DerivedHolder, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sizes)

    def keep(self, holder: DerivedHolder, key: Any, value: Any, size: int) -> None:
        """Cache one representation of `holder`, and evict others until the limit holds. Ignores values above the
        limit."""
        if size > self._limit:
            return
        holder_size = self._sizes.get(holder)
        if holder_size is None:
            holder.derived = {key: value}
            self._sizes[holder] = size
        else:
            # A replaced value stays counted: replacements are rare, and the error is on the safe side.
            holder.derived = {**holder.derived, key: value}
            self._sizes[holder] = holder_size + size
        self.bytes += size
        while self.bytes > self._limit:
            oldest, freed = self._sizes.popitem(last=False)
            oldest.derived = _NONE
            self.bytes -= freed

    def forget(self, holder: DerivedHolder) -> None:
        """Drop the representations of a holder that is no longer current."""
        size = self._sizes.pop(holder, None)
        if size is not None:
            holder.derived = _NONE
            self.bytes -= size
