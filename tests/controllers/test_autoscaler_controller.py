"""The autoscaler's controller, look by look, with a client that has a Scale and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.controllers.autoscaling import replicas
from orchd.controllers.autoscaling.controller import AUTOSCALERS, HorizontalPodAutoscalerController
from orchd.controllers.autoscaling.metrics import MetricsError, PodMetric
from orchd.controllers.autoscaling.normalization import Bounds, History, normalize
from orchd.controllers.autoscaling.replicas import Tuning
from orchd.controllers.interfaces import Environment
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.kinds.times import timestamp
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.server import NOW, run
from tests.controllers.lagging_support import RecordedEvents
from tests.controllers.recording_support import FORBIDDEN, MISSING
from tests.controllers.test_autoscaling import pod

CATALOG = builtin_catalog(ORCH)
KEY = ("a", "h")


def metric(name: str = "q") -> dict[str, Any]:
    """One replica for each unit of an external metric."""
    return {
        "type": "External",
        "external": {"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": "1"}},
    }


def autoscaler(least: int = 1, most: int = 10, status: Any = None, metrics: Any = None, **spec: Any) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    whole = {"scaleTargetRef": reference, "minReplicas": least, "maxReplicas": most, **spec}
    return {
        "metadata": {"namespace": "a", "name": "h"},
        "spec": {**whole, "metrics": [metric()] if metrics is None else metrics},
        "status": status or {},
    }


class Target:
    """A client of one deployment's Scale and of external metrics by name; an ApiError is raised. `sizes` are those
    that the Scale was set to, `statuses` those that were written."""

    def __init__(self, size: int, selector: str = "x=y", **values: Any) -> None:
        self.scale: Any = {
            "metadata": {},
            "spec": {"replicas": size},
            "status": {"replicas": size, "selector": selector},
        }
        self.values = values
        self.sizes: list[int] = []
        self.statuses: list[Any] = []
        self.failures: dict[str, ApiError] = {}

    async def get(self, ref: ResourceRef, namespace: str, name: str, *, subresource: str) -> Any:
        assert (ref.plural, namespace, name, subresource) == ("deployments", "a", "d", "scale")
        return self.scale

    async def list(self, ref: ResourceRef, namespace: str, **_: Any) -> Any:
        value = self.values[ref.plural]
        if isinstance(value, ApiError):
            raise value
        return {"items": [{"value": value}]}

    async def update(
        self, ref: ResourceRef, namespace: str, name: str, obj: Any, *, subresource: str, need_response: bool
    ) -> Any:
        if subresource in self.failures:
            raise self.failures[subresource]
        if subresource == "scale":
            assert (ref.plural, name) == ("deployments", "d")
            self.sizes.append(obj["spec"]["replicas"])
            self.scale = {**obj, "status": {**obj["status"], "replicas": obj["spec"]["replicas"]}}
        else:
            assert (ref, name) == (AUTOSCALERS, "h")
            self.statuses.append(obj["status"])


class Bench:
    def __init__(
        self, obj: Any, target: Target, release: Release = SPECIFICATION, features: Mapping[str, bool] | None = None
    ) -> None:
        self.informers, self.clock, self.events = MemoryInformers(), Clock(), RecordedEvents()
        self.target = target
        client: Any = target
        self.controller = HorizontalPodAutoscalerController(
            Environment(
                dialect=ORCH,
                client=lambda account: client,
                reader=client,
                recorder=lambda component: self.events,
                informers=self.informers,
                clock=self.clock,
                wall=lambda: NOW + self.clock.seconds(),
                random=Random(1),
                catalog=lambda: CATALOG,
                authority="",
                issue_token=lambda account, name: "",
                signing_authority=lambda signer: None,
                settings=ControllerSettings(),
                several_servers=False,
                release=release,
                features=features or {},
            )
        )
        self.informers.put(AUTOSCALERS, obj)

    def look(self, after: float = 0) -> dict[str, tuple[str, str]]:
        """Reconcile after some seconds; status and reason by the type of each condition."""
        self.clock.advance(after)
        assert run(self.controller.reconcile(KEY)) == 15.0
        obj = self.informers.informer(AUTOSCALERS).get(*KEY)
        assert obj is not None
        if self.target.statuses:
            self.informers.put(AUTOSCALERS, {**obj, "status": self.target.statuses[-1]})
        conditions = self.target.statuses[-1]["conditions"]
        return {each["type"]: (each["status"], each["reason"]) for each in conditions}


@pytest.mark.parametrize(
    ("size", "value", "most", "sizes", "limited"),
    [
        (2, "4", 10, [4], ("False", "DesiredWithinRange")),
        (2, "20", 10, [4], ("True", "ScaleUpLimit")),
        (3, "20", 10, [6], ("True", "ScaleUpLimit")),
        (1, "20", 10, [4], ("True", "ScaleUpLimit")),
        (3, "20", 5, [5], ("True", "TooManyReplicas")),
        (3, "20", 6, [6], ("True", "TooManyReplicas")),
        (3, "3", 10, [], ("False", "DesiredWithinRange")),
    ],
)
def test_size_follows_the_metric(size: int, value: str, most: int, sizes: list[int], limited: tuple[str, str]) -> None:
    """At most to twice the size or four at once, and to the largest one."""
    bench = Bench(autoscaler(most=most), Target(size, q=value))
    conditions = bench.look()
    assert bench.target.sizes == sizes and conditions["ScalingLimited"] == limited
    assert conditions["ScalingActive"] == ("True", "ValidMetricFound")
    assert conditions["AbleToScale"] == ("True", "SucceededRescale" if sizes else "ReadyForNewScale")
    (status,) = bench.target.statuses
    assert (status["currentReplicas"], status["desiredReplicas"]) == (size, sizes[0] if sizes else size)
    assert status.get("lastScaleTime") == (timestamp(NOW) if sizes else None)
    note = f"New size: {sizes[0] if sizes else size}; reason: external metric q(nil) above target"
    assert bench.events.notes == ([("SuccessfulRescale", note)] if sizes else [])


def test_size_shrinks_after_the_window() -> None:
    """The first size counts as a recommendation for five minutes; the time of the last change stays."""
    bench = Bench(autoscaler(status={"lastScaleTime": "before"}), Target(4, q="2"))
    assert bench.look()["AbleToScale"] == ("True", "ScaleDownStabilized")
    assert bench.look(299)["AbleToScale"] == ("True", "ScaleDownStabilized") and not bench.target.sizes
    assert bench.target.statuses[-1]["lastScaleTime"] == "before"
    assert bench.look(1)["AbleToScale"] == ("True", "SucceededRescale")
    assert bench.target.sizes == [2] and bench.target.statuses[-1]["lastScaleTime"] == timestamp(NOW + 300)
    assert bench.events.notes == [("SuccessfulRescale", "New size: 2; reason: All metrics below target")]


def test_unchanged_status_is_not_written() -> None:
    bench = Bench(autoscaler(), Target(2, q="2"))
    bench.look()
    bench.look(15)
    assert len(bench.target.statuses) == 1


def test_autoscaler_that_was_replaced_begins_anew() -> None:
    """Its recommendations are forgotten when it is deleted, also if that is seen by the controller's look only."""
    bench = Bench(autoscaler(), Target(4, q="2"))
    bench.look()
    informer = bench.informers.informer(AUTOSCALERS)
    informer.remove(*KEY)
    assert run(bench.controller.reconcile(KEY)) is None
    bench.target.scale["spec"]["replicas"] = 3
    bench.informers.put(AUTOSCALERS, autoscaler())
    bench.look()
    assert not bench.target.sizes
    bench.controller._changed("DELETED", autoscaler(), None)
    bench.target.scale["spec"]["replicas"] = 2
    assert bench.look()["AbleToScale"] == ("True", "ReadyForNewScale")


