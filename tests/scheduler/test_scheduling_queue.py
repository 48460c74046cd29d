"""The scheduling queue: where a pod is after each thing that can happen."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.scheduler.pods import Pod, Templates
from orchd.scheduler.queue.nominator import Nominator
from orchd.scheduler.queue.queue import ACTIVE, BACKOFF, UNSCHEDULABLE, QueuedPod, SchedulingQueue
from orchd.scheduler.values import Action, ClusterEvent
from tests.scheduler.scheduler_support import pod

_REGISTERED = {
    "Fit": (ClusterEvent("nodes", Action.ADD | Action.UPDATE_ALLOCATABLE), ClusterEvent("pods", Action.DELETE)),
    "Labels": (ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL),),
}
_NODE_ADDED = ClusterEvent("nodes", Action.ADD, "NodeAdd")
_NODE_LABELLED = ClusterEvent("nodes", Action.UPDATE_LABEL, "NodeLabelChange")


class World:
    """A queue on a clock, with pods made by name."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.templates = Templates()
        self.nominator = Nominator()
        self.queue = SchedulingQueue(
            self.clock,
            key=lambda pod, added: (-pod.priority, added),
            registered=_REGISTERED,
            updated=self.nominator.update,
            removed=self.nominator.clear,
        )

    def pod(self, name: str, **more: Any) -> Pod:
        return self.templates.pod(pod(name, **more))

    def add(self, name: str, **more: Any) -> Pod:
        made = self.pod(name, **more)
        self.queue.add(made)
        return made

    def take(self) -> QueuedPod:
        found = self.queue.take_now()
        assert found is not None
        return found

    def fail(self, name: str, *plugins: str, **more: Any) -> QueuedPod:
        """A pod that was tried once and refused."""
        self.add(name, **more)
        queued = self.take()
        assert queued.pod.name == name
        self.queue.retry(queued, frozenset(plugins))
        return queued


@pytest.fixture
def world() -> World:
    return World()


def test_pods_are_sorted_by_priority_then_arrival(world: World) -> None:
    """A higher priority goes first; of equal ones the pod that came earlier."""
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        world.add(name, priority=priority)
        world.clock.advance(1)
    assert [world.take().pod.name for _ in range(4)] == ["b", "d", "a", "c"]
    assert world.queue.take_now() is None


def test_refused_pod_stays_unschedulable_without_events(world: World) -> None:
    """Without news it stays unschedulable, whatever time passes up to the flush."""
    queued = world.fail("a", "Fit")
    world.clock.advance(59)
    assert queued.place == UNSCHEDULABLE
    assert world.queue.count(UNSCHEDULABLE) == 1


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
    world: World, plugins: tuple[str, ...], event: ClusterEvent, place: str
) -> None:
    """A pod moves when one of the plugins that refused it registered for the news, or when no plugin is known."""
    queued = world.fail("a", *plugins)
    world.clock.advance(2)
    world.queue.move(event)
    assert queued.place == place


def test_event_during_backoff_moves_the_pod_to_backoff(world: World) -> None:
    """The pod becomes active when its pause ends: one second after the first attempt, then twice as long each time."""
    queued = world.fail("a", "Fit")
    for pause in (1, 2, 4, 8, 10, 10):
        world.queue.move(_NODE_ADDED)
        assert queued.place == BACKOFF
        world.clock.advance(pause - 0.1)
        assert queued.place == BACKOFF
        world.clock.advance(0.2)
        assert queued.place == ACTIVE
        world.queue.retry(world.take(), frozenset(("Fit",)))


def test_pods_leave_backoff_in_the_order_of_their_ends(world: World) -> None:
    """Pods leave backoff in the order in which their pauses end."""
    slow = world.fail("a", "Fit")
    slow.attempts = 5
    world.queue.move(_NODE_ADDED)
    fast = world.fail("b", "Fit")
    world.queue.move(_NODE_ADDED)
    world.clock.advance(1.1)
    assert (slow.place, fast.place) == (BACKOFF, ACTIVE)


def test_event_during_an_attempt_leads_to_backoff(world: World) -> None:
    """An attempt that news overlapped ends in backoff, not among the unschedulable."""
    world.add("a")
    queued = world.take()
    world.queue.move(_NODE_ADDED)
    world.queue.retry(queued, frozenset(("Fit",)))
    assert queued.place == BACKOFF


