"""DefaultPreemption: victims, the node that is chosen, and the nominated pod."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from orchd.errors import ApiError
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.scheduler.config.model import DefaultPreemptionArgs
from orchd.scheduler.interfaces import ExtenderError
from orchd.scheduler.plugins.defaultpreemption import Candidate, DefaultPreemption, split_by_budgets
from orchd.scheduler.plugins.importance import by_importance
from orchd.scheduler.pods import Pod, Templates
from orchd.scheduler.values import Code, Status
from tests.scheduler.scheduler_support import BUDGETS, HOST, PODS, ZONE, SchedulerHarness, node, pod

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
    harness = SchedulerHarness(release=NEWEST)
    harness.put(node("n1", cpu=1), pod("old", cpu=1, on="n1"), pod("new", cpu=1, priority=10, preemptionPolicy="Never"))
    harness.settle()
    assert harness.api.deleted == []
    assert harness.message("new").endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_message_says_why_preemption_does_not_help() -> None:
    """Nodes without a pod of lower priority, nodes that do not fit without them, and nodes that were not tried."""
    harness = SchedulerHarness(release=NEWEST)
    harness.put(node("n1", cpu=2), node("n2", cpu=2), node("n3", unschedulable=True))
    harness.put(
        pod("low", cpu=1, on="n1"), pod("high", cpu=1, on="n1", priority=20), pod("full", cpu=2, on="n2", priority=20)
    )
    harness.put(pod("new", cpu=2, priority=10))
    harness.settle()
    assert harness.api.deleted == []
    assert harness.message("new").partition("preemption: ")[2] == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


@pytest.mark.parametrize(("code", "nominated"), [(404, True), (409, True), (403, False), (500, False)])
def test_victim_that_cannot_be_deleted_ends_the_preemption(code: int, nominated: bool) -> None:
    """One that is gone or replaced needs no deletion; after another failure the pod is not nominated."""
    harness = SchedulerHarness()

    async def refuse(*_: Any, **options: Any) -> Any:
        raise ApiError(code, "", "refused")

    harness.api.delete = refuse  # type: ignore[method-assign]
    harness.put(node("n1", cpu=1), pod("old", cpu=1, on="n1"), pod("new", cpu=1, priority=10))
    harness.settle()
    assert bool(harness.scheduler.nominator.nominated("n1")) == nominated
    assert (("old", "Preempted", "Preempted by ns/new on node n1") in harness.events.seen) == nominated


def test_victims_are_marked_since_1_26() -> None:
    """Their status says that they are preempted; the event names the uid of the pod."""
    harness = SchedulerHarness(release=NEWEST)
    harness.put(node("n1", cpu=1), pod("old", cpu=1, on="n1"), pod("new", cpu=1, priority=10))
    harness.settle()
    (mark,) = [patch for name, patch in harness.api.patches if name == "old"]
    (condition,) = mark["status"]["conditions"]
    assert (condition["type"], condition["reason"], condition["message"]) == (
        "DisruptionTarget",
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority pod",
    )
    assert harness.api.deleted == ["old"]
    assert ("old", "Preempted", "Preempted by pod uid-new on node n1") in harness.events.seen


@pytest.mark.parametrize(
    ("condition", "awaited"),
    [
        (None, False),
        ({"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}, True),
        ({"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}, False),
        ({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}, False),
    ],
)
def test_only_preempted_pods_are_awaited_since_1_26(condition: Any, awaited: bool) -> None:
    """A nominated pod that does not fit preempts again, unless a pod on its node ends because it was preempted. A
    victim that is being deleted is neither marked nor deleted again."""
    harness = SchedulerHarness(release=NEWEST)
    ending = pod("ending", cpu=1, on="n1", deleting=True)
    ending["status"]["conditions"] = [condition] if condition else []
    harness.put(node("n1", cpu=1), ending)
    harness.put({**pod("new", cpu=1, priority=10), "status": {"nominatedNodeName": "n1"}})
    harness.settle()
    assert not harness.api.deleted and "ending" not in [name for name, _ in harness.api.patches]
    assert ("Preempted" not in [reason for _, reason, _ in harness.events.seen]) == awaited


def _labelled(name: str, app: str = "", namespace: str = "ns") -> Pod:
    return Templates().pod(pod(name, labels={"app": app} if app else {}, namespace=namespace))


BUDGET = _budget("b", 1, "x")


@pytest.mark.parametrize(
    ("budget", "pods", "violating"),
    [
        (BUDGET, ("a", "b", "c"), "bc"),
        ({**BUDGET, "status": {"disruptionsAllowed": 2}}, ("a", "b", "c"), "c"),
        ({**BUDGET, "status": {}}, ("a",), "a"),
        ({**BUDGET, "status": {"disruptionsAllowed": 1, "disruptedPods": {"a": "now"}}}, ("a", "b", "c"), "c"),
        ({**BUDGET, "metadata": {"name": "b", "namespace": "other"}}, ("a", "b"), ""),
        ({**BUDGET, "spec": {"selector": {}}}, ("a", "b"), ""),
        ({**BUDGET, "spec": {"selector": {"matchLabels": {"app": "y"}}}}, ("a", "b"), ""),
    ],
)
def test_pods_that_violate_a_budget(budget: Any, pods: tuple[str, ...], violating: str) -> None:
    """Those beyond its allowance, in order; a pod that it counted already does not use it."""
    budgets = [(budget, LabelSelector.from_object(budget["spec"]["selector"]))]
    first, second = split_by_budgets([_labelled(name, "x") for name in pods], budgets)
    assert "".join(each.name for each in first) == violating
    assert [each.name for each in second] == [name for name in pods if name not in violating]


def test_pods_without_labels_violate_no_budget() -> None:
    budgets = [({**BUDGET, "status": {}}, LabelSelector.from_object(BUDGET["spec"]["selector"]))] * 2
    violating, others = split_by_budgets([_labelled("a"), _labelled("b", "x")], budgets)
    assert [each.name for each in violating] == ["b"] and [each.name for each in others] == ["a"]


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "number"),
    [(1000, 10, 100, 100), (2000, 10, 100, 200), (50, 10, 100, 50), (1000, 0, 1, 1), (15, 10, 1, 1), (19, 10, 0, 1)],
)
def test_number_of_candidates(nodes: int, percentage: int, absolute: int, number: int) -> None:
    """A percentage of the nodes and at least an absolute number, but not more than there are."""
    arguments = DefaultPreemptionArgs(min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute)
    handle: Any = SimpleNamespace(release=SPECIFICATION, informer=lambda ref: None)
    assert DefaultPreemption(handle, arguments).count_candidates(nodes) == number


def test_many_pods_by_importance() -> None:
    """Beyond twelve pods the order is the same, but for equal ones, which come in reverse order."""
    started = [
        ("a", 0, _LATE),
        ("b", 1, ""),
        ("c", 0, _EARLY),
        ("d", 1, _LATE),
        *((name, 0, "") for name in "efghijklm"),
    ]
    templates = Templates()
    records = [templates.pod(pod(name, priority=priority, start=start)) for name, priority, start in started]
    assert "".join(each.name for each in by_importance(records)) == "dbca" + "mlkjihgfe"


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


def _spread(**more: Any) -> dict[str, Any]:
    """Members of a pod whose app is spread over zones."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        **more,
    }
    return {"labels": {"app": "a"}, "topologySpreadConstraints": [constraint]}


