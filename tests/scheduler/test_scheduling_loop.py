"""The scheduling loop: from a pending pod to a bound one, and retries after failures."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.errors import UnreachableError
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.scheduler.queue.queue import ACTIVE, BACKOFF, UNSCHEDULABLE
from orchd.txkit.compute_thread import LARGE
from orchd.txkit.coroutines import start
from tests.scheduler.scheduler_support import HOST, NODES, PODS, SERVICES, SchedulerHarness, node, pod


@pytest.fixture
def harness() -> SchedulerHarness:
    return SchedulerHarness()


def test_a_pod_is_bound_as_soon_as_a_node_exists(harness: SchedulerHarness) -> None:
    """Without nodes the pod gets a condition; with a node it is bound, with an event."""
    harness.put(pod("a", cpu=1))
    harness.settle()
    assert harness.message("a") == "no nodes available to schedule pods"
    harness.put(node("n1"))
    harness.settle(2)
    assert harness.where("a") == "n1"
    assert harness.events.seen[-1] == ("a", "Scheduled", "Successfully assigned ns/a to n1")


def test_a_large_pod_is_decided_in_a_turn_of_its_own(harness: SchedulerHarness) -> None:
    """What led to its decision may have taken long as well, as may what follows if no node fits."""
    harness.put(node("n1", cpu=4))
    harness.settle()
    turns = []
    large = {f"k{n}": "v" * 20 for n in range(LARGE // 20)}
    for name, labels, cpu in ("a", {}, 1), ("b", large, 1), ("c", {}, 99), ("d", large, 99):
        harness.put(pod(name, labels=labels, cpu=cpu))
        turns.append(0)
        while not harness.where(name) and not harness.message(name):
            due: list[Any] = [call for call in harness.clock.calls if call.getTime() <= harness.clock.seconds()]
            for call in due:
                function, arguments = call.func, call.args
                call.cancel()
                function(*arguments)
            turns[-1] += 1
    assert (turns[1] - turns[0], turns[3] - turns[2]) == (2, 4)


def test_failure_message_counts_and_sorts_reasons(harness: SchedulerHarness) -> None:
    """Every node is counted once for each of its reasons; the parts are sorted as text."""
    harness.put(node("n1", cpu=1), node("n2", cpu=1, unschedulable=True))
    harness.put(*(node(f"t{n}", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]) for n in range(10)))
    harness.put(pod("a", cpu=2))
    harness.settle()
    assert harness.message("a") == (
        "0/12 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable,"
        " 10 node(s) had taint {k: v}, that the pod didn't tolerate."
    )
    assert harness.place("a") == UNSCHEDULABLE


def test_a_pod_may_require_more_resources_than_a_code_has_bits(harness: SchedulerHarness) -> None:
    """Of a pod with seventy extended resources the missing one is named; the pod is bound when a node has them all."""
    names = [f"example.com/r{number}" for number in range(70)]
    wide = pod("wide", cpu=1)
    wide["spec"]["containers"][0]["resources"]["requests"] |= dict.fromkeys(names, "1")
    small, large = node("small"), node("large")
    small["status"]["allocatable"] |= dict.fromkeys(names[:-1], "1")
    large["status"]["allocatable"] |= dict.fromkeys(names, "1")
    harness.put(small, wide)
    harness.settle()
    assert "1 Insufficient example.com/r69" in harness.message("wide")
    harness.put(large)
    harness.settle(2)
    assert harness.where("wide") == "large"


def test_unchanged_condition_is_written_once(harness: SchedulerHarness) -> None:
    """Repeated failures with the same message write nothing."""
    harness.put(node("n1", cpu=1), pod("a", cpu=2))
    harness.settle(200)
    assert len(harness.api.patches) == 1
    assert len([each for each in harness.events.seen if each[1] == "FailedScheduling"]) >= 2


def test_assumed_pod_uses_resources_at_once(harness: SchedulerHarness) -> None:
    """The resources of an assumed pod are in use before a watch shows it on the node."""
    harness.api.late = True
    harness.put(node("n1", cpu=1), pod("a", cpu=1), pod("b", cpu=1))
    harness.settle()
    assert harness.api.bound == [("a", "n1")]
    assert harness.message("b") == "0/1 nodes are available: 1 Insufficient cpu."


def test_bindings_overlap_with_the_next_decisions(harness: SchedulerHarness) -> None:
    """Other pods are scheduled and bound while a binding has no response yet."""
    harness.api.hold = True
    harness.put(node("n1"), *(pod(name, cpu=1) for name in "abc"))
    harness.settle()
    assert len(harness.api.held) == 3


def test_a_failed_binding_is_undone_and_retried(harness: SchedulerHarness) -> None:
    """The resources are released, the pod's condition has the error, and it is bound after its backoff."""
    harness.api.refuse = [ApiError(500, "InternalError", "no")]
    harness.put(node("n1", cpu=1), pod("a", cpu=1))
    harness.settle()
    assert harness.message("a") == 'binding rejected: running Bind plugin "DefaultBinder": no'
    assert not harness.scheduler.cluster.assumed
    harness.settle(70)
    assert harness.where("a") == "n1"