def test_event_check_is_called_once_per_template(world: World) -> None:
    """Only pods whose template the check accepts are moved, and it is asked once for pods that are alike."""
    small = [world.fail(name, "Fit", cpu=1) for name in ("a", "b")]
    large = world.fail("c", "Fit", cpu=9)
    world.clock.advance(2)
    asked = []

    def check(template: Any) -> bool:
        asked.append(template)
        return bool(template.requests["cpu"] == 1000)

    world.queue.move(_NODE_ADDED, check)
    assert [queued.place for queued in (*small, large)] == [ACTIVE, ACTIVE, UNSCHEDULABLE]
    assert len(asked) == 2


def test_pods_that_are_unschedulable_for_long_are_flushed(world: World) -> None:
    """After 60 seconds a pod is tried again even without news."""
    queued = world.fail("a", "Fit")
    world.clock.pump([30, 30, 30])
    assert queued.place == ACTIVE
    assert world.queue.incoming[ACTIVE, "UnschedulableTimeout"] == 1


def test_idle_queue_has_no_timers(world: World) -> None:
    """An idle queue has no timers, and one with unschedulable pods a single one."""
    assert not world.clock.getDelayedCalls()
    for number in range(100):
        world.fail(f"p{number}", "Fit")
    assert len(world.clock.getDelayedCalls()) == 1


def test_spec_update_retries_an_unschedulable_pod(world: World) -> None:
    """A change of its spec does, one of its status does not."""
    queued = world.fail("a", "Fit", cpu=9)
    world.clock.advance(2)
    world.queue.update(queued.pod, world.pod("a", cpu=9), changed=False)
    assert queued.place == UNSCHEDULABLE
    world.queue.update(queued.pod, world.pod("a", cpu=1), changed=True)
    assert queued.place == ACTIVE
    assert world.take().pod.template.requests == {"cpu": 1000}


def test_update_during_an_attempt_is_used_in_the_next_one(world: World) -> None:
    """The attempt fails with what the pod was; the next one comes after the pause."""
    world.add("a", cpu=9)
    queued = world.take()
    world.queue.update(queued.pod, world.pod("a", cpu=1), changed=True)
    world.queue.retry(queued, frozenset(("Fit",)))
    assert queued.place == BACKOFF
    assert queued.pod.template.requests == {"cpu": 1000}


@pytest.mark.parametrize("place", [ACTIVE, BACKOFF, UNSCHEDULABLE, ""])
def test_removed_pod_is_dropped_from_any_place(world: World, place: str) -> None:
    """It is not taken, not retried, and no news wake it."""
    if place == ACTIVE:
        world.add("a")
    else:
        queued = world.fail("a", "Fit")
        if place == BACKOFF:
            world.queue.move(_NODE_ADDED)
        elif place == "":
            world.clock.advance(2)
            world.queue.move(_NODE_ADDED)
            assert world.take() is queued
    world.queue.remove("uid-a")
    if place == "":
        world.queue.retry(queued, frozenset(("Fit",)))
    world.queue.move(_NODE_ADDED)
    world.clock.advance(100)
    assert world.queue.take_now() is None
    assert len(world.queue) == 0
    assert [world.queue.count(each) for each in (ACTIVE, BACKOFF, UNSCHEDULABLE)] == [0, 0, 0]


def test_activation_ends_the_backoff(world: World) -> None:
    """A pod that is activated is tried at once."""
    queued = world.fail("a", "Fit")
    world.queue.move(_NODE_ADDED)
    world.queue.activate(["uid-a", "uid-none"])
    assert world.take() is queued


def test_a_changed_priority_changes_the_order(world: World) -> None:
    """An updated active pod is sorted again."""
    first = world.add("a")
    world.clock.advance(1)
    second = world.add("b")
    world.queue.update(second, world.pod("b", priority=9), changed=True)
    assert world.take().pod.name == "b"
    assert world.take().pod.uid == first.uid


def test_nomination_survives_an_older_update(world: World) -> None:
    """The API may not show a nomination yet that was decided here; one that it shows replaces ours."""
    queued = world.fail("a", "Fit")
    world.nominator.nominate(queued.pod, "n1")
    world.queue.update(queued.pod, world.pod("a"), changed=False)
    assert [each.name for each in world.nominator.nominated("n1")] == ["a"]
    shown = pod("a")
    shown["status"]["nominatedNodeName"] = "n2"
    world.queue.update(queued.pod, world.templates.pod(shown), changed=False)
    assert not world.nominator.nominated("n1")
    assert [each.name for each in world.nominator.nominated("n2")] == ["a"]
    world.queue.remove("uid-a")
    assert not world.nominator.nodes()
