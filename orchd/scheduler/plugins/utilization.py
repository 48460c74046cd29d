"""Utilization of nodes with one more pod: requested and allocatable amounts of the scored resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import PodTemplate
from orchd.scheduler.resources import CPU, MEMORY, is_extended

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Amounts:
    """One resource of one node."""

    weight: int
    requested: int
    capacity: int


@dataclass(frozen=True, slots=True)
class AmountColumns:
    """One resource of many nodes. Where `capacity` is 0 the resource does not count."""

    weight: int
    requested: NDArray[np.int64]
    capacity: NDArray[np.int64]


class Fullness:
    """`resources` are names with weights; with `nonzero`, CPU and memory count with the defaults for containers that
    request none."""

    def __init__(self, snapshot: Snapshot, resources: Sequence[tuple[str, int]], *, nonzero: bool) -> None:
        self._snapshot = snapshot
        self._resources = tuple(resources)
        self._nonzero = nonzero
        self._requests: WeakKeyDictionary[PodTemplate, list[tuple[str, int, int, int]]] = WeakKeyDictionary()

    def _weighted_resources(self, template: PodTemplate) -> list[tuple[str, int, int, int]]:
        """(name, weight, amount that the pod adds, 0 or 1 for the columns of `nonzero` else -1)."""
        resources = self._requests.get(template)
        if resources is None:
            resources = self._requests[template] = self._find_counted(template)
        return resources

    def _find_counted(self, template: PodTemplate) -> list[tuple[str, int, int, int]]:
        out = []
        for name, weight in self._resources:
            if self._nonzero and name in (CPU, MEMORY):
                column = 0 if name == CPU else 1
                out.append((name, weight, template.scored_nonzero[column], column))
                continue
            amount = (template.scored if self._nonzero else template.balanced).get(name, 0)
            # Extended resources count only for pods that request them.
            if amount or not is_extended(name):
                out.append((name, weight, amount, -1))
        return out

    def counts(self, template: PodTemplate) -> bool:
        """True if any resource is scored for the template."""
        return bool(self._weighted_resources(template))

    def adds(self, template: PodTemplate) -> bool:
        """True if pods of the template add to any resource."""
        return any(amount for _, _, amount, _ in self._weighted_resources(template))

    def plain(self, template: PodTemplate, node: NodeView) -> list[Amounts]:
        amounts = []
        for name, weight, amount, column in self._weighted_resources(template):
            capacity = node.facts.allocatable.get(name, 0)
            if capacity:
                used = node.requested.get(name, 0) if column < 0 else node.nonzero[column]
                amounts.append(Amounts(weight, used + amount, capacity))
        return amounts

    def at(self, template: PodTemplate, row: int) -> list[Amounts]:
        """`plain` for a row, computed from the columns."""
        at = self._snapshot
        amounts = []
        for name, weight, amount, column in self._weighted_resources(template):
            index = at.resource(name)
            capacity = at.allocatable.item(index, row)
            if capacity:
                used = at.requested.item(index, row) if column < 0 else at.nonzero.item(column, row)
                amounts.append(Amounts(weight, used + amount, capacity))
        return amounts

    def columns(self, template: PodTemplate, rows: NDArray[np.intp] | None) -> list[AmountColumns]:
        at = self._snapshot
        amounts = []
        for name, weight, amount, column in self._weighted_resources(template):
            index = at.resource(name)
            used = at.requested[index] if column < 0 else at.nonzero[column]
            capacity = at.allocatable[index]
            if rows is not None:
                used, capacity = used[rows], capacity[rows]
            amounts.append(AmountColumns(weight, used + amount, capacity))
        return amounts
