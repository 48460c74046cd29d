"""The use of extenders in one cycle: which are asked, and what their answers change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchd.scheduler.framework.cycle import Decision, Scored
from orchd.scheduler.interfaces import ExtenderError, ExtenderVerdict
from tests.scheduler.scheduler_support import SchedulerHarness, node, pod


class Stub:
    """An extender that filters with `keep`, None for an error, and prioritizes with `scores`, None for an error."""

    binds = preempts = False
    ignored_resources = ()

    def __init__(
        self, keep: Any = (), scores: Any = (), *, failed: Any = (), unresolvable: Any = (), weight: int = 1, ignorable: bool = False,
        filters: bool = True, interested: bool = True, prioritizes: bool = False,
    ) -> None:  # fmt: skip
        self.keep, self.scores, self.weight, self.ignorable = keep, scores, weight, ignorable
        self.failed, self.unresolvable = dict(failed), dict(unresolvable)
        self.filters, self.prioritizes = filters, prioritizes
        self.interested = lambda pod: interested
        self.asked: list[list[str]] = []

    async def filter(self, obj: Any, names: list[str]) -> ExtenderVerdict:
        self.asked.append(sorted(names))
        if self.keep is None:
            raise ExtenderError("no")
        return ExtenderVerdict([*self.keep], self.failed, self.unresolvable)

    async def prioritize(self, obj: Any, names: list[str]) -> Any:
        if self.scores is None:
            raise ExtenderError("no")
        return dict(self.scores)


class Extended(SchedulerHarness):
    def __init__(self, *extenders: Stub) -> None:
        self.all = extenders
        super().__init__()
        self.put(node("n1"), node("n2"))

    def _extenders(self, snapshot: Any) -> Any:
        return self.all

    def schedule(self) -> str:
        self.put(pod("p", cpu=1))
        self.settle()
        return self.where("p")


BOTH = ["n1", "n2"]


@pytest.mark.parametrize(
    ("extenders", "asked", "where"),
    [
        ([Stub(["n2"]), Stub(["n2"])], [[BOTH], [["n2"]]], "n2"),
        ([Stub([]), Stub(BOTH)], [[BOTH], []], ""),
        ([Stub(BOTH, filters=False), Stub(["n1"])], [[], [BOTH]], "n1"),
        ([Stub(BOTH, interested=False), Stub(["n1"])], [[], [BOTH]], "n1"),
        ([Stub(None, ignorable=True), Stub(["n1"])], [[BOTH], [BOTH]], "n1"),
        ([Stub(None), Stub(["n1"])], [[BOTH], []], ""),
        ([Stub(["n1", "other"])], [[BOTH]], "n1"),
        ([Stub(["other"])], [[BOTH]], ""),
    ],
)
def test_extenders_filter_in_turn(extenders: list[Stub], asked: list[Any], where: str) -> None:
    """Each gets the nodes that the former ones left; without a node none is asked."""
    for each in extenders:
        each.asked.clear()
    harness = Extended(*extenders)
    assert harness.schedule() == where
    assert [each.asked for each in extenders] == asked


def test_reasons_of_extenders_are_told() -> None:
    """Those of all extenders about a node, and about one that is in both lists the lasting ones."""
    first = Stub(["n2"], failed={"n1": "full"})
    second = Stub([], failed={"n2": "busy"}, unresolvable={"n2": "never", "other": "x"})
    harness = Extended(first, second)
    assert harness.schedule() == ""
    assert harness.message("p") == "0/2 nodes are available: 1 full, 1 never."


@pytest.mark.parametrize(
    ("extenders", "where"),
    [
        ([{"scores": {"n1": 10}}], "n1"),
        ([{"scores": {"n2": 10}}], "n2"),
        ([{"scores": {"n1": 10, "n2": 2}}, {"scores": {"n1": 0, "n2": 5}}], "n1"),
        ([{"scores": {"n1": 10, "n2": 2}}, {"scores": {"n1": 0, "n2": 5}, "weight": 2}], "n2"),
        ([{"scores": None}, {"scores": {"n2": 10}}], "n2"),
        ([{"scores": {"n1": 10}, "interested": False}, {"scores": {"n2": 1}}], "n2"),
    ],
)
def test_scores_of_extenders_are_added(extenders: list[Any], where: str) -> None:
    """Times their weights; a node without a score has 0, and an error changes nothing."""
    harness = Extended(*(Stub(filters=False, prioritizes=True, **each) for each in extenders))
    assert harness.schedule() == where


def test_size_of_a_decision() -> None:
    """The arrays of rows and scores, and the refusals; one score for all nodes is a word."""
    rows = np.zeros(2, dtype=np.intp)
    decision = Decision("", (), rows, [Scored("a", 5), Scored("b", np.zeros(3, dtype=np.int64))])
    assert decision.size() == 500 + 16 + 8 + 24
    refusals: Any = SimpleNamespace(size=lambda: 7)
    assert Decision("", (), rows, refusals=refusals).size() == 500 + 16 + 7