def test_new_and_changed_autoscalers_are_looked_at_at_once() -> None:
    """Changes of the status are not."""
    bench = Bench(autoscaler(), Target(2, q="2"))
    queued: list[Any] = []
    queue: Any = bench.controller.queue
    queue.add = queued.append
    old = autoscaler()
    for event, before, after in (
        ("ADDED", None, old),
        ("MODIFIED", old, autoscaler(status={"desiredReplicas": 1})),
        ("MODIFIED", old, autoscaler(most=11)),
        ("DELETED", old, None),
    ):
        bench.controller._changed(event, before, after)
    assert queued == [KEY, KEY]


def test_failed_change_is_reported() -> None:
    """The sizes of the status are those of before."""
    bench = Bench(autoscaler(status={"desiredReplicas": 7}), Target(2, q="4"))
    bench.target.failures["scale"] = FORBIDDEN
    assert bench.look()["AbleToScale"] == ("False", "FailedUpdateScale")
    assert bench.target.statuses[-1]["desiredReplicas"] == 7 and "lastScaleTime" not in bench.target.statuses[-1]
    ((reason, note),) = bench.events.notes
    assert (reason, note) == (
        "FailedRescale",
        "New size: 4; reason: external metric q(nil) above target; error: refused",
    )


@pytest.mark.parametrize(("good", "sizes"), [("4", [4]), ("2", []), ("1", [])])
def test_unavailable_metric_might_ask_for_more(good: str, sizes: list[int]) -> None:
    """With one metric unavailable the size grows by the others, but does not shrink."""
    bench = Bench(autoscaler(metrics=[metric("bad"), metric("good")]), Target(2, bad=FORBIDDEN, good=good))
    conditions = bench.look()
    assert bench.target.sizes == sizes
    reasons = [reason for reason, _ in bench.events.notes]
    if sizes or good == "2":
        assert conditions["ScalingActive"] == ("True", "ValidMetricFound")
        assert "FailedComputeMetricsReplicas" not in reasons
    else:
        assert conditions["ScalingActive"] == ("False", "FailedGetExternalMetric")
        assert reasons == ["FailedGetExternalMetric", "FailedComputeMetricsReplicas"]
        assert bench.events.notes[1][1].startswith("invalid metrics (1 invalid out of 2), first error is: ")