@pytest.mark.parametrize(
    ("pods", "victims"),
    [
        ([("a1", "n1", "a")], ["a1"]),
        ([("a1", "n1", "a"), ("b1", "n1", "b")], ["a1"]),
        ([("a1", "n1", "a"), ("a2", "n1", "a")], ["a1", "a2"]),
        ([("a1", "n1", "a"), ("a2", "n1", "a"), ("a3", "n2", "a")], ["a2"]),
        ([("a1", "n1", "a"), ("a2", "n3", "a")], ["a1"]),
        ([("a1", "n3", "a")], []),
        ([("b1", "n1", "b")], []),
    ],
)
def test_victims_make_a_spread_even(pods: list[tuple[str, str, str]], victims: list[str]) -> None:
    """Pods of the other zone cannot be joined, since its node is tainted: as many pods of the app go as the skew needs,
    those that started last, and no others. Pods on a node without a zone, which has no room for the pod, do not
    count."""
    harness = SchedulerHarness()
    harness.put(
        node("n1", zone="z1"),
        node("n2", zone="z2", taints=[{"key": "k", "effect": "NoSchedule"}]),
        node("n3", taints=[{"key": "k", "effect": "NoSchedule"}]),
    )
    for month, (name, on, app) in enumerate(pods, 1):
        harness.put(pod(name, on=on, start=f"2026-0{month}-01T00:00:00Z", labels={"app": app}))
    harness.put(pod("new", priority=10, **_spread()))
    harness.settle(1)
    assert sorted(harness.api.deleted) == victims
    assert harness.where("new") == ("" if victims else "n1")


