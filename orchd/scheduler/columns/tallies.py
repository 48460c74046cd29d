"""Incrementally updated counts per node: the number, or the total weight, of pods that match a rule.

A rule returns the contribution of one pod of a template, by topology key (or under "" if it has no topology key). The
snapshot refers to tallies weakly and updates those that are still in use with each pod that is added or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from orchd.scheduler.pods import PodTemplate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

#: What each pod of a template adds, by topology key.
Rule = Callable[[PodTemplate], Sequence[tuple[str, int]]]


class Tally:
    """`rows[key]` is the sum of contributions per row; a key appears with its first contribution. With `live`, pods
    that are being deleted do not count."""

    __slots__ = ("__weakref__", "_contributions", "live", "rows", "rule", "size")

    def __init__(self, rule: Rule, size: int, *, live: bool) -> None:
        self.rule = rule
        self.live = live
        self.size = size
        self.rows: dict[str, Numbers] = {}
        self._contributions: WeakKeyDictionary[PodTemplate, Sequence[tuple[str, int]]] = WeakKeyDictionary()

    def count(self, template: PodTemplate, row: int, pods: int) -> bool:
        """`pods` pods of a template came to a row (or left it, below 0). Did that change anything?"""
        contributions = self._contributions.get(template)
        if contributions is None:
            contributions = self._contributions[template] = self.rule(template)
        for key, amount in contributions:
            column = self.rows.get(key)
            if column is None:
                column = self.rows[key] = np.zeros(self.size, dtype=np.int64)
            column[row] += amount * pods
        return bool(contributions)

    def grow(self, size: int) -> None:
        self.size = size
        for key, column in self.rows.items():
            more = np.zeros(size, dtype=np.int64)
            more[: len(column)] = column
            self.rows[key] = more


class Tallies:
    """All tallies that are held, and the population that new ones begin with."""

    def __init__(self, size: int) -> None:
        self.size = size
        #: Of all pods, of those with (anti-)affinity terms of any sort, and of those that are being deleted.
        self.population: dict[PodTemplate, dict[int, int]] = {}
        self.with_affinity: dict[PodTemplate, dict[int, int]] = {}
        self.deleting: dict[PodTemplate, dict[int, int]] = {}
        #: Tallies over all pods, and those that only pods with affinity terms add to.
        self._all: WeakSet[Tally] = WeakSet()
        self._affine: WeakSet[Tally] = WeakSet()

    def tally(self, rule: Rule, *, live: bool = False, with_affinity: bool = False) -> Tally:
        """A new tally of the current pods, updated as long as it is referenced. `with_affinity` promises that the rule
        matches no template without affinity terms."""
        tally = Tally(rule, self.size, live=live)
        for template, rows in (self.with_affinity if with_affinity else self.population).items():
            for row, pods in rows.items():
                if not tally.count(template, row, pods):
                    break
        if live:
            for template, rows in self.deleting.items():
                for row, pods in rows.items():
                    tally.count(template, row, -pods)
        (self._affine if with_affinity else self._all).add(tally)
        return tally

    def count(self, template: PodTemplate, row: int, sign: int, *, deleting: bool) -> None:
        """A pod came to a row (sign 1) or left it (-1)."""
        _enter(self.population, template, row, sign)
        if deleting:
            _enter(self.deleting, template, row, sign)
        for tally in self._all:
            if not (deleting and tally.live):
                tally.count(template, row, sign)
        if template.has_affinity:
            _enter(self.with_affinity, template, row, sign)
            for tally in self._affine:
                if not (deleting and tally.live):
                    tally.count(template, row, sign)

    def grow(self, size: int) -> None:
        self.size = size
        for tally in (*self._all, *self._affine):
            tally.grow(size)


def _enter(population: dict[PodTemplate, dict[int, int]], template: PodTemplate, row: int, sign: int) -> None:
    rows = population.setdefault(template, {})
    pods = rows.get(row, 0) + sign
    if pods:
        rows[row] = pods
        return
    rows.pop(row, None)
    if not rows:
        del population[template]


def by_domain(
    column: Numbers, domains: NDArray[np.int32], rows: Iterable[int] | NDArray[np.bool_] | None = None
) -> Numbers:
    """Sums of a column per domain number, over the rows with a domain (-1 means no domain), limited to `rows` if
    given."""
    has = domains >= 0
    if rows is not None:
        has = has & rows  # type: ignore[operator]  # callers pass masks; numpy's types are wider
    return np.bincount(domains[has], weights=column[has], minlength=int(domains.max(initial=-1)) + 1).astype(np.int64)