@pytest.mark.parametrize("order", ["low high", "high low"])
def test_largest_proposal_counts(order: str) -> None:
    bench = Bench(autoscaler(metrics=[metric(name) for name in order.split()]), Target(3, low="3", high="5"))
    bench.look()
    assert bench.target.sizes == [5]
    assert bench.events.notes[0][1] == "New size: 5; reason: external metric high(nil) above target"


@pytest.mark.parametrize(("release", "shown"), [(SPECIFICATION, [{"type": "Old"}]), (NEWEST, [{"type": ""}])])
def test_status_of_unavailable_metrics(release: Release, shown: Any) -> None:
    """The metrics of before; since 1.29 they are shown as unavailable."""
    before = {"currentMetrics": [{"type": "Old"}], "desiredReplicas": 3}
    bench = Bench(autoscaler(status=before), Target(2, q=FORBIDDEN), release)
    bench.look()
    status = bench.target.statuses[-1]
    assert (status["desiredReplicas"], status["currentReplicas"]) == (3, 2)
    assert status.get("currentMetrics") == shown


@pytest.mark.parametrize(
    ("selector", "event", "note"),
    [
        ("", "SelectorRequired", "selector is required"),
        ("a in (", "InvalidSelector", "couldn't convert selector into a corresponding internal selector object: "),
    ],
)
def test_scale_without_a_usable_selector(selector: str, event: str, note: str) -> None:
    bench = Bench(autoscaler(), Target(2, selector=selector, q="4"))
    assert bench.look()["ScalingActive"] == ("False", "InvalidSelector")
    assert [reason for reason, _ in bench.events.notes] == [event, "FailedComputeMetricsReplicas"]
    assert all(each.startswith(note) for _, each in bench.events.notes) and not bench.target.sizes