def test_nominated_pods_count_for_a_spread() -> None:
    """A pod that is nominated to a zone counts as one of its pods for those of lower priority."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=2, zone="z1"), node("n2", zone="z2", taints=[{"key": "k", "effect": "NoSchedule"}]))
    harness.put(pod("old", cpu=2, on="n1"), pod("new", cpu=2, priority=10, labels={"app": "a"}))
    harness.settle()
    assert harness.api.deleted == ["old"]
    harness.put(pod("low", priority=5, **_spread()))
    harness.settle()
    assert harness.message("low") == (
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) had taint {k: }, that "
        "the pod didn't tolerate."
    )


_T = Templates()


def _victims(*pods: tuple[int, str]) -> tuple[Pod, ...]:
    """Pods of these priorities that started at these times ("" for not yet)."""
    return tuple(_T.pod(pod(f"p{number}", priority=each, start=at)) for number, (each, at) in enumerate(pods))


def _plugin(**handle: Any) -> DefaultPreemption:
    arguments = DefaultPreemptionArgs(min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=100)
    members = {"release": SPECIFICATION, "informer": lambda ref: None, **handle}
    return DefaultPreemption(cast("Any", SimpleNamespace(**members)), arguments)


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        (((1, ((0, ""),))), (0, ((9, ""), (9, ""))), 1),
        ((0, ((5, ""),)), (0, ((4, ""), (4, ""))), 1),
        ((0, ((5, ""), (3, ""))), (0, ((5, ""), (2, ""))), 1),
        ((0, ((5, ""), (-1, ""))), (0, ((5, ""),)), 1),
        ((0, ((5, _EARLY),)), (0, ((5, _LATE),)), 1),
        ((0, ((5, _LATE), (4, _EARLY))), (0, ((5, _EARLY), (4, _LATE))), 0),
        ((0, ((5, _LATE),)), (0, ((5, _LATE),)), 0),
    ],
)
def test_choice_between_two_candidates(first: Any, second: Any, chosen: int) -> None:
    """Fewest violations, then the lowest first victim, the smallest sum of priorities, the fewest victims, and the
    latest start of those of the highest priority."""
    candidates = [
        Candidate(name, _victims(*pods), violations) for name, (violations, pods) in (("n0", first), ("n1", second))
    ]
    assert _plugin().choose(candidates).node == f"n{chosen}"


@pytest.mark.parametrize(
    ("policy", "nominated", "row", "code", "others", "eligible"),
    [
        ("Never", "", -1, None, [], False),
        ("", "", -1, None, [(0, True)], True),
        ("", "gone", -1, None, [(0, True)], True),
        ("", "n", 0, Code.UNRESOLVABLE, [(0, True)], True),
        ("", "n", 0, Code.UNSCHEDULABLE, [(0, True)], False),
        ("", "n", 0, None, [(0, True)], False),
        ("", "n", 0, None, [(0, False)], True),
        ("", "n", 0, None, [(10, True)], True),
        ("", "n", 0, None, [], True),
    ],
)
def test_pods_that_may_preempt(
    policy: str, nominated: str, row: int, code: Any, others: list[tuple[int, bool]], eligible: bool
) -> None:
    """Not while pods of lower priority end on the nominated node, unless the pod can no longer get it."""
    more: dict[str, Any] = {"preemptionPolicy": policy} if policy else {}
    own = pod("new", priority=10, **more)
    own["status"] = {"nominatedNodeName": nominated} if nominated else {}
    records = [
        _T.pod(pod(f"o{n}", on="n", priority=each, deleting=deleting)) for n, (each, deleting) in enumerate(others)
    ]
    snapshot = SimpleNamespace(row_of=lambda name: row, pods=lambda row: records)
    refused: Any = SimpleNamespace(status=lambda row: None if code is None else Status(code, ("x",)))
    assert (_plugin(snapshot=snapshot).ineligible(_T.pod(own), refused) == "") == eligible


class _Extender:
    """Takes part in preemption only: leaves the nodes in `answer`, None for an error."""

    filters = binds = prioritizes = False
    weight, ignored_resources = 0, ()

    def __init__(self, answer: Any, *, preempts: bool = True, interested: bool = True, ignorable: bool = False) -> None:
        self.answer, self.preempts, self.ignorable = answer, preempts, ignorable
        self.interested = lambda pod: interested

    async def preempt(self, pod: Any, victims: Any) -> Any:
        if self.answer is None:
            raise ExtenderError("no")
        return {name: each for name, each in victims.items() if name in self.answer}


class _Extended(SchedulerHarness):
    def __init__(self, *extenders: _Extender) -> None:
        self.all = extenders
        super().__init__(release=NEWEST)

    def _extenders(self, snapshot: Any) -> Any:
        return self.all


@pytest.mark.parametrize(
    ("extenders", "deleted"),
    [
        ([_Extender(["n2"])], ["b"]),
        ([_Extender(["n1", "n2"]), _Extender(["n2"])], ["b"]),
        ([_Extender("", preempts=False)], ["a"]),
        ([_Extender("", preempts=False), _Extender(["n2"])], ["b"]),
        ([_Extender("", interested=False), _Extender(["n2"])], ["b"]),
        ([_Extender("", interested=False)], ["a"]),
        ([_Extender("")], []),
        ([_Extender(None)], []),
        ([_Extender(None, ignorable=True), _Extender(["n2"])], ["b"]),
    ],
)
def test_extenders_reduce_the_candidates(extenders: list[_Extender], deleted: list[str]) -> None:
    """Those that preempt and are interested; without a candidate there is no preemption."""
    harness = _Extended(*extenders)
    harness.put(node("n1", cpu=1), node("n2", cpu=1))
    harness.put(pod("a", cpu=1, on="n1"), pod("b", cpu=1, on="n2", priority=5), pod("new", cpu=1, priority=10))
    harness.settle()
    assert harness.api.deleted == deleted
    if not deleted:
        assert harness.message("new").endswith("preemption: no candidate node for preemption")


def test_preemptions_are_counted() -> None:
    """Attempts, also those without a candidate, and victims."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=2), pod("a", cpu=1, on="n1"), pod("b", cpu=1, on="n1"), pod("new", cpu=2, priority=10))
    harness.settle()
    metrics = harness.scheduler.metrics
    assert sum(metrics.preemption_attempts.values.values()) == 1
    (victims,) = metrics.victims.values.values()
    assert (victims.count, victims.sum) == (1, 2.0)
    harness.put(pod("large", cpu=9, priority=20))
    harness.settle()
    assert sum(metrics.preemption_attempts.values.values()) == 2


