"""What extenders change in the scheduling cycle: nodes that are left, scores, victims and the binding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import ExtenderError, ExtenderVerdict, ExtenderVictims, IExtender
from tests.scheduler.scheduler_support import SchedulerHarness, node, pod

DOWN = ExtenderError("down")


class FakeExtender:
    """An extender for the verbs that it has a result for; an ExtenderError is raised. `asked` are its requests."""

    name, weight, ignored_resources = "x", 1, frozenset[str]()

    def __init__(self, *, ignorable: bool = False, interested: bool = True, weight: int = 1, **results: Any) -> None:
        self.ignorable, self.weight = ignorable, weight
        self.filters, self.prioritizes = "filter" in results, "prioritize" in results
        self.preempts, self.binds = "preempt" in results, "bind" in results
        self.asked: list[tuple[str, Any]] = []
        self._results, self._interested = results, interested

    def interested(self, pod: Any) -> bool:
        return self._interested

    def _result(self, verb: str, request: Any) -> Any:
        self.asked.append((verb, request))
        result = self._results[verb]
        if isinstance(result, ExtenderError):
            raise result
        return result(request) if callable(result) else result

    async def filter(self, pod: Any, nodes: Sequence[str]) -> Any:
        return self._result("filter", sorted(nodes))

    async def prioritize(self, pod: Any, nodes: Sequence[str]) -> Any:
        return self._result("prioritize", sorted(nodes))

    async def preempt(self, pod: Any, victims: Any) -> Any:
        return self._result("preempt", victims)

    async def bind(self, pod: Any, node_name: str) -> None:
        self._result("bind", node_name)

    async def close(self) -> None:
        """Nothing to close."""


class ExtendedHarness(SchedulerHarness):
    """A scheduler with these extenders and two nodes of one core."""

    def __init__(self, *extenders: FakeExtender) -> None:
        self._chosen: Any = extenders
        super().__init__()
        self.put(node("n1", cpu=1), node("n2", cpu=1))

    def _extenders(self, snapshot: Snapshot) -> Sequence[IExtender]:
        return self._chosen  # type: ignore[no-any-return]  # extenders by shape


def only(*names: str, failed: Any = (), unresolvable: Any = ()) -> ExtenderVerdict:
    return ExtenderVerdict(names, dict(failed), dict(unresolvable))


def test_each_extender_filters_what_the_one_before_left() -> None:
    """Those that do not filter, or that the pod does not concern, are not asked; nor are others when no node is
    left."""
    extenders = [
        FakeExtender(filter=only("n2", "n9")),
        FakeExtender(filter=only("n1"), interested=False),
        FakeExtender(prioritize={}),
        FakeExtender(filter=only("n2")),
    ]
    harness = ExtendedHarness(*extenders)
    harness.put(pod("p"))
    harness.settle()
    assert harness.where("p") == "n2"
    assert [[request for verb, request in each.asked if verb == "filter"] for each in extenders] == [
        *([["n1", "n2"]], [], [], [["n2"]])
    ]
    last = FakeExtender(filter=only("n1"))
    harness = ExtendedHarness(FakeExtender(filter=only()), last)
    harness.put(pod("p"))
    harness.settle()
    assert harness.where("p") == "" and not last.asked


def test_reasons_of_extenders_are_in_the_message() -> None:
    """Of a node that is in both lists the unresolvable reason counts; unknown nodes do not."""
    verdict = only(failed={"n1": "busy", "n2": "busy"}, unresolvable={"n2": "broken", "n9": "gone"})
    harness = ExtendedHarness(FakeExtender(filter=verdict))
    harness.put(pod("p"))
    harness.settle()
    assert harness.message("p") == "0/2 nodes are available: 1 broken, 1 busy."


def test_nodes_that_an_extender_refused_for_good_have_no_victims() -> None:
    """Pods are removed where the reason of the extender can be resolved only."""
    refusal = only(failed={"n1": "busy", "n2": "broken"}, unresolvable={"n2": "broken"})
    harness = ExtendedHarness(FakeExtender(filter=refusal))
    harness.put(pod("a", on="n1", cpu="500m"), pod("b", on="n2", cpu="500m"), pod("new", cpu="500m", priority=10))
    harness.settle()
    assert harness.message("new") == "0/2 nodes are available: 1 broken, 1 busy."


@pytest.mark.parametrize(("ignorable", "where"), [(True, True), (False, False)])
def test_failure_of_a_filter_counts_unless_it_may_be_ignored(ignorable: bool, where: bool) -> None:
    harness = ExtendedHarness(FakeExtender(filter=DOWN, ignorable=ignorable))
    harness.put(pod("p"))
    harness.settle()
    assert bool(harness.where("p")) == where
    if not where:
        assert "down" in harness.message("p")


@pytest.mark.parametrize("preferred", ["n1", "n2"])
def test_scores_of_extenders_count_with_their_weight(preferred: str) -> None:
    """Failures do not count, and neither do extenders that the pod does not concern."""
    other = "n2" if preferred == "n1" else "n1"
    harness = ExtendedHarness(
        FakeExtender(prioritize=DOWN),
        FakeExtender(prioritize={other: 10}, weight=100, interested=False),
        FakeExtender(prioritize={other: 4}, weight=1),
        FakeExtender(prioritize={preferred: 3}, weight=2),
    )
    harness.put(pod("p"))
    harness.settle()
    assert harness.where("p") == preferred


def test_extender_binds_in_place_of_plugins() -> None:
    binder = FakeExtender(bind=None)
    harness = ExtendedHarness(binder)
    harness.put(pod("p", nodeSelector={"orch.io/hostname": "n1"}))
    harness.settle()
    assert binder.asked == [("bind", "n1")] and not harness.api.bound


def _preempting(*extenders: FakeExtender) -> list[str]:
    """The victims of a pod that fits on either of two nodes without its pod."""
    harness = ExtendedHarness(*extenders)
    harness.put(pod("a", cpu=1, on="n1"), pod("b", cpu=1, on="n2", priority=5))
    harness.put(pod("new", cpu=1, priority=10))
    harness.settle()
    return harness.api.deleted


def _without(name: str) -> Any:
    return lambda victims: {each: what for each, what in victims.items() if each != name}


@pytest.mark.parametrize(
    ("extenders", "victims"),
    [
        ((), ["a"]),
        ((FakeExtender(preempt=_without("n9")),), ["a"]),
        ((FakeExtender(preempt=_without("n1")),), ["b"]),
        ((FakeExtender(preempt=_without("n1"), interested=False),), ["a"]),
        ((FakeExtender(filter=_without("n9")),), ["a"]),
        ((FakeExtender(preempt={}), FakeExtender(preempt=_without("n9"))), []),
        ((FakeExtender(preempt=DOWN),), []),
        ((FakeExtender(preempt=DOWN, ignorable=True), FakeExtender(preempt=_without("n1"))), ["b"]),
        ((FakeExtender(preempt=lambda victims: {**victims, "n1": ExtenderVictims((), 0)}),), ["b"]),
    ],
)
def test_extenders_choose_among_the_candidates(extenders: Any, victims: list[str]) -> None:
    """They remove candidates; one without victims is none. A failure ends the preemption unless it may be ignored."""
    for each in extenders:
        each.filters = False
    assert _preempting(*extenders) == victims