@pytest.mark.parametrize(
    ("value", "own", "gate", "sizes"),
    [
        ("10900m", {}, True, []),
        ("11100m", {}, True, [12]),
        ("10300m", {"scaleUp": {"tolerance": "0.02"}}, True, [11]),
        ("10300m", {"scaleUp": {"tolerance": "0.02"}}, False, []),
        ("10300m", {"scaleDown": {"tolerance": "0.02"}}, True, []),
    ],
)
def test_tolerance_of_a_direction(value: str, own: Any, gate: bool, sizes: list[int]) -> None:
    """That of the autoscaler, behind a gate, or that of the flag."""
    policies = {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
    behavior = {direction: {**policies, **own.get(direction, {})} for direction in ("scaleUp", "scaleDown")}
    obj = autoscaler(most=20, behavior=behavior)
    bench = Bench(obj, Target(10, q=value), NEWEST, {"HPAConfigurableTolerance": gate})
    bench.look()
    assert bench.target.sizes == sizes


def test_status_of_a_deleted_autoscaler_is_not_written() -> None:
    bench = Bench(autoscaler(), Target(2, q="2"))
    bench.target.failures["status"] = MISSING
    assert run(bench.controller.reconcile(KEY)) == 15.0
    bench.target.failures["status"] = FORBIDDEN
    with pytest.raises(ApiError):
        run(bench.controller.reconcile(KEY))


# -- arithmetic


@pytest.mark.parametrize(
    ("ratio", "current", "ready", "size"),
    [(1.5, 0, 0, 2), (0.9, 4, 4, 4), (1.09, 4, 4, 4), (0.89, 4, 4, 4), (0.5, 4, 4, 2), (1.5, 4, 4, 6), (1.5, 4, 2, 3)],
)
def test_size_by_ratio(ratio: float, current: int, ready: int, size: int) -> None:
    """Of the running, ready pods; a target without pods gets the ratio itself; small deviations change nothing."""
    pods = [pod(f"r{number}") for number in range(ready)]
    others = [pod("pending", phase="Pending"), pod("unready", ready="False")]
    assert replicas.by_ratio(ratio, current, [*pods, *others], Tuning(now=NOW)) == size


@pytest.mark.parametrize(
    ("ratio", "by_difference", "by_sum"),
    [(0.89, False, False), (0.9, True, True), (1.0, True, True), (1.1, False, True), (1.11, False, False)],
)
def test_tolerated_ratios(ratio: float, by_difference: bool, by_sum: bool) -> None:
    """The bounds as the reference rounds them, until 1.32 and since."""
    assert Tuning(now=NOW).tolerates(ratio) == by_difference and Tuning(now=NOW, sums=True).tolerates(ratio) == by_sum


def test_usage_at_the_end_of_the_tolerance_is_tolerated_since_1_33() -> None:
    for release, sizes in ((SPECIFICATION, [11]), (NEWEST, [])):
        bench = Bench(autoscaler(most=20), Target(10, q="11"), release)
        bench.look()
        assert bench.target.sizes == sizes


def test_ratio_needs_pods() -> None:
    with pytest.raises(MetricsError, match="no pods returned by selector"):
        replicas.by_ratio(2.0, 1, [], Tuning(now=NOW))


@pytest.mark.parametrize(
    ("value", "target", "running", "expected"),
    [
        (5, 2, 0, (3, 0)),
        (8, 2, 4, (4, 2)),
        (9, 2, 4, (5, 3)),
        (7, 2, 4, (4, 2)),
        (6, 2, 4, (3, 2)),
        (43, 10, 4, (4, 11)),
    ],
)
def test_value_per_pod(value: int, target: int, running: int, expected: tuple[int, int]) -> None:
    assert replicas.per_pod(value, target, running, Tuning(now=NOW)) == expected


@pytest.mark.parametrize(("value", "text"), [(2000, "2"), (1500, "1500m"), (0, "0")])
def test_thousandths_as_quantities(value: int, text: str) -> None:
    assert replicas.format_milli(value) == text


def test_pods_and_metrics_are_needed() -> None:
    measure = lambda metrics: replicas.average(metrics, 50)  # noqa: E731  # as long as its name
    for pods, text in (([], "no pods returned by selector"), ([pod("p", phase="Pending")], "did not receive metrics")):
        with pytest.raises(MetricsError, match=text):
            replicas.by_pods(pods, {"p": PodMetric(1)}, 1, "cpu", Tuning(now=NOW), measure, lambda name: 50)
    with pytest.raises(MetricsError, match="matched known pods"):
        replicas.utilization({"p": PodMetric(1)}, {"other": 1}, 50)


@pytest.mark.parametrize(
    ("behavior", "current", "desired", "size", "reason"),
    [
        (None, 3, 1, 2, "TooFewReplicas"),
        ({}, 3, 1, 3, "ScaleDownLimit"),
        ({"scaleDown": {"policies": [{"type": "Pods", "value": 9}]}}, 3, 1, 2, "TooFewReplicas"),
        ({"scaleDown": {"policies": [{"type": "Pods", "value": 1}]}}, 9, 1, 8, "ScaleDownLimit"),
        (
            {"scaleDown": {"selectPolicy": "Disabled", "policies": [{"type": "Pods", "value": 1}]}},
            9,
            1,
            9,
            "ScaleDownLimit",
        ),
        (
            {"scaleUp": {"selectPolicy": "Disabled", "policies": [{"type": "Pods", "value": 1}]}},
            3,
            9,
            3,
            "ScaleUpLimit",
        ),
        ({"scaleUp": {"policies": [{"type": "Percent", "value": 50}]}}, 3, 9, 5, "ScaleUpLimit"),
        ({"scaleUp": {"policies": [{"type": "Pods", "value": 50}]}}, 3, 99, 10, "TooManyReplicas"),
        ({"scaleUp": {"policies": [{"type": "Pods", "value": 50}]}}, 3, 10, 10, "DesiredWithinRange"),
    ],
)
def test_reasons_of_limits(behavior: Any, current: int, desired: int, size: int, reason: str) -> None:
    """Sizes stay between 2 and 10."""
    arguments = {"bounds": Bounds(2, 10), "now": 100.0, "window": 0.0}
    result = normalize(History(), behavior, current=current, desired=desired, **arguments)  # type: ignore[arg-type]
    assert (result.size, result.limit[0], result.limited) == (size, reason, size != desired)


def _numbers(bench: Bench) -> dict[tuple[str, ...], float]:
    """The samples of counters and gauges by name, without the common prefix, and label values."""
    families = [each.family() for each in bench.controller.instruments]
    found = (sample for family in families for sample in family.samples if family.type in ("counter", "gauge"))
    prefix = "horizontal_pod_autoscaler_controller_"
    return {(sample.name.removeprefix(prefix), *sample.labels.values()): sample.value for sample in found}


def test_metrics_of_later_releases() -> None:
    """Reconciliations and computations by what they do, and the objects themselves."""
    bench = Bench(autoscaler(metrics=[metric("bad"), metric("good")]), Target(2, bad=FORBIDDEN, good="4"), NEWEST)
    bench.look()
    assert _numbers(bench) == {
        ("reconciliations_total", "scale_up", "none"): 1,
        ("metric_computation_total", "none", "internal", "External"): 1,
        ("metric_computation_total", "scale_up", "none", "External"): 1,
        ("num_horizontal_pod_autoscalers",): 1,
        ("desired_replicas", "a", "h"): 4,
    }
    failing = Bench(autoscaler(), Target(2, q=FORBIDDEN), NEWEST)
    failing.look()
    assert _numbers(failing)["reconciliations_total", "none", "internal"] == 1
    assert Bench(autoscaler(), Target(2, q="4")).controller.instruments == ()
