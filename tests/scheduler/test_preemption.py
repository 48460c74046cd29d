"""DefaultPreemption: victims, the node that is chosen, and the nominated pod."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.scheduler.plugins.importance import by_importance
from orchd.scheduler.pods import Templates
from tests.scheduler.scheduler_support import BUDGETS, HOST, PODS, SchedulerHarness, node, pod

_EARLY, _LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


def _budget(name: str, allowed: int, app: str) -> Any:
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


@pytest.mark.parametrize(
    ("pods", "wanted", "victims"),
    [
        pytest.param([("n1", 1, "2", "a"), ("n2", 0, "2", "b")], "2", ["b"], id="lowest priority"),
        pytest.param([("n1", 0, "1", "a"), ("n1", 0, "1", "b"), ("n2", 0, "2", "c")], "2", ["c"], id="fewest victims"),
        pytest.param([("n1", 0, "1", "a"), ("n1", 5, "1", "b"), ("n2", 4, "2", "c")], "2", ["c"], id="highest victim"),
        pytest.param(
            [("n1", 0, "1", "a"), ("n1", 3, "1", "b"), ("n2", 9, "2", "c")], "1", ["a"], id="only as many as needed"
        ),
        pytest.param([("n1", 10, "2", "a"), ("n2", 11, "2", "b")], "1", [], id="none of lower priority"),
    ],
)
def test_candidate_selection_rules(pods: list[tuple[str, int, str, str]], wanted: str, victims: list[str]) -> None:
    """With two full nodes of two cores, a pod of priority 10 chooses the node by the reference's rules."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=2), node("n2", cpu=2))
    harness.put(*(pod(name, cpu=cpu, on=on, priority=priority, start=_EARLY) for on, priority, cpu, name in pods))
    harness.put(pod("new", cpu=wanted, priority=10))
    harness.settle()
    assert sorted(harness.api.deleted) == victims


def test_latest_start_decides_between_equal_candidates() -> None:
    """Of two equal candidates the one whose victim started later is chosen."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=1), node("n2", cpu=1))
    harness.put(pod("old", cpu=1, on="n1", start=_EARLY), pod("young", cpu=1, on="n2", start=_LATE))
    harness.put(pod("new", cpu=1, priority=1))
    harness.settle()
    assert harness.api.deleted == ["young"]
    assert harness.api.delete_options == {"young": {"preconditions": {"uid": "uid-young"}}}


def test_budgets_are_violated_last() -> None:
    """A node without a budget violation is preferred, even if its victims have a higher priority."""
    harness = SchedulerHarness()
    harness.informers.put(BUDGETS, _budget("b", 0, "guarded"))
    harness.put(node("n1", cpu=1), node("n2", cpu=1))
    harness.put(pod("a", cpu=1, on="n1", labels={"app": "guarded"}), pod("b", cpu=1, on="n2", priority=5))
    harness.put(pod("new", cpu=1, priority=10))
    harness.settle()
    assert harness.api.deleted == ["b"]


def test_budget_allowance_is_used_up_by_victims() -> None:
    """With one allowed disruption, only the second of two guarded pods on a node is a violation."""
    harness = SchedulerHarness()
    harness.informers.put(BUDGETS, _budget("b", 1, "guarded"))
    harness.put(node("n1", cpu=2), node("n2", cpu=2))
    harness.put(*(pod(f"a{n}", cpu=1, on="n1", labels={"app": "guarded"}, start=_EARLY) for n in range(2)))
    harness.put(pod("b", cpu=2, on="n2", priority=5))
    harness.put(pod("new", cpu=1, priority=10))
    harness.settle()
    assert harness.api.deleted == ["a1"] or harness.api.deleted == ["a0"]


def test_room_is_reserved_for_the_nominated_pod() -> None:
    """A pod of lower priority does not get the space of terminated victims; one of higher priority may."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=2), pod("old", cpu=2, on="n1"))
    harness.put(pod("new", cpu=2, priority=10))
    harness.settle()
    assert harness.api.deleted == ["old"]
    assert harness.api.patches[-1][1]["status"]["nominatedNodeName"] == "n1"
    harness.put(pod("low", cpu=1, priority=5))
    harness.settle()
    assert harness.message("low") == "0/1 nodes are available: 1 Insufficient cpu."
    harness.informers.informer(PODS).remove("ns", "old")
    harness.settle(5)
    assert harness.api.bound == [("new", "n1")]


