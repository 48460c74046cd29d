"""Plain plugins in a cycle: rejections, errors, and scores out of range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from zope.interface import implementer

from orchd.kinds.release import SPECIFICATION
from orchd.scheduler.explain import dry_run
from orchd.scheduler.interfaces import IFilter, IPluginFactory, IPreFilter, IPreScore, IScore
from orchd.scheduler.plugins.registry import plugin_factories
from orchd.scheduler.queue.queue import UNSCHEDULABLE
from orchd.scheduler.values import ANY_EVENT, Status, failed, unresolvable, unschedulable
from orchd.testing.doubles.results import result_of
from tests.scheduler.scheduler_support import NAMESPACES, PODS, SchedulerHarness, node, pod

ENABLED: Mapping[str, Any] = {
    "profiles": [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": [{"name": "Odd"}]}}}]
}


@implementer(IFilter, IPreFilter, IPreScore, IScore)
class Odd:
    """A plugin whose outcomes are attributes: a status for all nodes, or for a node by its name; scores by node."""

    name = "Odd"
    events = ANY_EVENT

    def __init__(self, outcomes: Mapping[str, Any]) -> None:
        self.outcomes = outcomes
        self.scored: list[str] = []

    def pre_filter(self, state: Any, pod: Any) -> Status | None:
        return self.outcomes.get("pre_filter")

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        statuses: Mapping[str, Status] = self.outcomes.get("filter", {})
        return statuses.get(node.name)

    def pre_score(self, state: Any, pod: Any, nodes: Sequence[Any]) -> Status | None:
        return self.outcomes.get("pre_score")

    def score(self, state: Any, pod: Any, node: Any) -> int:
        self.scored.append(node.name)
        score: int = self.outcomes.get("score", {}).get(node.name, 0)
        return score

    def normalize(self, state: Any, pod: Any, scores: Sequence[int]) -> Sequence[int]:
        return scores


@implementer(IPluginFactory)
class Factory:
    name, help, points = "Odd", "Of tests.", ("preFilter", "filter", "preScore", "score")

    def __init__(self, plugin: Odd) -> None:
        self._plugin = plugin

    def make(self, handle: object, args: object) -> Odd:
        return self._plugin


@pytest.fixture
def begin() -> Callable[..., tuple[SchedulerHarness, Odd]]:
    """Starts a scheduler with the plugin and its outcomes, three nodes of four cores, and a pod."""

    def begin(**outcomes: Any) -> tuple[SchedulerHarness, Odd]:
        plugin = Odd(outcomes)
        harness = SchedulerHarness(ENABLED, factories={**plugin_factories(SPECIFICATION), "Odd": Factory(plugin)})
        harness.put(node("n1"), node("n2"), node("n3"), pod("a", cpu=1))
        harness.settle()
        return harness, plugin

    return begin


Begin = Callable[..., tuple[SchedulerHarness, Odd]]


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ({"pre_filter": unschedulable("odd pod")}, "0/3 nodes are available: 3 odd pod."),
        ({"pre_filter": failed("lost")}, 'running PreFilter plugin "Odd": lost'),
        ({"filter": {"n2": failed("lost")}}, 'running "Odd" filter plugin: lost'),
        ({"pre_score": failed("lost")}, 'running PreScore plugin "Odd": lost'),
        ({"pre_score": unschedulable("odd")}, 'running PreScore plugin "Odd": odd'),
        (
            {"score": {"n1": -1}},
            'plugin "Odd" returns an invalid score -1, it should in the range of [0, 100] after normalizing',
        ),
        (
            {"score": {"n3": 101}},
            'plugin "Odd" returns an invalid score 101, it should in the range of [0, 100] after normalizing',
        ),
        (
            {"filter": {name: unschedulable("node(s) were odd") for name in ("n1", "n2", "n3")}},
            "0/3 nodes are available: 3 node(s) were odd.",
        ),
    ],
)
def test_pods_that_a_plugin_keeps_from_all_nodes(begin: Begin, outcomes: Any, message: str) -> None:
    """The message of the condition is the plugin's, or names the plugin that failed; the pod stays in the queue."""
    harness, _ = begin(**outcomes)
    assert harness.message("a") == message
    assert not harness.api.bound and harness.place("a") == UNSCHEDULABLE


@pytest.mark.parametrize(
    ("rejected", "place", "asked"),
    [
        ({}, "n3", ["n1", "n2", "n3"]),
        ({"n3": unschedulable("odd")}, "n2", ["n1", "n2"]),
        ({"n3": unresolvable("odd"), "n2": unschedulable("odd")}, "n1", []),
    ],
)
def test_the_highest_score_of_the_nodes_that_pass(begin: Begin, rejected: Any, place: str, asked: list[str]) -> None:
    """Nodes that a filter rejects are not scored, nor is a node that is alone."""
    harness, plugin = begin(filter=rejected, score={"n1": 0, "n2": 50, "n3": 100})
    assert harness.where("a") == place
    assert sorted(plugin.scored) == asked


def test_a_pod_that_nothing_prevents_is_not_preempting(begin: Begin) -> None:
    """An error of a plugin is no reason to delete other pods."""
    harness, _ = begin(filter={name: failed("lost") for name in ("n1", "n2", "n3")})
    harness.put(pod("low", cpu=4, on="n1"), pod("high", cpu=4, priority=10))
    harness.settle(5)
    assert not harness.api.deleted


def test_no_remedy_is_known_for_other_plugins(begin: Begin) -> None:
    """The explanation of a rejection by a drop-in has its reasons alone."""
    harness, _ = begin(filter={"n1": unschedulable("odd")})
    explanation = result_of(dry_run(harness.scheduler, pod("b")))
    assert explanation["filtered"] == {"n1": {"plugin": "Odd", "reasons": ["odd"]}}


def test_nominated_pods_of_many_nodes_keep_their_room() -> None:
    """Room is kept for nominated pods also when there are more of them than are looked at a second time."""
    harness = SchedulerHarness()
    names = [f"n{number:03}" for number in range(70)]
    harness.put(*(node(name, cpu=2) for name in names))
    harness.put(*(pod(f"old-{name}", cpu=2, on=name) for name in names))
    harness.put(*(pod(f"new-{name}", cpu=2, priority=10) for name in names))
    harness.settle(5)
    assert len(harness.api.deleted) == len(names)
    for name in names:
        harness.informers.informer(PODS).remove("ns", f"old-{name}")
    harness.put(pod("low", cpu=1))
    harness.settle()
    assert harness.message("low") == "0/70 nodes are available: 70 Insufficient cpu."
    harness.settle(20)
    assert sorted(harness.where(f"new-{name}") for name in names) == names


def test_affinity_follows_the_labels_of_namespaces() -> None:
    """What was counted is counted anew when a namespace is new or has other labels."""
    harness = SchedulerHarness()
    (plugin,) = (
        each for each in harness.scheduler.lanes["default-scheduler"].profile.filters if each.name == "InterPodAffinity"
    )
    epochs = [plugin.epoch]
    for labels in ({"a": "b"}, {"a": "b"}, {"a": "c"}):
        harness.informers.put(NAMESPACES, {"metadata": {"name": "x", "labels": labels}})
        epochs.append(plugin.epoch)
    harness.informers.informer(NAMESPACES).remove("", "x")
    assert [*epochs, plugin.epoch] == [0, 1, 1, 2, 2]
