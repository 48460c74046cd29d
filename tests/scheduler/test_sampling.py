"""Sampling of nodes: how many feasible nodes are searched for, and where the search starts."""

from __future__ import annotations

import numpy as np
import pytest

from orchd.scheduler.framework.sampling import Sampling
from tests.scheduler.scheduler_support import SchedulerHarness, node


@pytest.mark.parametrize(
    ("percentage", "nodes", "count"),
    [
        (0, 99, 99), (0, 100, 100), (0, 1000, 420), (0, 5000, 500), (0, 10_000, 500), (30, 1000, 300), (5, 1000, 100),
        (100, 5000, 5000), (1, 50, 50),
    ],
)  # fmt: skip
def test_number_of_nodes_to_find(percentage: int, nodes: int, count: int) -> None:
    """As in the reference: at least 100, adaptive from 50% down to 5%."""
    assert Sampling(percentage).count_feasible(nodes) == count


def test_search_continues_at_the_next_node() -> None:
    """Each search starts at the next node in visiting order, one per zone in turn, and wraps around."""
    harness = SchedulerHarness()
    harness.put(*(node(f"n{n}", zone=f"z{n // 100}") for n in range(300)))
    snapshot, sampling = harness.scheduler.snapshot, Sampling(1)
    mask = snapshot.alive.copy()
    mask[snapshot.row_of("n1")] = False
    order = [snapshot.name_of(row) for row in snapshot.rows()]
    assert order[:6] == ["n0", "n100", "n200", "n1", "n101", "n201"]
    seen = [[snapshot.name_of(row) for row in sampling.choose(snapshot, mask)] for _ in range(3)]
    assert seen[0] == [name for name in order if name != "n1"][:100]
    assert seen[1] == order[101:201]
    assert seen[2] == [*order[201:], order[0]]


@pytest.mark.parametrize("feasible", [99, 100, 101, 150])
def test_search_of_all_nodes_starts_again_at_the_same_place(feasible: int) -> None:
    """If all nodes were visited without an additional feasible one, the next search starts at the same node."""
    harness = SchedulerHarness()
    harness.put(*(node(f"n{n}") for n in range(200)))
    snapshot, sampling = harness.scheduler.snapshot, Sampling(1)
    mask = np.zeros(snapshot.size, dtype=np.bool_)
    mask[snapshot.rows()[:feasible]] = True
    assert sampling.choose(snapshot, mask).tolist() == snapshot.rows()[: min(feasible, 100)].tolist()
    assert sampling.position == (100 if feasible > 100 else 0)


def test_search_without_feasible_nodes_covers_all_nodes() -> None:
    """A search without feasible nodes visits all of them; the next one starts at the same node."""
    harness = SchedulerHarness()
    harness.put(*(node(f"n{n}") for n in range(150)))
    sampling = Sampling(50)
    assert not len(
        sampling.choose(harness.scheduler.snapshot, np.zeros(harness.scheduler.snapshot.size, dtype=np.bool_))
    )
    assert sampling.position == 0


def test_next_search_wraps_around() -> None:
    harness = SchedulerHarness()
    harness.put(*(node(f"n{n}") for n in range(3)))
    snapshot, sampling = harness.scheduler.snapshot, Sampling(50)
    names = []
    for position in (0, 2, 3, 7):
        sampling.position = position
        names.append(snapshot.name_of(sampling.next_row(snapshot)))
    assert names == ["n0", "n2", "n0", "n1"]
