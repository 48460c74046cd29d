"""The scheduling loop: from a pending pod to a bound one, and retries after failures."""

from __future__ import annotations

import pytest

from orchd.client.errors import UnreachableError
from orchd.errors import ApiError
from orchd.scheduler.cluster import EXPIRES
from orchd.scheduler.queue.queue import ACTIVE, BACKOFF, UNSCHEDULABLE
from tests.scheduler.scheduler_support import HOST, NODES, PODS, Bed, node, pod


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_a_pod_is_bound_as_soon_as_a_node_exists(bed: Bed) -> None:
    """Without nodes the pod gets a condition; with a node it is bound, with an event."""
    bed.put(pod("a", cpu=1))
    bed.settle()
    assert bed.message("a") == "no nodes available to schedule pods"
    bed.put(node("n1"))
    bed.settle(2)
    assert bed.where("a") == "n1"
    assert bed.events.seen[-1] == ("a", "Scheduled", "Successfully assigned ns/a to n1")


def test_failure_message_counts_and_sorts_reasons(bed: Bed) -> None:
    """Every node is counted once for each of its reasons; the parts are sorted as text."""
    bed.put(node("n1", cpu=1), node("n2", cpu=1, unschedulable=True))
    bed.put(*(node(f"t{n}", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]) for n in range(10)))
    bed.put(pod("a", cpu=2))
    bed.settle()
    assert bed.message("a") == (
        "0/12 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable,"
        " 10 node(s) had taint {k: v}, that the pod didn't tolerate."
    )
    assert bed.place("a") == UNSCHEDULABLE


def test_unchanged_condition_is_written_once(bed: Bed) -> None:
    """Repeated failures with the same message write nothing."""
    bed.put(node("n1", cpu=1), pod("a", cpu=2))
    bed.settle(200)
    assert len(bed.api.patches) == 1
    assert len([each for each in bed.events.seen if each[1] == "FailedScheduling"]) >= 2


def test_assumed_pod_uses_resources_at_once(bed: Bed) -> None:
    """The resources of an assumed pod are in use before a watch shows it on the node."""
    bed.api.late = True
    bed.put(node("n1", cpu=1), pod("a", cpu=1), pod("b", cpu=1))
    bed.settle()
    assert bed.api.bound == [("a", "n1")]
    assert bed.message("b") == "0/1 nodes are available: 1 Insufficient cpu."


def test_bindings_overlap_with_the_next_decisions(bed: Bed) -> None:
    """Other pods are scheduled and bound while a binding has no response yet."""
    bed.api.hold = True
    bed.put(node("n1"), *(pod(name, cpu=1) for name in "abc"))
    bed.settle()
    assert len(bed.api.held) == 3


def test_a_failed_binding_is_undone_and_retried(bed: Bed) -> None:
    """The resources are released, the pod's condition has the error, and it is bound after its backoff."""
    bed.api.refuse = [ApiError(500, "InternalError", "no")]
    bed.put(node("n1", cpu=1), pod("a", cpu=1))
    bed.settle()
    assert bed.message("a") == 'binding rejected: running Bind plugin "DefaultBinder": no'
    assert not bed.scheduler.cluster.assumed
    bed.settle(70)
    assert bed.where("a") == "n1"


def test_binding_with_a_lost_response_is_not_repeated(bed: Bed) -> None:
    """If the response was lost but the watch shows the pod on its node, it is not bound again."""
    bed.api.hold = True
    bed.put(node("n1", cpu=1), pod("a", cpu=1))
    bed.settle()
    bed.api.confirm("ns", "a", "n1")
    bed.api.hold, bed.api.refuse = False, [UnreachableError("server", "lost")]
    bed.api.held.pop().callback(None)
    bed.settle(100)
    assert bed.api.bound == []
    assert [each.name for each in bed.scheduler.snapshot.pods(bed.scheduler.snapshot.row_of("n1"))] == ["a"]


def test_a_pod_deleted_while_it_is_bound_is_forgotten(bed: Bed) -> None:
    """Its resources are free at once, and a failed binding is not retried."""
    bed.api.hold = True
    bed.put(node("n1", cpu=1), pod("a", cpu=1))
    bed.settle()
    bed.informers.informer(PODS).remove("ns", "a")
    bed.api.hold, bed.api.refuse = False, [ApiError(404, "NotFound", "gone")]
    bed.api.held.pop().callback(None)
    bed.put(pod("b", cpu=1))
    bed.settle(5)
    assert bed.api.bound == [("b", "n1")]
    assert len(bed.scheduler.queue) == 0


def assumed(bed: Bed) -> int:
    return bed.scheduler.cluster.assumed


def test_an_assumed_pod_that_is_never_seen_expires(bed: Bed) -> None:
    """An assumed pod whose watch event was lost expires and frees its resources."""
    bed.api.late = True
    bed.put(node("n1", cpu=1), pod("a", cpu=1))
    bed.settle()
    bed.informers.informer(PODS).remove("ns", "a")
    assert not bed.scheduler.cluster.assumed
    bed.put(pod("b", cpu=1))
    bed.settle()
    assert assumed(bed) == 1
    bed.clock.advance(EXPIRES + 1)
    assert not bed.scheduler.cluster.assumed


def test_each_assumed_pod_has_its_own_expiry(bed: Bed) -> None:
    """An assumed pod expires a fixed time after its own binding."""
    bed.api.late = True
    bed.put(node("n1", cpu=2), pod("a", cpu=1))
    bed.settle()
    bed.clock.advance(EXPIRES / 2)
    bed.put(pod("b", cpu=1))
    bed.settle()
    assert assumed(bed) == 2
    bed.clock.advance(EXPIRES / 2 + 1)
    assert assumed(bed) == 1
    bed.clock.advance(EXPIRES / 2)
    assert assumed(bed) == 0