def test_no_second_preemption_while_victims_end() -> None:
    """While the victim terminates on the nominated node, the pod waits and keeps its nomination."""
    harness = SchedulerHarness()
    old = pod("old", cpu=2, on="n1")
    harness.put(node("n1", cpu=2), node("n2", cpu=2), old, pod("other", cpu=2, on="n2", priority=5))
    harness.put(pod("new", cpu=2, priority=10))
    harness.settle()
    harness.put({**old, "metadata": {**old["metadata"], "deletionTimestamp": _EARLY}})
    harness.settle(70)
    assert harness.api.deleted == ["old"]
    assert [each.name for each in harness.scheduler.nominator.nominated("n1")] == ["new"]


def test_preemption_policy_never() -> None:
    """A pod with preemptionPolicy Never preempts no other pod."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=1), pod("old", cpu=1, on="n1"), pod("new", cpu=1, priority=10, preemptionPolicy="Never"))
    harness.settle()
    assert harness.api.deleted == []


def test_nodes_that_removal_cannot_help_are_not_tried() -> None:
    """A node that rejects the pod by its labels keeps its pods."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=1), node("n2", cpu=1), pod("a", cpu=1, on="n1"), pod("b", cpu=1, on="n2", priority=5))
    harness.put(pod("new", cpu=1, priority=10, nodeSelector={HOST: "n2"}))
    harness.settle()
    assert harness.api.deleted == ["b"]


def test_preemption_resolves_anti_affinity() -> None:
    """The simulation counts affinity terms of the remaining pods."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "new"}}}
    against = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=4), pod("apart", cpu=1, on="n1", affinity=against), pod("other", cpu=1, on="n1"))
    harness.put(pod("new", cpu=1, priority=10, labels={"app": "new"}))
    harness.settle()
    assert harness.api.deleted == ["apart"]


def test_lower_nominations_are_cleared() -> None:
    """When a pod of higher priority takes the node, the nomination of the other pod is cleared."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=2), pod("old", cpu=2, on="n1"))
    harness.put(pod("mid", cpu=2, priority=5))
    harness.settle()
    harness.put(pod("high", cpu=2, priority=10))
    harness.settle()
    cleared = [
        patch
        for name, patch in harness.api.patches
        if name == "mid" and patch["status"].get("nominatedNodeName", "") is None
    ]
    assert cleared
    assert [each.name for each in harness.scheduler.nominator.nominated("n1")] == ["high"]


@pytest.mark.parametrize(
    ("pods", "order"),
    [
        ([("a", 0, _EARLY), ("b", 1, _LATE)], "ba"),
        ([("a", 0, _LATE), ("b", 0, _EARLY)], "ba"),
        ([("a", 0, ""), ("b", 0, ""), ("c", 0, "")], "cba"),
        ([("a", 0, ""), ("b", 0, _LATE)], "ba"),
        ([(name, 0, "") for name in "abcdefgh"], "hgfedcba"),
    ],
)
def test_pods_by_importance(pods: list[tuple[str, int, str]], order: str) -> None:
    """Pods are sorted by priority, then earlier start; those that have not started come in reverse order."""
    templates = Templates()
    records = [templates.pod(pod(name, priority=priority, start=start)) for name, priority, start in pods]
    assert "".join(each.name for each in by_importance(records)) == order


@pytest.mark.parametrize("seed", range(6))
def test_search_continues_until_a_candidate_without_violation(seed: int) -> None:
    """A sufficient number of candidates ends the search only if one of them violates no budget."""
    args = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}
    harness = SchedulerHarness(
        {"profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}]}, seed=seed
    )
    harness.informers.put(BUDGETS, _budget("b", 0, "guarded"))
    harness.put(node("n1", cpu=1), node("n2", cpu=1))
    harness.put(pod("a", cpu=1, on="n1", labels={"app": "guarded"}), pod("b", cpu=1, on="n2", priority=5))
    harness.put(pod("new", cpu=1, priority=10))
    harness.settle()
    assert harness.api.deleted == ["b"]


def test_higher_nominations_are_kept() -> None:
    """A preemption does not clear the nomination of a pod of higher priority to the same node."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=4), pod("old-1", cpu=2, on="n1"), pod("old-2", cpu=2, on="n1"))
    harness.put(pod("high", cpu=2, priority=20))
    harness.settle()
    harness.put(pod("mid", cpu=2, priority=10))
    harness.settle()
    assert sorted(each.name for each in harness.scheduler.nominator.nominated("n1")) == ["high", "mid"]
