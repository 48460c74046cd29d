"""Explanations of scheduling decisions as data."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.scheduler.explain import dry_run, explain
from orchd.testing.doubles.results import result_of
from tests.scheduler.scheduler_support import HOST, PODS, SchedulerHarness, node, pod


@pytest.fixture
def harness() -> SchedulerHarness:
    scheduler_harness = SchedulerHarness()
    scheduler_harness.put(
        node("n1", cpu=4), node("n2", cpu=8), node("n3", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    )
    return scheduler_harness


def _explain(harness: SchedulerHarness, name: str) -> Any:
    return result_of(explain(harness.scheduler, "ns", name))


def test_bound_pod_shows_its_past_decision(harness: SchedulerHarness) -> None:
    """Later changes of the cluster do not change the explanation."""
    harness.put(pod("a", cpu=2))
    harness.settle()
    before = _explain(harness, "a")
    assert before["node"] == "n2"
    assert set(before["feasible"]) == {"n1", "n2"}
    for entry in before["feasible"].values():
        assert entry["total"] == sum(entry["plugins"].values())
    assert (
        before["feasible"]["n1"]["plugins"]["NodeResourcesFit"]
        < before["feasible"]["n2"]["plugins"]["NodeResourcesFit"]
    )
    reason = "node(s) had taint {k: v}, that the pod didn't tolerate"
    assert before["filtered"] == {"n3": {"plugin": "TaintToleration", "reasons": [reason]}}
    harness.put(node("n1", cpu=64), node("n4", cpu=64))
    assert _explain(harness, "a") == before


def test_a_pending_pod_shows_what_would_help(harness: SchedulerHarness) -> None:
    """The explanation has the rejecting filter per node, and changes ranked by the number of nodes that they would make
    feasible."""
    harness.put(pod("a", cpu=16))
    harness.settle()
    explanation = _explain(harness, "a")
    assert explanation["node"] == ""
    assert explanation["filtered"]["n1"] == {
        "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"], "remedy": "12000m more cpu",
    }  # fmt: skip
    assert explanation["message"] == harness.message("a")
    assert explanation["wouldHelp"][0] == {
        "nodes": 2, "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"], "preemptionMayHelp": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "change"),
    [
        ({"nodeSelector": {HOST: "x", "disk": "ssd"}}, f"node labels {HOST}=x, disk=ssd"),
        ({"containers": [{"ports": [{"hostPort": 80}]}], "nodeSelector": {HOST: "n1"}}, "host ports free: 80/TCP"),
        (
            {
                "topologySpreadConstraints": [
                    {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            "node labels rack",
        ),
    ],
)
def test_remedies_by_plugin_and_node(harness: SchedulerHarness, spec: Any, change: str) -> None:
    """Each plugin suggests a remedy in its own terms for each node."""
    harness.put(pod("web", on="n1", containers=[{"ports": [{"hostPort": 80}]}]))
    explanation = result_of(dry_run(harness.scheduler, pod("a", **spec)))
    wanted = explanation["filtered"].get("n1", {}).get("remedy")
    assert wanted == change


def test_remedies_for_taints_and_cordoned_nodes() -> None:
    """The remedy names the taint to tolerate."""
    harness = SchedulerHarness()
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    harness.put(node("n1", taints=[taint]), node("n2", unschedulable=True))
    filtered = result_of(dry_run(harness.scheduler, pod("a")))["filtered"]
    assert filtered["n1"]["remedy"] == "a toleration of k=v:NoExecute, or the taint removed"
    assert filtered["n2"]["remedy"] == "the node uncordoned"


def test_explaining_a_new_pod_changes_nothing(harness: SchedulerHarness) -> None:
    """A posted pod is evaluated without being created or assumed."""
    explanation = result_of(dry_run(harness.scheduler, pod("a", cpu=2, nodeSelector={HOST: "n1"})))
    assert explanation["node"] == "n1"
    harness.settle()
    assert harness.api.bound == []
    assert not harness.scheduler.cluster.assumed


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "the pod cannot be read: 'topologyKey' is missing"),
        ({"containers": "none"}, "the pod cannot be read: "),
        ({"containers": [{"resources": {"requests": {"cpu": "much"}}}]}, "the pod cannot be read: "),
        ({"affinity": ["x"]}, "the pod cannot be read: "),
    ],
)
def test_invalid_posted_pod_is_refused(harness: SchedulerHarness, spec: Any, message: str) -> None:
    """The response says what is wrong with the pod."""
    with pytest.raises(ApiError, match=message) as caught:
        result_of(dry_run(harness.scheduler, pod("a", **spec)))
    assert caught.value.code == 400


def test_unknown_pod_is_404(harness: SchedulerHarness) -> None:
    """A pod that does not exist is 404."""
    with pytest.raises(ApiError) as caught:
        _explain(harness, "none")
    assert caught.value.code == 404


def test_decision_history_is_bounded() -> None:
    """The oldest decisions are evicted."""
    harness = SchedulerHarness()
    harness.scheduler.history._limit = 5000
    harness.put(node("n1"), node("n2"), *(pod(f"p{n}") for n in range(20)))
    harness.settle(2)
    assert harness.scheduler.history.get("uid-p19") is not None
    assert harness.scheduler.history.get("uid-p0") is None
    assert _explain(harness, "p0")["message"] == "the decision is no longer recorded"


def test_decisions_of_deleted_pods_are_forgotten() -> None:
    """Nobody can ask for the decision of a pod that does not exist."""
    harness = SchedulerHarness()
    harness.put(node("n1"), pod("a"))
    harness.settle(2)
    assert harness.scheduler.history.get("uid-a") is not None
    harness.informers.informer(PODS).remove("ns", "a")
    assert harness.scheduler.history.get("uid-a") is None
