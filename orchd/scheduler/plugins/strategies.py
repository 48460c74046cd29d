"""The three scoring strategies of NodeResourcesFit in integer arithmetic, plain and over columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from orchd.scheduler.config.model import LEAST_ALLOCATED, MOST_ALLOCATED, ScoringStrategy, ShapePoint
from orchd.scheduler.plugins.utilization import AmountColumns, Amounts
from orchd.scheduler.values import MAX_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

#: Maximum score of a shape point.
_MAX_SHAPE_SCORE = 10


class Strategy(Protocol):
    """A node's score from its resources."""

    def plain(self, amounts: Iterable[Amounts]) -> int: ...

    def columns(self, amounts: Sequence[AmountColumns]) -> Numbers: ...


def strategy(chosen: ScoringStrategy) -> Strategy:
    """The configured strategy."""
    if chosen.type == LEAST_ALLOCATED:
        return Allocated(most=False)
    if chosen.type == MOST_ALLOCATED:
        return Allocated(most=True)
    return CapacityRatio(chosen.shape or ())


class Allocated:
    """LeastAllocated, or MostAllocated: the weighted mean of the free or used fractions of the resources."""

    def __init__(self, *, most: bool) -> None:
        self._most = most

    def plain(self, amounts: Iterable[Amounts]) -> int:
        score = weights = 0
        for each in amounts:
            part = min(each.requested, each.capacity) if self._most else max(each.capacity - each.requested, 0)
            score += part * MAX_SCORE // each.capacity * each.weight
            weights += each.weight
        return score // weights if weights else 0

    def columns(self, amounts: Sequence[AmountColumns]) -> Numbers:
        score: Numbers | int = 0
        weights: Numbers | int = 0
        for each in amounts:
            capacity = each.capacity
            part = np.minimum(each.requested, capacity) if self._most else np.maximum(capacity - each.requested, 0)
            score = score + part * MAX_SCORE // np.maximum(capacity, 1) * each.weight
            weights = weights + (capacity != 0) * each.weight
        mean: Numbers = np.asarray(score // np.maximum(weights, 1))
        return mean


class CapacityRatio:
    """RequestedToCapacityRatio: piecewise linear in utilization. Resources that score 0 are excluded from the mean."""

    def __init__(self, shape: Sequence[ShapePoint]) -> None:
        points = [(each.utilization, each.score * (MAX_SCORE // _MAX_SHAPE_SCORE)) for each in shape]
        self._table = [_on_line(points, utilization) for utilization in range(MAX_SCORE + 1)]
        self._column = np.array(self._table, dtype=np.int64)

    def plain(self, amounts: Iterable[Amounts]) -> int:
        score = weights = 0
        for each in amounts:
            score_of = self._table[min(each.requested * MAX_SCORE // each.capacity, MAX_SCORE)]
            if score_of > 0:
                score += score_of * each.weight
                weights += each.weight
        # Round half away from zero.
        return (2 * score + weights) // (2 * weights) if weights else 0

    def columns(self, amounts: Sequence[AmountColumns]) -> Numbers:
        score: Numbers | int = 0
        weights: Numbers | int = 0
        for each in amounts:
            utilization = np.minimum(each.requested * MAX_SCORE // np.maximum(each.capacity, 1), MAX_SCORE)
            scores = np.where(each.capacity != 0, self._column[utilization], 0)
            score = score + scores * each.weight
            weights = weights + (scores > 0) * each.weight
        mean: Numbers = np.asarray((2 * score + weights) // np.maximum(2 * weights, 1))
        return mean


def capacity_scores(shape: Sequence[ShapePoint]) -> Callable[[Collection[tuple[int, int]]], int]:
    """Scores of requested and available amounts: the mean of the points of a shape, rounded half up; 0 for none."""
    points = [(each.utilization, each.score * (MAX_SCORE // _MAX_SHAPE_SCORE)) for each in shape]

    def score(amounts: Collection[tuple[int, int]]) -> int:
        total = 0
        for requested, capacity in amounts:
            total += _on_line(points, min(requested * MAX_SCORE // capacity, MAX_SCORE) if capacity else MAX_SCORE)
        return (2 * total + len(amounts)) // (2 * len(amounts)) if amounts else 0

    return score


def _on_line(points: Sequence[tuple[int, int]], x: int) -> int:
    """The score at a utilization: constant outside the points, integers truncated towards zero between them."""
    for index, (utilization, score) in enumerate(points):
        if x <= utilization:
            if index == 0:
                return score
            before, start = points[index - 1]
            return start + int((score - start) * (x - before) / (utilization - before))
    return points[-1][1]