def test_confirmed_pod_is_not_forgotten(bed: Bed) -> None:
    """A binding that fails after the watch confirmed it does not remove the pod."""
    bed.put(node("n1", cpu=1), pod("a", cpu=1))
    bed.settle()
    assert not bed.scheduler.cluster.forget("uid-a")
    assert bed.scheduler.cluster.pod("uid-a") is not None


def test_transition_time_stays_while_the_pod_is_unschedulable(bed: Bed) -> None:
    """A changed message of the condition does not change its transition time."""
    bed.put(node("n1", cpu=1), pod("a", cpu=2))
    bed.settle(10)
    bed.put(node("n2", cpu=1))
    bed.settle(100)
    first, last = (patch["status"]["conditions"][0] for _, patch in bed.api.patches)
    assert first["message"] != last["message"]
    assert first["lastTransitionTime"] == last["lastTransitionTime"]


def test_pod_bound_by_others_is_left_alone(bed: Bed) -> None:
    """A pod that another scheduler or a user bound is not scheduled."""
    bed.put(node("n1", cpu=1), pod("a", cpu=9))
    bed.settle()
    bed.api.confirm("ns", "a", "n1")
    bed.put(node("n2", cpu=16))
    bed.settle(70)
    assert bed.api.bound == []


def test_pods_of_other_schedulers_are_not_touched(bed: Bed) -> None:
    """Only pods that name one of our profiles are scheduled."""
    bed.put(node("n1"), pod("a", schedulerName="other"))
    bed.settle(5)
    assert bed.api.bound == []
    assert len(bed.scheduler.queue) == 0


def test_a_deleting_pod_is_skipped(bed: Bed) -> None:
    """The pod gets an event and is not tried again."""
    bed.put(node("n1"), pod("a", deleting=True))
    bed.settle(70)
    assert bed.events.seen == [("a", "FailedScheduling", "skip schedule deleting pod: ns/a")]


def test_a_deleted_bound_pod_makes_room(bed: Bed) -> None:
    """A pod that failed for lack of resources is tried again and bound."""
    bed.put(node("n1", cpu=1), pod("old", cpu=1, on="n1"), pod("a", cpu=1))
    bed.settle(2)
    assert bed.place("a") == UNSCHEDULABLE
    bed.informers.informer(PODS).remove("ns", "old")
    bed.settle(1)
    assert bed.where("a") == "n1"


def test_a_finished_pod_makes_room(bed: Bed) -> None:
    """Pods that succeeded or failed use no resources."""
    old = pod("old", cpu=1, on="n1")
    bed.put(node("n1", cpu=1), old, pod("a", cpu=1))
    bed.settle(2)
    bed.put({**old, "status": {"phase": "Succeeded"}})
    bed.settle(1)
    assert bed.where("a") == "n1"


def test_returning_node_counts_its_pods(bed: Bed) -> None:
    """The pods that the API shows on the node are counted again."""
    bed.put(node("n1", cpu=2), pod("old", cpu=1, on="n1"))
    bed.informers.informer(NODES).remove("", "n1")
    bed.put(node("n1", cpu=2), pod("a", cpu=1), pod("b", cpu=1))
    bed.settle()
    assert [name for name, _ in bed.api.bound] == ["a"]


def test_new_node_retries_only_pods_that_may_fit(bed: Bed) -> None:
    """A new node retries only pods that may fit on it."""
    bed.put(node("n1", cpu=1), pod("a", cpu=8))
    bed.settle(3)
    attempts = len(bed.events.seen)
    bed.put(node("n2", cpu=2))
    bed.settle(3)
    assert len(bed.events.seen) == attempts
    bed.put(node("n3", cpu=8))
    bed.settle(3)
    assert bed.where("a") == "n3"


def test_bound_pod_retries_pods_with_affinity_to_it(bed: Bed) -> None:
    """A pod with required affinity to a pod that is bound later is retried."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    bed.put(node("n1"), node("n2"), pod("a", affinity=near), pod("far", cpu=99))
    bed.settle(2)
    assert bed.message("a") == "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."
    attempts = len([each for each in bed.events.seen if each[0] == "far"])
    bed.put(pod("db", on="n2", labels={"app": "db"}))
    bed.settle(2)
    assert bed.where("a") == "n2"
    assert len([each for each in bed.events.seen if each[0] == "far"]) == attempts


def test_many_pods_are_spread_and_none_is_lost(bed: Bed) -> None:
    """Each of many pods is bound once, and no node gets more than fits."""
    bed.put(*(node(f"n{n}", cpu=4) for n in range(10)))
    bed.put(*(pod(f"p{n}", cpu=1) for n in range(45)))
    bed.settle(5)
    names = [name for name, _ in bed.api.bound]
    assert len(names) == len(set(names)) == 40
    assert all(sum(where == f"n{n}" for _, where in bed.api.bound) == 4 for n in range(10))
    waiting = [bed.place(f"p{n}") for n in range(45) if f"p{n}" not in names]
    assert set(waiting) <= {ACTIVE, BACKOFF, UNSCHEDULABLE}
    assert len(waiting) == 5


def test_a_filter_without_its_pre_filter_fails_the_pod() -> None:
    """If a profile enables a filter without its pre-filter, the error says so, unless an earlier filter rejects all
    nodes."""
    disabled = {"preFilter": {"disabled": [{"name": "NodeResourcesFit"}]}}
    bed = Bed({"profiles": [{"schedulerName": "default-scheduler", "plugins": disabled}]})
    bed.put(node("n1"), pod("a"), pod("b", nodeSelector={"x": "y"}))
    bed.settle()
    assert bed.message("a") == (
        'running "NodeResourcesFit" filter plugin: error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    )
    assert bed.message("b") == "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
