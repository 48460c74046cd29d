"""Delayed events, rejected bindings, deleted nodes, many unschedulable pods: no pod is lost or bound twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchd.errors import ApiError, conflict, not_found
from orchd.scheduler.interfaces import ExtenderError
from orchd.scheduler.queue.queue import UNSCHEDULABLE
from tests.scheduler.scheduler_support import NODES, PODS, Bed, node, pod


def wait(bed: Bed, seconds: int) -> None:
    """Advance the time; informers show changes a second later."""
    for _ in range(seconds):
        seen = bed.late.informer(PODS).waiting
        bed.settle(1)
        bed.late.deliver(PODS, seen)


def test_late_watch_causes_no_overcommitment() -> None:
    """Bindings count before informers show them: no node gets more than fits, no pod is bound twice, and space of
    deleted pods is used once the deletion is seen."""
    bed = Bed(lagging=True)
    bed.late.hold(PODS)
    bed.put(*(node(f"n{n}", cpu=5) for n in range(3)), *(pod(f"p{n}", cpu=1) for n in range(20)))
    wait(bed, 5)
    names = [name for name, _ in bed.api.bound]
    assert len(names) == len(set(names)) == 15
    assert Counter(place for _, place in bed.api.bound) == {"n0": 5, "n1": 5, "n2": 5}
    for name in names[:5]:
        bed.informers.informer(PODS).remove("ns", name)
    wait(bed, 100)
    names = [name for name, _ in bed.api.bound]
    assert len(names) == len(set(names)) == 20


def test_late_pod_deletion_leaves_nothing_behind() -> None:
    """The binding of a deleted pod fails; when the deletion is seen, no state of the pod is left."""
    bed = Bed(lagging=True)
    bed.put(pod("a", cpu=1))
    bed.settle()
    bed.late.hold(PODS)
    bed.informers.informer(PODS).remove("ns", "a")
    bed.api.refuse = [not_found("", "pods", "a")]
    bed.put(node("n1", cpu=1))
    wait(bed, 30)
    assert bed.api.bound == [] and bed.place("a") == "" and not bed.scheduler.cluster.assumed


@pytest.mark.parametrize(
    "refusal",
    [ApiError(403, "Forbidden", "not allowed"), conflict("", "pods/binding", "a", "not now"), ApiError(500, "InternalError", "x")],
)
def test_refused_binding_is_reported_and_retried(refusal: ApiError) -> None:
    """The condition has the server's reason; the pod is bound as soon as the server accepts it."""
    bed = Bed()
    bed.api.refuse = [refusal] * 3
    bed.put(node("n1"), pod("a", cpu=1))
    bed.settle()
    assert bed.message("a") == f'binding rejected: running Bind plugin "DefaultBinder": {refusal.message}'
    bed.settle(200)
    assert not bed.api.refuse
    assert bed.api.bound == [("a", "n1")]


def test_unreachable_extender_delays_pods() -> None:
    """The pod waits with a message; it is retried after a minute, and as soon as a node changes."""
    answers: list[Any] = []

    def answer() -> Any:
        if not answers:
            raise ExtenderError("connection refused")
        return answers[0]

    bed = Bed(extender=answer)
    bed.put(node("n1"), pod("a", cpu=1), pod("b", cpu=1))
    bed.settle()
    assert "connection refused" in bed.message("a")
    answers.append({"nodenames": ["n1"]})
    bed.settle(40)
    assert bed.api.bound == []
    bed.settle(60)
    assert sorted(bed.api.bound) == [("a", "n1"), ("b", "n1")]
    answers.clear()
    bed.put(pod("c", cpu=1))
    bed.settle(20)
    answers.append({"nodenames": ["n1"]})
    bed.put(node("n1", labels={"changed": "yes"}))
    bed.settle(1)
    assert bed.where("c") == "n1"


def test_node_removed_before_binding_is_replaced() -> None:
    """The pod goes to another node; nothing is reserved on the deleted one."""
    bed = Bed()
    bed.api.hold = True
    bed.put(node("n1"), pod("a", cpu=1))
    bed.settle()
    assert len(bed.api.held) == 1
    bed.informers.informer(NODES).remove("", "n1")
    bed.api.hold = False
    bed.api.refuse = [not_found("", "nodes", "n1")]
    bed.api.held.pop().callback(None)
    bed.settle(5)
    assert bed.where("a") == "" and not bed.scheduler.cluster.assumed
    bed.put(node("n2"))
    bed.settle(30)
    assert bed.api.bound == [("a", "n2")]


def test_unschedulable_pods_cause_no_attempts_between_flushes() -> None:
    """Between the periodic flushes (one a minute per pod) no pod is tried, whatever nodes report, and the number of
    timers does not depend on the number of pods."""
    bed = Bed()
    bed.put(*(node(f"n{n}") for n in range(10)), *(pod(f"p{n}", cpu=1000) for n in range(500)))
    bed.settle(15)
    assert bed.scheduler.queue.count(UNSCHEDULABLE) == 500
    timers = len(bed.clock.getDelayedCalls())
    assert timers < 10
    before = bed.scheduler.metrics.cycles
    for second in range(10):
        there = bed.informers.informer(NODES).get("", f"n{second}")
        assert there is not None
        beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-01T00:00:{second:02}Z"}
        bed.put({**there, "status": {**there["status"], "conditions": [beat]}})
        if second >= 5:
            bed.settle(1)
    assert bed.scheduler.metrics.cycles == before


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
    bed = Bed({"profiles": [{"schedulerName": "default-scheduler", "plugins": disabled}]})
    bed.put(node("n1"), pod("single", cpu=1))
    bed.settle()
    assert bed.where("single") == "n1"
    bed.put(node("n2"), pod("a", cpu=1))
    bed.settle()
    assert bed.message("a") == f'running Score plugins: plugin "{plugin}" failed with: {text}'


def test_node_affinity_scores_without_its_pre_score() -> None:
    """NodeAffinity computes its state itself, as in the reference."""
    disabled = {"preScore": {"disabled": [{"name": "NodeAffinity"}]}}
    bed = Bed({"profiles": [{"schedulerName": "default-scheduler", "plugins": disabled}]})
    bed.put(node("n1"), node("n2"), pod("a", cpu=1))
    bed.settle()
    assert bed.where("a")
