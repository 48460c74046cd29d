"""Delayed events, rejected bindings, deleted nodes, many unschedulable pods: no pod is lost or bound twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchd.errors import ApiError, conflict, not_found
from orchd.scheduler.interfaces import ExtenderError
from orchd.scheduler.queue.queue import UNSCHEDULABLE
from tests.scheduler.scheduler_support import NODES, PODS, SchedulerHarness, node, pod


def wait(harness: SchedulerHarness, seconds: int) -> None:
    """Advance the time; informers show changes a second later."""
    for _ in range(seconds):
        seen = harness.late.informer(PODS).waiting
        harness.settle(1)
        harness.late.deliver(PODS, seen)


def test_late_watch_causes_no_overcommitment() -> None:
    """Bindings count before informers show them: no node gets more than fits, no pod is bound twice, and space of
    deleted pods is used once the deletion is seen."""
    harness = SchedulerHarness(lagging=True)
    harness.late.hold(PODS)
    harness.put(*(node(f"n{n}", cpu=5) for n in range(3)), *(pod(f"p{n}", cpu=1) for n in range(20)))
    wait(harness, 5)
    names = [name for name, _ in harness.api.bound]
    assert len(names) == len(set(names)) == 15
    assert Counter(place for _, place in harness.api.bound) == {"n0": 5, "n1": 5, "n2": 5}
    for name in names[:5]:
        harness.informers.informer(PODS).remove("ns", name)
    wait(harness, 100)
    names = [name for name, _ in harness.api.bound]
    assert len(names) == len(set(names)) == 20


def test_late_pod_deletion_leaves_nothing_behind() -> None:
    """The binding of a deleted pod fails; when the deletion is seen, no state of the pod is left."""
    harness = SchedulerHarness(lagging=True)
    harness.put(pod("a", cpu=1))
    harness.settle()
    harness.late.hold(PODS)
    harness.informers.informer(PODS).remove("ns", "a")
    harness.api.refuse = [not_found("", "pods", "a")]
    harness.put(node("n1", cpu=1))
    wait(harness, 30)
    assert harness.api.bound == [] and harness.place("a") == "" and not harness.scheduler.cluster.assumed


@pytest.mark.parametrize(
    "refusal",
    [
        ApiError(403, "Forbidden", "not allowed"),
        conflict("", "pods/binding", "a", "not now"),
        ApiError(500, "InternalError", "x"),
    ],
)
def test_refused_binding_is_reported_and_retried(refusal: ApiError) -> None:
    """The condition has the server's reason; the pod is bound as soon as the server accepts it."""
    harness = SchedulerHarness()
    harness.api.refuse = [refusal] * 3
    harness.put(node("n1"), pod("a", cpu=1))
    harness.settle()
    assert harness.message("a") == f'binding rejected: running Bind plugin "DefaultBinder": {refusal.message}'
    harness.settle(200)
    assert not harness.api.refuse
    assert harness.api.bound == [("a", "n1")]


def test_unreachable_extender_delays_pods() -> None:
    """The pod waits with a message; it is retried after a minute, and as soon as a node changes."""
    answers: list[Any] = []

    def answer() -> Any:
        if not answers:
            raise ExtenderError("connection refused")
        return answers[0]

    harness = SchedulerHarness(extender=answer)
    harness.put(node("n1"), pod("a", cpu=1), pod("b", cpu=1))
    harness.settle()
    assert "connection refused" in harness.message("a")
    answers.append({"nodenames": ["n1"]})
    harness.settle(40)
    assert harness.api.bound == []
    harness.settle(60)
    assert sorted(harness.api.bound) == [("a", "n1"), ("b", "n1")]
    answers.clear()
    harness.put(pod("c", cpu=1))
    harness.settle(20)
    answers.append({"nodenames": ["n1"]})
    harness.put(node("n1", labels={"changed": "yes"}))
    harness.settle(1)
    assert harness.where("c") == "n1"


def test_reasons_of_extenders_are_truncated() -> None:
    """The status of a pod does not grow with what an extender says."""
    harness = SchedulerHarness(extender=lambda: {"nodenames": [], "failedNodes": {"n1": "no " * 1_000_000}})
    harness.put(node("n1"), pod("a", cpu=1))
    harness.settle()
    assert len(harness.message("a")) == 32768 and harness.message("a").endswith(" ...")


def test_node_removed_before_binding_is_replaced() -> None:
    """The pod goes to another node; nothing is reserved on the deleted one."""
    harness = SchedulerHarness()
    harness.api.hold = True
    harness.put(node("n1"), pod("a", cpu=1))
    harness.settle()
    assert len(harness.api.held) == 1
    harness.informers.informer(NODES).remove("", "n1")
    harness.api.hold = False
    harness.api.refuse = [not_found("", "nodes", "n1")]
    harness.api.held.pop().callback(None)
    harness.settle(5)
    assert harness.where("a") == "" and not harness.scheduler.cluster.assumed
    harness.put(node("n2"))
    harness.settle(30)
    assert harness.api.bound == [("a", "n2")]


def test_unschedulable_pods_cause_no_attempts_between_flushes() -> None:
    """Between the periodic flushes (one a minute per pod) no pod is tried, whatever nodes report, and the number of
    timers does not depend on the number of pods."""
    harness = SchedulerHarness()
    harness.put(*(node(f"n{n}") for n in range(10)), *(pod(f"p{n}", cpu=1000) for n in range(500)))
    harness.settle(15)
    assert harness.scheduler.queue.count(UNSCHEDULABLE) == 500
    timers = len(harness.clock.getDelayedCalls())
    assert timers < 10
    before = harness.scheduler.metrics.cycles
    for second in range(10):
        there = harness.informers.informer(NODES).get("", f"n{second}")
        assert there is not None
        beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-01T00:00:{second:02}Z"}
        harness.put({**there, "status": {**there["status"], "conditions": [beat]}})
        if second >= 5:
            harness.settle(1)
    assert harness.scheduler.metrics.cycles == before


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("InterPodAffinity", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'),
        ("TaintToleration", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
        ("PodTopologySpread", 'error reading "PreScorePodTopologySpread" from cycleState: not found'),
    ],
)
def test_a_score_without_its_pre_score_fails_the_pod(plugin: str, text: str) -> None:
    """The error names the plugin and the missing pre-score; with a single feasible node nothing is scored, and the pod
    is bound."""
    disabled = {"preScore": {"disabled": [{"name": plugin}]}}
    harness = SchedulerHarness({"profiles": [{"schedulerName": "default-scheduler", "plugins": disabled}]})
    harness.put(node("n1"), pod("single", cpu=1))
    harness.settle()
    assert harness.where("single") == "n1"
    harness.put(node("n2"), pod("a", cpu=1))
    harness.settle()
    assert harness.message("a") == f'running Score plugins: plugin "{plugin}" failed with: {text}'


def test_node_affinity_scores_without_its_pre_score() -> None:
    """NodeAffinity computes its state itself, as in the reference."""
    disabled = {"preScore": {"disabled": [{"name": "NodeAffinity"}]}}
    harness = SchedulerHarness({"profiles": [{"schedulerName": "default-scheduler", "plugins": disabled}]})
    harness.put(node("n1"), node("n2"), pod("a", cpu=1))
    harness.settle()
    assert harness.where("a")
