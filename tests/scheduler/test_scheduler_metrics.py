"""Metrics of the scheduler at /metrics."""

from __future__ import annotations

import pytest
from prometheus_client.core import Metric

from orchd.kinds.release import NEWEST
from tests.scheduler.scheduler_support import SchedulerHarness, node, pod

POINTS = ["Bind", "Filter", "Permit", "PostBind", "PreBind", "PreFilter", "PreScore", "Reserve", "Score"]


def family(harness: SchedulerHarness, name: str) -> Metric:
    families = (each.family() for each in harness.scheduler.instruments)
    return next(each for each in families if each.name == name)


def counts(harness: SchedulerHarness, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """Counts of observations by the values of `labels`."""
    out: dict[tuple[str, ...], float] = {}
    for sample in family(harness, name).samples:
        if sample.name == f"{name}_count":
            key = tuple(sample.labels[label] for label in labels)
            out[key] = out.get(key, 0) + sample.value
    return out


@pytest.fixture
def harness() -> SchedulerHarness:
    harness = SchedulerHarness()
    harness.put(node("n1"), node("n2"), pod("a", cpu=1), pod("b", cpu=1))
    harness.settle()
    return harness


def test_every_extension_point_is_timed(harness: SchedulerHarness) -> None:
    """Extension points without plugins are timed too, and PostFilter for a pod that fits nowhere."""
    name = "scheduler_framework_extension_point_duration_seconds"
    assert counts(harness, name, "extension_point", "profile", "status") == {
        (point, "default-scheduler", "Success"): 2.0 for point in POINTS
    }
    harness.put(pod("big", cpu=100))
    harness.settle()
    counted = counts(harness, name, "extension_point", "status")
    assert counted["Filter", "Unschedulable"] == counted["PostFilter", "Unschedulable"] == 1


def test_plugins_are_timed_in_one_of_ten_cycles(harness: SchedulerHarness) -> None:
    """The first and then every tenth cycle is timed; a filter for one node, up to the filter that rejects it."""
    name = "scheduler_plugin_execution_duration_seconds"
    first = counts(harness, name, "plugin", "extension_point", "status")
    assert first["DefaultBinder", "Bind", "Success"] == 1
    assert first["NodeResourcesFit", "Filter", "Success"] == 1
    assert first["InterPodAffinity", "PreFilter", "Success"] == 1
    assert first["VolumeBinding", "Reserve", "Success"] == first["VolumeBinding", "PreBind", "Success"] == 1
    assert first["ImageLocality", "Score", "Success"] == 1
    harness.put(*(pod(f"c{n}", cpu=100) for n in range(9)))
    harness.settle()
    counted = counts(harness, name, "plugin", "extension_point", "status")
    assert (
        counted["NodeResourcesFit", "Filter", "Unschedulable"]
        == counted["DefaultPreemption", "PostFilter", "Unschedulable"]
        == 1
    )
    assert counted["VolumeBinding", "Filter", "Success"] == 1, "filters after the one that refuses are not reached"
    assert counted["NodeName", "Filter", "Success"] == 2


def test_bounds_of_plugins_are_those_of_the_reference(harness: SchedulerHarness) -> None:
    """Bucket bounds have the reference's text, by which dashboards select them."""
    bounds = [
        each.labels["le"]
        for each in family(harness, "scheduler_plugin_execution_duration_seconds").samples
        if "le" in each.labels
    ]
    assert bounds[:4] == ["1e-05", "1.5000000000000002e-05", "2.2500000000000005e-05", "3.375000000000001e-05"]
    assert bounds[19] == "0.02216837820053101"


def test_attempts_by_profile_and_result(harness: SchedulerHarness) -> None:
    """Attempts and the end-to-end duration have the labels profile and result."""
    harness.put(pod("big", cpu=100))
    harness.settle()
    for name in ("scheduler_scheduling_attempt_duration_seconds", "scheduler_e2e_scheduling_duration_seconds"):
        assert counts(harness, name, "profile", "result") == {
            ("default-scheduler", "scheduled"): 2.0,
            ("default-scheduler", "unschedulable"): 1.0,
        }, name


def test_metrics_of_later_releases() -> None:
    """How often plugins took part in attempts, which of them rejected the pods that wait, and the handling of
    events."""
    harness = SchedulerHarness(release=NEWEST)
    harness.put(node("n1"), node("n2"), pod("a", cpu=1), pod("big", cpu=100))
    harness.settle()

    def numbers(name: str) -> dict[tuple[str, ...], float]:
        found = family(harness, name).samples
        return {tuple(each.labels.values()): each.value for each in found if not each.name.endswith("_created")}

    evaluations = numbers("scheduler_plugin_evaluation")
    assert evaluations["NodeResourcesFit", "Filter", "default-scheduler"] == 2
    assert evaluations["NodeResourcesFit", "Score", "default-scheduler"] == 1
    assert numbers("scheduler_unschedulable_pods") == {("NodeResourcesFit", "default-scheduler"): 1}
    assert numbers("scheduler_queue_incoming_pods")["UnschedulablePodAdd", "active"] == 2
    harness.put(pod("gated", schedulingGates=[{"name": "example.com/later"}]))
    harness.settle()
    waiting = {("active",): 0, ("backoff",): 0, ("unschedulable",): 1, ("gated",): 1}
    assert numbers("scheduler_pending_pods") == waiting
    harness.put(pod("gated", schedulingGates=[], nodeName="n1"))
    harness.settle()
    assert numbers("scheduler_pending_pods") == {**waiting, ("gated",): 0}
    handled = counts(harness, "scheduler_event_handling_duration_seconds", "event")
    harness.put(node("n3"))
    harness.settle()
    after = counts(harness, "scheduler_event_handling_duration_seconds", "event")
    assert after["NodeAdd",] == handled.get(("NodeAdd",), 0) + 1