def test_victims_are_most_important_first_since_1_26() -> None:
    """Also if removing the others violates a budget."""
    harness = SchedulerHarness(release=NEWEST)
    harness.informers.put(BUDGETS, _budget("b", 0, "guarded"))
    harness.put(
        node("n1", cpu=2),
        pod("low", cpu=1, on="n1", labels={"app": "guarded"}),
        pod("high", cpu=1, on="n1", priority=5),
    )
    harness.put(pod("new", cpu=2, priority=10))
    harness.settle()
    assert harness.api.deleted == ["high", "low"]
    early = SchedulerHarness()
    early.informers.put(BUDGETS, _budget("b", 0, "guarded"))
    early.put(
        node("n1", cpu=2),
        pod("low", cpu=1, on="n1", labels={"app": "guarded"}),
        pod("high", cpu=1, on="n1", priority=5),
    )
    early.put(pod("new", cpu=2, priority=10))
    early.settle()
    assert early.api.deleted == ["low", "high"]


@pytest.mark.parametrize("code", [404, 409, 500])
def test_nomination_that_cannot_be_cleared(code: int) -> None:
    """The preemption goes on."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=2), pod("old", cpu=2, on="n1"), pod("mid", cpu=2, priority=5))
    harness.settle()
    patch = harness.api.patch

    async def refuse(ref: Any, namespace: str, name: str, body: Any, **options: Any) -> Any:
        if name == "mid" and body["status"].get("nominatedNodeName", "") is None:
            raise ApiError(code, "", "refused")
        return await patch(ref, namespace, name, body, **options)

    harness.api.patch = refuse  # type: ignore[method-assign, assignment]
    harness.put(pod("high", cpu=2, priority=10))
    harness.settle()
    assert [each.name for each in harness.scheduler.nominator.nominated("n1")] == ["high"]


def test_nodes_without_lower_pods_are_passed_over() -> None:
    """Whatever the order of the search."""
    for seed in range(6):
        harness = SchedulerHarness(seed=seed)
        harness.put(*(node(f"n{n}", cpu=1) for n in range(4)))
        harness.put(*(pod(f"p{n}", cpu=1, on=f"n{n}", priority=0 if n == 2 else 10) for n in range(4)))
        harness.put(pod("new", cpu=1, priority=10))
        harness.settle()
        assert harness.api.deleted == ["p2"]


@pytest.mark.parametrize(
    "first",
    [
        {**BUDGET, "metadata": {"name": "b", "namespace": "other"}},
        {**BUDGET, "spec": {"selector": {}}},
        {**BUDGET, "spec": {"selector": {"matchLabels": {"app": "y"}}}},
        {**BUDGET, "status": {"disruptedPods": {"a": "now"}}},
    ],
)
def test_every_budget_counts(first: Any) -> None:
    """One that does not concern a pod does not hide the next one."""
    budgets = [
        (each, LabelSelector.from_object(each["spec"]["selector"])) for each in (first, {**BUDGET, "status": {}})
    ]
    violating, _ = split_by_budgets([_labelled("a", "x")], budgets)
    assert [each.name for each in violating] == ["a"]


def test_pods_of_the_same_priority_are_no_victims() -> None:
    """Neither alone nor beside lower ones, nor are their nominations cleared."""
    harness = SchedulerHarness()
    harness.put(node("n1", cpu=2), pod("same", cpu=1, on="n1", priority=10), pod("low", cpu=1, on="n1"))
    harness.put(pod("large", cpu=2, priority=10), pod("new", cpu=1, priority=10))
    harness.settle()
    assert harness.api.deleted == ["low"]
    harness.put(pod("next", cpu=1, priority=10))
    harness.settle()
    assert [each.name for each in harness.scheduler.nominator.nominated("n1")] == ["new"]