def test_binding_with_a_lost_response_is_not_repeated(harness: SchedulerHarness) -> None:
    """If the response was lost but the watch shows the pod on its node, it is not bound again."""
    harness.api.hold = True
    harness.put(node("n1", cpu=1), pod("a", cpu=1))
    harness.settle()
    harness.api.confirm("ns", "a", "n1")
    harness.api.hold, harness.api.refuse = False, [UnreachableError("server", "lost")]
    harness.api.held.pop().callback(None)
    harness.settle(100)
    assert harness.api.bound == []
    assert [each.name for each in harness.scheduler.snapshot.pods(harness.scheduler.snapshot.row_of("n1"))] == ["a"]


def test_a_pod_deleted_while_it_is_bound_is_forgotten(harness: SchedulerHarness) -> None:
    """Its resources are free at once, and a failed binding is not retried."""
    harness.api.hold = True
    harness.put(node("n1", cpu=1), pod("a", cpu=1))
    harness.settle()
    harness.informers.informer(PODS).remove("ns", "a")
    harness.api.hold, harness.api.refuse = False, [ApiError(404, "NotFound", "gone")]
    harness.api.held.pop().callback(None)
    harness.put(pod("b", cpu=1))
    harness.settle(5)
    assert harness.api.bound == [("b", "n1")]
    assert len(harness.scheduler.queue) == 0


def assumed(harness: SchedulerHarness) -> int:
    return harness.scheduler.cluster.assumed


def test_an_assumed_pod_that_is_never_seen_expires(harness: SchedulerHarness) -> None:
    """An assumed pod whose watch event was lost expires and frees its resources."""
    harness.api.late = True
    harness.put(node("n1", cpu=1), pod("a", cpu=1))
    harness.settle()
    harness.informers.informer(PODS).remove("ns", "a")
    assert not harness.scheduler.cluster.assumed
    harness.put(pod("b", cpu=1))
    harness.settle()
    assert assumed(harness) == 1
    harness.clock.advance(901)
    assert not harness.scheduler.cluster.assumed


def test_each_assumed_pod_has_its_own_expiry(harness: SchedulerHarness) -> None:
    """An assumed pod expires a fixed time after its own binding."""
    harness.api.late = True
    harness.put(node("n1", cpu=2), pod("a", cpu=1))
    harness.settle()
    harness.clock.advance(450)
    harness.put(pod("b", cpu=1))
    harness.settle()
    assert assumed(harness) == 2
    harness.clock.advance(451)
    assert assumed(harness) == 1
    harness.clock.advance(450)
    assert assumed(harness) == 0


def test_confirmed_pod_is_not_forgotten(harness: SchedulerHarness) -> None:
    """A binding that fails after the watch confirmed it does not remove the pod."""
    harness.put(node("n1", cpu=1), pod("a", cpu=1))
    harness.settle()
    assert not harness.scheduler.cluster.forget("uid-a")
    assert harness.scheduler.cluster.pod("uid-a") is not None


def test_transition_time_stays_while_the_pod_is_unschedulable(harness: SchedulerHarness) -> None:
    """A changed message of the condition does not change its transition time."""
    harness.put(node("n1", cpu=1), pod("a", cpu=2))
    harness.settle(10)
    harness.put(node("n2", cpu=1))
    harness.settle(100)
    first, last = (patch["status"]["conditions"][0] for _, patch in harness.api.patches)
    assert first["message"] != last["message"]
    assert first["lastTransitionTime"] == last["lastTransitionTime"]


def test_pod_bound_by_others_is_left_alone(harness: SchedulerHarness) -> None:
    """A pod that another scheduler or a user bound is not scheduled."""
    harness.put(node("n1", cpu=1), pod("a", cpu=9))
    harness.settle()
    harness.api.confirm("ns", "a", "n1")
    harness.put(node("n2", cpu=16))
    harness.settle(70)
    assert harness.api.bound == []


def test_pods_of_other_schedulers_are_not_touched(harness: SchedulerHarness) -> None:
    """Only pods that name one of our profiles are scheduled."""
    harness.put(node("n1"), pod("a", schedulerName="other"))
    harness.settle(5)
    assert harness.api.bound == []
    assert len(harness.scheduler.queue) == 0


def test_a_deleting_pod_is_skipped(harness: SchedulerHarness) -> None:
    """The pod gets an event and is not tried again."""
    harness.put(node("n1"), pod("a", deleting=True))
    harness.settle(70)
    assert harness.events.seen == [("a", "FailedScheduling", "skip schedule deleting pod: ns/a")]


def test_a_deleted_bound_pod_makes_room(harness: SchedulerHarness) -> None:
    """A pod that failed for lack of resources is tried again and bound."""
    harness.put(node("n1", cpu=1), pod("old", cpu=1, on="n1"), pod("a", cpu=1))
    harness.settle(2)
    assert harness.place("a") == UNSCHEDULABLE
    harness.informers.informer(PODS).remove("ns", "old")
    harness.settle(1)
    assert harness.where("a") == "n1"


