"""The scheduling queue: the position of a pod after each event."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.scheduler.pods import Pod, Templates
from orchd.scheduler.queue.nominator import Nominator
from orchd.scheduler.queue.queue import (
    ACTIVE,
    BACKOFF,
    QUEUE_RULES,
    UNSCHEDULABLE,
    QueuedPod,
    QueueRule,
    SchedulingQueue,
)
from orchd.scheduler.values import Action, ClusterEvent
from tests.scheduler.scheduler_support import pod

_REGISTERED = {
    "Fit": (ClusterEvent("nodes", Action.ADD | Action.UPDATE_ALLOCATABLE), ClusterEvent("pods", Action.DELETE)),
    "Labels": (ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL),),
}
_NODE_ADDED = ClusterEvent("nodes", Action.ADD, "NodeAdd")
_NODE_LABELLED = ClusterEvent("nodes", Action.UPDATE_LABEL, "NodeLabelChange")


class QueueBench:
    """A queue on a clock, and pods by name."""

    def __init__(self, rule: QueueRule = QUEUE_RULES[0][1]) -> None:
        self.clock = Clock()
        self.templates = Templates()
        self.nominator = Nominator()
        self.queue = SchedulingQueue(
            self.clock,
            key=lambda pod, added: (-pod.priority, added),
            registered=_REGISTERED,
            updated=self.nominator.update,
            removed=self.nominator.clear,
            rule=rule,
        )

    def pod(self, name: str, **more: Any) -> Pod:
        return self.templates.pod(pod(name, **more))

    def add(self, name: str, **more: Any) -> Pod:
        made = self.pod(name, **more)
        self.queue.add(made)
        return made

    def take(self) -> QueuedPod:
        queued = self.queue.take_now()
        assert queued is not None
        return queued

    def fail(self, name: str, *plugins: str, **more: Any) -> QueuedPod:
        """A pod that was tried once and rejected."""
        self.add(name, **more)
        queued = self.take()
        assert queued.pod.name == name
        self.queue.retry(queued, frozenset(plugins))
        return queued


@pytest.fixture
def bench() -> QueueBench:
    return QueueBench()


def test_pods_are_sorted_by_priority_then_arrival(bench: QueueBench) -> None:
    """A higher priority comes first; of equal priorities, the earlier arrival."""
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        bench.add(name, priority=priority)
        bench.clock.advance(1)
    assert [bench.take().pod.name for _ in range(4)] == ["b", "d", "a", "c"]
    assert bench.queue.take_now() is None


def test_refused_pod_stays_unschedulable_without_events(bench: QueueBench) -> None:
    """Without an event, a rejected pod stays unschedulable until the flush."""
    queued = bench.fail("a", "Fit")
    bench.clock.advance(59)
    assert queued.place == UNSCHEDULABLE
    assert bench.queue.count(UNSCHEDULABLE) == 1


@pytest.mark.parametrize(
    ("plugins", "event", "place"),
    [
        (("Fit",), _NODE_ADDED, ACTIVE),
        (("Fit",), _NODE_LABELLED, UNSCHEDULABLE),
        (("Labels",), _NODE_LABELLED, ACTIVE),
        (("Fit", "Labels"), _NODE_LABELLED, ACTIVE),
        ((), _NODE_LABELLED, ACTIVE),
        (("Labels",), ClusterEvent("pods", Action.DELETE), UNSCHEDULABLE),
        (("Unknown",), _NODE_ADDED, UNSCHEDULABLE),
    ],
)
def test_events_move_pods_of_plugins_that_registered_for_them(
    bench: QueueBench, plugins: tuple[str, ...], event: ClusterEvent, place: str
) -> None:
    """A pod moves if a plugin that rejected it registered for the event, or if no plugin is known."""
    queued = bench.fail("a", *plugins)
    bench.clock.advance(2)
    bench.queue.move(event)
    assert queued.place == place


def test_event_during_backoff_moves_the_pod_to_backoff(bench: QueueBench) -> None:
    """The pod becomes active when its backoff ends: one second after the first attempt, doubled with each further
    one."""
    queued = bench.fail("a", "Fit")
    for pause in (1, 2, 4, 8, 10, 10):
        bench.queue.move(_NODE_ADDED)
        assert queued.place == BACKOFF
        bench.clock.advance(pause - 0.1)
        assert queued.place == BACKOFF
        bench.clock.advance(0.2)
        assert queued.place == ACTIVE
        bench.queue.retry(bench.take(), frozenset(("Fit",)))


def test_pods_leave_backoff_in_the_order_of_their_ends(bench: QueueBench) -> None:
    """A shorter backoff ends before a longer one that began earlier."""
    slow = bench.fail("a", "Fit")
    slow.attempts = 5
    bench.queue.move(_NODE_ADDED)
    fast = bench.fail("b", "Fit")
    bench.queue.move(_NODE_ADDED)
    bench.clock.advance(1.1)
    assert (slow.place, fast.place) == (BACKOFF, ACTIVE)


def test_event_during_an_attempt_leads_to_backoff(bench: QueueBench) -> None:
    """A pod whose failed attempt overlapped an event goes to backoff, not to the unschedulable pods."""
    bench.add("a")
    queued = bench.take()
    bench.queue.move(_NODE_ADDED)
    bench.queue.retry(queued, frozenset(("Fit",)))
    assert queued.place == BACKOFF


def test_event_check_is_called_once_per_template(bench: QueueBench) -> None:
    """Only pods whose template passes the check are moved; the check is called once per template."""
    small = [bench.fail(name, "Fit", cpu=1) for name in ("a", "b")]
    large = bench.fail("c", "Fit", cpu=9)
    bench.clock.advance(2)
    asked = []

    def check(template: Any, plugins: frozenset[str]) -> bool:
        asked.append(template)
        return bool(template.requests["cpu"] == 1000)

    bench.queue.move(_NODE_ADDED, check)
    assert [queued.place for queued in (*small, large)] == [ACTIVE, ACTIVE, UNSCHEDULABLE]
    assert len(asked) == 2


def test_pods_that_are_unschedulable_for_long_are_flushed(bench: QueueBench) -> None:
    """After 60 seconds a pod is retried even without events."""
    queued = bench.fail("a", "Fit")
    bench.clock.pump([30, 30, 30])
    assert queued.place == ACTIVE
    assert bench.queue.incoming[ACTIVE, "UnschedulableTimeout"] == 1


@pytest.mark.parametrize(("release", "seconds"), [(SPECIFICATION, 60), (NEWEST, 300)])
def test_a_flush_spares_pods_that_failed_lately(release: Release, seconds: int) -> None:
    """The first flush after the limit of the release retries the pod."""
    bench = QueueBench(release.choose(QUEUE_RULES))
    queued = bench.fail("a", "Fit")
    bench.clock.pump([30] * (seconds // 30))
    assert queued.place == UNSCHEDULABLE
    bench.clock.advance(30)
    assert queued.place == ACTIVE


@pytest.mark.parametrize(
    ("release", "plugins", "taken"), [(SPECIFICATION, ("Fit",), False), (NEWEST, ("Fit",), True), (NEWEST, (), False)]
)
def test_an_idle_queue_cuts_the_backoff_of_rejected_pods(
    release: Release, plugins: tuple[str, ...], taken: bool
) -> None:
    """From release 1.33 on; an error is waited for in every release."""
    bench = QueueBench(release.choose(QUEUE_RULES))
    queued = bench.fail("a", *plugins)
    bench.queue.move(_NODE_ADDED)
    bench.add("b")
    assert bench.take().pod.name == "b"
    assert queued.place == BACKOFF
    assert (bench.queue.take_now() is queued) == taken
    bench.clock.advance(2)
    assert (bench.queue.take_now() is queued) == (not taken)


def test_idle_queue_has_no_timers(bench: QueueBench) -> None:
    """An empty queue has no timers; one with unschedulable pods has a single one."""
    assert not bench.clock.getDelayedCalls()
    for number in range(100):
        bench.fail(f"p{number}", "Fit")
    assert len(bench.clock.getDelayedCalls()) == 1


def test_spec_update_retries_an_unschedulable_pod(bench: QueueBench) -> None:
    """A change of the spec retries the pod, a change of the status does not."""
    queued = bench.fail("a", "Fit", cpu=9)
    bench.clock.advance(2)
    bench.queue.update(queued.pod, bench.pod("a", cpu=9), changed=False)
    assert queued.place == UNSCHEDULABLE
    bench.queue.update(queued.pod, bench.pod("a", cpu=1), changed=True)
    assert queued.place == ACTIVE
    assert bench.take().pod.template.requests == {"cpu": 1000}


def test_update_during_an_attempt_is_used_in_the_next_one(bench: QueueBench) -> None:
    """A failed attempt whose pod was updated is retried with the new pod after its backoff."""
    bench.add("a", cpu=9)
    queued = bench.take()
    bench.queue.update(queued.pod, bench.pod("a", cpu=1), changed=True)
    bench.queue.retry(queued, frozenset(("Fit",)))
    assert queued.place == BACKOFF
    assert queued.pod.template.requests == {"cpu": 1000}


@pytest.mark.parametrize("place", [ACTIVE, BACKOFF, UNSCHEDULABLE, ""])
def test_removed_pod_is_dropped_from_any_place(bench: QueueBench, place: str) -> None:
    """A removed pod is neither taken nor retried, and no event moves it."""
    if place == ACTIVE:
        bench.add("a")
    else:
        queued = bench.fail("a", "Fit")
        if place == BACKOFF:
            bench.queue.move(_NODE_ADDED)
        elif place == "":
            bench.clock.advance(2)
            bench.queue.move(_NODE_ADDED)
            assert bench.take() is queued
    bench.queue.remove("uid-a")
    if place == "":
        bench.queue.retry(queued, frozenset(("Fit",)))
    bench.queue.move(_NODE_ADDED)
    bench.clock.advance(100)
    assert bench.queue.take_now() is None
    assert len(bench.queue) == 0
    assert [bench.queue.count(each) for each in (ACTIVE, BACKOFF, UNSCHEDULABLE)] == [0, 0, 0]


def test_activation_ends_the_backoff(bench: QueueBench) -> None:
    """An activated pod is tried at once."""
    queued = bench.fail("a", "Fit")
    bench.queue.move(_NODE_ADDED)
    bench.queue.activate(["uid-a", "uid-none"])
    assert bench.take() is queued


def test_a_changed_priority_changes_the_order(bench: QueueBench) -> None:
    """An active pod is sorted again when its priority changes."""
    first = bench.add("a")
    bench.clock.advance(1)
    second = bench.add("b")
    bench.queue.update(second, bench.pod("b", priority=9), changed=True)
    assert bench.take().pod.name == "b"
    assert bench.take().pod.uid == first.uid


def test_nomination_survives_an_older_update(bench: QueueBench) -> None:
    """An update without the nomination that was decided here keeps it; an update with another nomination replaces
    it."""
    queued = bench.fail("a", "Fit")
    bench.nominator.nominate(queued.pod, "n1")
    bench.queue.update(queued.pod, bench.pod("a"), changed=False)
    assert [each.name for each in bench.nominator.nominated("n1")] == ["a"]
    shown = pod("a")
    shown["status"]["nominatedNodeName"] = "n2"
    bench.queue.update(queued.pod, bench.templates.pod(shown), changed=False)
    assert not bench.nominator.nominated("n1")
    assert [each.name for each in bench.nominator.nominated("n2")] == ["a"]
    bench.queue.remove("uid-a")
    assert not bench.nominator.nodes()


def test_spared_pod_is_not_moved(bench: QueueBench) -> None:
    """The pod that caused an event is not moved by it."""
    spared, other = bench.fail("a", "Fit"), bench.fail("b", "Fit")
    bench.clock.advance(2)
    bench.queue.move(_NODE_ADDED, spare="uid-a")
    assert (spared.place, other.place) == (UNSCHEDULABLE, ACTIVE)


def test_nomination_that_the_api_removes_is_cleared(bench: QueueBench) -> None:
    """A nomination that the API showed ends when the API does not show it any more."""
    shown = pod("a")
    shown["status"]["nominatedNodeName"] = "n1"
    nominated = bench.templates.pod(shown)
    bench.queue.add(nominated)
    assert [each.name for each in bench.nominator.nominated("n1")] == ["a"]
    bench.queue.update(nominated, bench.pod("a"), changed=False)
    assert not bench.nominator.nodes()
