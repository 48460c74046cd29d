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

#: What a pod adds, by topology key.
Contributions = Sequence[tuple[str, int]]
#: What each pod of a template adds.
Rule = Callable[[PodTemplate], Contributions]


class Tally:
    """`rows[key]` is the sum of contributions per row; a key appears with its first contribution. With `live`, pods
    that are being deleted do not count."""

    __slots__ = ("__weakref__", "live", "rows", "rule", "size")

    def __init__(self, rule: Rule, size: int, *, live: bool) -> None:
        self.rule = rule
        self.live = live
        self.size = size
        self.rows: dict[str, Numbers] = {}

    def add(self, contributions: Contributions, row: int, pods: int) -> None:
        """`pods` pods that each add `contributions` came to a row (or left it, below 0)."""
        for key, amount in contributions:
            column = self.rows.get(key)
            if column is None:
                column = self.rows[key] = np.zeros(self.size, dtype=np.int64)
            column[row] += amount * pods

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
        #: The tallies to which pods of a template add something, and what. Those to which they add nothing are not
        #: kept: most templates match few of the rules of other ones.
        self._matching: WeakKeyDictionary[PodTemplate, WeakKeyDictionary[Tally, Contributions]] = WeakKeyDictionary()

    def tally(self, rule: Rule, *, live: bool = False, with_affinity: bool = False) -> Tally:
        """A new tally of the current pods, updated as long as it is referenced. `with_affinity` promises that the rule
        matches no template without affinity terms."""
        tally = Tally(rule, self.size, live=live)
        for template, matching in self._matching.items():
            contributions = rule(template) if template.has_affinity or not with_affinity else ()
            if not contributions:
                continue
            matching[tally] = contributions
            for row, pods in self.population.get(template, {}).items():
                tally.add(contributions, row, pods)
            for row, pods in self.deleting.get(template, {}).items() if live else ():
                tally.add(contributions, row, -pods)
        (self._affine if with_affinity else self._all).add(tally)
        return tally

    def count(self, template: PodTemplate, row: int, sign: int, *, deleting: bool) -> None:
        """A pod came to a row (sign 1) or left it (-1)."""
        _enter(self.population, template, row, sign)
        if deleting:
            _enter(self.deleting, template, row, sign)
        if template.has_affinity:
            _enter(self.with_affinity, template, row, sign)
        matching = self._matching.get(template)
        if matching is None:
            matching = self._matching[template] = self._match(template)
        for tally, contributions in matching.items():
            if not (deleting and tally.live):
                tally.add(contributions, row, sign)

    def _match(self, template: PodTemplate) -> WeakKeyDictionary[Tally, Contributions]:
        matching: WeakKeyDictionary[Tally, Contributions] = WeakKeyDictionary()
        for tally in (*self._all, *(self._affine if template.has_affinity else ())):
            contributions = tally.rule(template)
            if contributions:
                matching[tally] = contributions
        return matching

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