def test_a_finished_pod_makes_room(harness: SchedulerHarness) -> None:
    """Pods that succeeded or failed use no resources."""
    old = pod("old", cpu=1, on="n1")
    harness.put(node("n1", cpu=1), old, pod("a", cpu=1))
    harness.settle(2)
    harness.put({**old, "status": {"phase": "Succeeded"}})
    harness.settle(1)
    assert harness.where("a") == "n1"


def test_returning_node_counts_its_pods(harness: SchedulerHarness) -> None:
    """The pods that the API shows on the node are counted again."""
    harness.put(node("n1", cpu=2), pod("old", cpu=1, on="n1"))
    harness.informers.informer(NODES).remove("", "n1")
    harness.put(node("n1", cpu=2), pod("a", cpu=1), pod("b", cpu=1))
    harness.settle()
    assert [name for name, _ in harness.api.bound] == ["a"]


def test_new_node_retries_only_pods_that_may_fit(harness: SchedulerHarness) -> None:
    """A new node retries only pods that may fit on it."""
    harness.put(node("n1", cpu=1), pod("a", cpu=8))
    harness.settle(3)
    attempts = len(harness.events.seen)
    harness.put(node("n2", cpu=2))
    harness.settle(3)
    assert len(harness.events.seen) == attempts
    harness.put(node("n3", cpu=8))
    harness.settle(3)
    assert harness.where("a") == "n3"


def test_bound_pod_retries_pods_with_affinity_to_it(harness: SchedulerHarness) -> None:
    """A pod with required affinity to a pod that is bound later is retried."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    harness.put(node("n1"), node("n2"), pod("a", affinity=near), pod("far", cpu=99))
    harness.settle(2)
    assert harness.message("a") == "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."
    attempts = len([each for each in harness.events.seen if each[0] == "far"])
    harness.put(pod("db", on="n2", labels={"app": "db"}))
    harness.settle(2)
    assert harness.where("a") == "n2"
    assert len([each for each in harness.events.seen if each[0] == "far"]) == attempts


def test_many_pods_are_spread_and_none_is_lost(harness: SchedulerHarness) -> None:
    """Each of many pods is bound once, and no node gets more than fits."""
    harness.put(*(node(f"n{n}", cpu=4) for n in range(10)))
    harness.put(*(pod(f"p{n}", cpu=1) for n in range(45)))
    harness.settle(5)
    names = [name for name, _ in harness.api.bound]
    assert len(names) == len(set(names)) == 40
    assert all(sum(where == f"n{n}" for _, where in harness.api.bound) == 4 for n in range(10))
    waiting = [harness.place(f"p{n}") for n in range(45) if f"p{n}" not in names]
    assert set(waiting) <= {ACTIVE, BACKOFF, UNSCHEDULABLE}
    assert len(waiting) == 5


def test_a_filter_without_its_pre_filter_fails_the_pod() -> None:
    """If a profile enables a filter without its pre-filter, the error says so, unless an earlier filter rejects all
    nodes."""
    disabled = {"preFilter": {"disabled": [{"name": "NodeResourcesFit"}]}}
    harness = SchedulerHarness({"profiles": [{"schedulerName": "default-scheduler", "plugins": disabled}]})
    harness.put(node("n1"), pod("a"), pod("b", nodeSelector={"x": "y"}))
    harness.settle()
    assert harness.message("a") == (
        'running "NodeResourcesFit" filter plugin: error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    )
    assert harness.message("b") == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."


def test_gated_pod_stays_out_of_the_queue() -> None:
    """A pod with gates is neither queued nor reported, and is scheduled when the last gate is removed."""
    harness = SchedulerHarness(release=NEWEST)
    gates = [{"name": "example.com/one"}, {"name": "example.com/two"}]
    harness.put(node("n1"), pod("p", schedulingGates=gates))
    harness.settle(60)
    harness.put(pod("p", schedulingGates=gates[1:]))
    harness.settle(60)
    assert (harness.place("p"), harness.where("p"), harness.api.patches) == ("", "", [])
    harness.put(pod("p"))
    harness.settle()
    assert harness.where("p") == "n1"


def test_stopped_schedulers_follow_nothing(harness: SchedulerHarness) -> None:
    """Nodes and pods that come after the end, and changes of those before it, are not taken over."""
    harness.put(node("n1"), pod("waiting", cpu=100))
    harness.settle(1)
    assert harness.place("waiting") == UNSCHEDULABLE
    start(harness.scheduler.stop())
    harness.put(node("n2", cpu=200), pod("late"))
    harness.informers.put(SERVICES, {"metadata": {"name": "s", "namespace": "ns"}, "spec": {}})
    assert harness.place("waiting") == UNSCHEDULABLE and not harness.place("late")
    assert harness.scheduler.cluster.snapshot.row_of("n2") < 0
