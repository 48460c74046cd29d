"""Scores of nodes by their resources: strategies of NodeResourcesFit, balance, and both over columns."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.scheduler.config.model import ScoringStrategy, ShapePoint
from orchd.scheduler.plugins.imagelocality import ImageLocality
from orchd.scheduler.plugins.noderesourcesbalancedallocation import NodeResourcesBalancedAllocation
from orchd.scheduler.plugins.strategies import capacity_scores, strategy
from orchd.scheduler.plugins.utilization import AmountColumns, Amounts
from orchd.scheduler.pods import Templates
from orchd.scheduler.values import MAX_SCORE, CycleState
from tests.scheduler.scheduler_support import SchedulerHarness, node, pod

#: (utilization, score) of shapes: rising, falling, with a peak, and with steps that do not divide.
RISING, FALLING = ((0, 0), (100, 10)), ((0, 10), (100, 0))
PEAK, UNEVEN, UNEVEN_FALL = ((20, 2), (60, 10), (80, 4)), ((0, 0), (3, 1)), ((0, 1), (3, 0))
#: One node: weight, requested and allocatable amount of each resource.
Node = tuple[tuple[int, int, int], ...]

CASES: Sequence[tuple[str, tuple[tuple[int, int], ...], Node, int]] = (
    ("LeastAllocated", (), (), 0),
    ("LeastAllocated", (), ((1, 1, 4),), 75),
    ("LeastAllocated", (), ((1, 1, 3),), 66),
    ("LeastAllocated", (), ((1, 6, 4),), 0),
    ("LeastAllocated", (), ((1, 1, 4), (3, 6, 4)), 18),
    ("LeastAllocated", (), ((1, 1, 4), (1, 5, 0)), 75),
    ("LeastAllocated", (), ((1, 0, 1),), 100),
    ("MostAllocated", (), ((1, 1, 1),), 100),
    ("RequestedToCapacityRatio", RISING, ((1, 1, 1),), 100),
    ("RequestedToCapacityRatio", ((0, 0), (10, 1), (100, 10)), ((1, 1, 100), (1, 100, 100)), 51),
    ("MostAllocated", (), (), 0),
    ("MostAllocated", (), ((1, 1, 4),), 25),
    ("MostAllocated", (), ((1, 6, 4),), 100),
    ("MostAllocated", (), ((1, 1, 4), (3, 6, 4)), 81),
    ("RequestedToCapacityRatio", RISING, (), 0),
    ("RequestedToCapacityRatio", RISING, ((1, 1, 4),), 25),
    ("RequestedToCapacityRatio", RISING, ((1, 1, 3),), 33),
    ("RequestedToCapacityRatio", RISING, ((1, 4, 4),), 100),
    ("RequestedToCapacityRatio", RISING, ((1, 1, 4), (3, 6, 4)), 81),
    # The mean of 25 and 50 is rounded up, that of 25, 25 and 26 down.
    ("RequestedToCapacityRatio", RISING, ((1, 25, 100), (1, 50, 100)), 38),
    ("RequestedToCapacityRatio", RISING, ((2, 25, 100), (1, 26, 100)), 25),
    # A resource that scores 0 has no part in the mean.
    ("RequestedToCapacityRatio", RISING, ((1, 0, 4), (1, 2, 4)), 50),
    ("RequestedToCapacityRatio", FALLING, ((1, 1, 4),), 75),
    ("RequestedToCapacityRatio", FALLING, ((1, 1, 4), (1, 5, 4)), 75),
    ("RequestedToCapacityRatio", FALLING, ((1, 1, 4), (1, 5, 0)), 75),
    *(
        ("RequestedToCapacityRatio", PEAK, ((1, used, 100),), score)
        for used, score in ((0, 20), (20, 20), (40, 60), (60, 100), (70, 70), (80, 40), (90, 40), (101, 40))
    ),
    # Between two points the step is truncated towards the first.
    ("RequestedToCapacityRatio", UNEVEN, ((1, 1, 100),), 3),
    ("RequestedToCapacityRatio", UNEVEN, ((1, 2, 100),), 6),
    ("RequestedToCapacityRatio", UNEVEN_FALL, ((1, 1, 100),), 7),
)


def _points(shape: Sequence[tuple[int, int]]) -> tuple[ShapePoint, ...]:
    return tuple(ShapePoint(utilization=utilization, score=score) for utilization, score in shape)


@pytest.mark.parametrize(
    ("mebibytes", "score"),
    [(0, 0), (23, 0), (32, 0), (33, 1), (511, 49), (512, 50), (999, 99), (1000, 100), (2000, 100)],
)
def test_score_of_images_on_a_node(mebibytes: int, score: int) -> None:
    """A node that has the image of the only container scores by its size: from 0 at 23 MiB to 100 at 1000 MiB."""
    images = SimpleNamespace(rows=lambda name: {0: mebibytes << 20}, version=1)
    handle: Any = SimpleNamespace(snapshot=SimpleNamespace(size=1, count=1, images=images))
    scores = ImageLocality(handle, None).compile_score(CycleState(), Templates().pod(pod("p")))
    assert not isinstance(scores, int) and scores.scores(None).tolist() == [score]


@pytest.mark.parametrize(("kind", "shape", "node", "score"), CASES)
def test_scoring_strategies(kind: str, shape: tuple[tuple[int, int], ...], node: Node, score: int) -> None:
    """The score of a node, alone and in columns with a node that has nothing allocatable."""
    chosen = strategy(ScoringStrategy(type=kind, resources=(), shape=_points(shape) or None))
    assert chosen.plain([Amounts(*amounts) for amounts in node if amounts[2]]) == score
    if node:
        columns = [
            AmountColumns(weight, np.array([requested, 1]), np.array([capacity, 0]))
            for weight, requested, capacity in node
        ]
        assert chosen.columns(columns).tolist() == [score, 0]


@pytest.mark.parametrize(
    ("amounts", "score"),
    [
        ((), 0),
        (((1, 4),), 25),
        (((1, 4), (2, 4)), 38),
        (((1, 4), (1, 4), (26, 100)), 25),
        (((1, 0),), 100),
        (((5, 4),), 100),
    ],
)
def test_scores_of_capacities(amounts: tuple[tuple[int, int], ...], score: int) -> None:
    """The mean of the points, rounded half up; what has no capacity counts as full."""
    assert capacity_scores(_points(RISING))(amounts) == score


class Usage:
    """The requested and allocatable amounts of the resources of some nodes; pods add nothing if `idle`."""

    def __init__(self, nodes: Sequence[Sequence[tuple[int, int]]], *, idle: bool = False) -> None:
        self._nodes = nodes
        self._idle = idle

    def adds(self, template: Any) -> bool:
        return not self._idle

    def counts(self, template: Any) -> bool:
        return any(self._nodes)

    def plain(self, template: Any, node: int) -> list[Amounts]:
        return [Amounts(1, used, capacity) for used, capacity in self._nodes[node] if capacity]

    at = plain

    def columns(self, template: Any, rows: Any) -> list[AmountColumns]:
        return [
            AmountColumns(1, np.array([used for used, _ in each]), np.array([capacity for _, capacity in each]))
            for each in zip(*self._nodes, strict=True)
        ]


def _balance(usage: Usage, release: Release = SPECIFICATION) -> NodeResourcesBalancedAllocation:
    handle: Any = SimpleNamespace(snapshot=None, release=release)
    arguments: Any = SimpleNamespace(resources=())
    plugin = NodeResourcesBalancedAllocation(handle, arguments)
    plugin.fullness = usage  # type: ignore[assignment]  # amounts by shape
    return plugin


@pytest.mark.parametrize(
    ("nodes", "scores"),
    [
        ([[(1, 4)], [(9, 4)], [(0, 0)]], [100, 100, 100]),
        ([[(1, 4), (3, 4)], [(2, 4), (2, 4)], [(1, 4), (8, 4)], [(1, 4), (3, 0)]], [75, 100, 62, 100]),
        (
            # The third has two of the resources, the fourth one, and the last none.
            [
                *([(0, 4), (2, 4), (4, 4)], [(1, 4), (1, 4), (1, 4)], [(1, 4), (9, 0), (3, 4)]),
                *([(9, 0), (1, 4), (9, 0)], [(0, 0), (0, 0), (0, 0)]),
            ],
            [59, 100, 75, 100, 100],
        ),
    ],
)
def test_balance_of_resources(nodes: list[list[tuple[int, int]]], scores: list[int]) -> None:
    """The deviation of the used fractions, of at most 1 each, from their mean; of two resources half their
    difference."""
    pod: Any = SimpleNamespace(template=None)
    plugin, state = _balance(Usage(nodes)), CycleState()
    numbers: Any = range(len(nodes))
    assert [plugin.score(state, pod, number) for number in numbers] == scores
    compiled: Any = plugin.compile_score(state, pod)
    assert compiled.scores(None).tolist() == scores
    assert [compiled.at(row) for row in numbers] == scores
    assert plugin.normalize(state, pod, scores) == scores


def test_pods_that_request_nothing_are_not_balanced() -> None:
    """Since 1.33 they score nothing; before, and for pods that request something, a node with no such resource has the
    full score."""
    pod: Any = SimpleNamespace(template=None)
    state, node = CycleState(), 0
    for release, idle, score in ((SPECIFICATION, True, MAX_SCORE), (NEWEST, True, 0), (NEWEST, False, MAX_SCORE)):
        plugin: Any = _balance(Usage([[]], idle=idle), release)
        assert plugin.score(state, pod, node) == score
        assert plugin.compile_score(state, pod) == score


_IGNORED = {
    "ignoredResources": ["a.com/x", "hugepages-2Mi", "orch.io/y", "requests.a.com/z"],
    "ignoredResourceGroups": ["b.com", "hugepages-1Gi", "own.orch.io"],
}


@pytest.mark.parametrize(
    ("name", "ignored"),
    [
        ("a.com/x", True),
        ("a.com/other", False),
        ("b.com/any", True),
        ("sub.b.com/any", False),
        ("hugepages-2Mi", False),
        ("hugepages-1Gi", False),
        ("orch.io/y", False),
        ("own.orch.io/y", False),
        ("requests.a.com/z", False),
    ],
)
def test_resources_that_are_not_scheduled_by(name: str, ignored: bool) -> None:
    """Extended resources are ignored by their name or domain; those of the product, and others, never are."""
    args = {"name": "NodeResourcesFit", "args": _IGNORED}
    harness = SchedulerHarness({"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [args]}]})
    waiting = pod("a")
    waiting["spec"]["containers"][0]["resources"] = {"requests": {name: "1"}, "limits": {name: "1"}}
    harness.put(node("n1"), waiting)
    harness.settle()
    assert harness.where("a") == ("n1" if ignored else "")
    assert harness.message("a") == ("" if ignored else f"0/1 nodes are available: 1 Insufficient {name}.")
