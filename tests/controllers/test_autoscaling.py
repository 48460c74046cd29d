"""Horizontal pod autoscalers: replicas and normalization by table, metrics of every type, and the controller on a
server."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.autoscaling import replicas
from orchd.controllers.autoscaling.controller import AUTOSCALERS
from orchd.controllers.autoscaling.evaluation import EvaluationError, Evaluator, Proposal, Target
from orchd.controllers.autoscaling.metrics import MetricsClient, MetricsError, PodMetric, _window
from orchd.controllers.autoscaling.normalization import Bounds, History, normalize
from orchd.controllers.autoscaling.replicas import Tuning
from orchd.controllers.objects import DEPLOYMENTS
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.selectors import LabelSelector
from orchd.testing.doubles.server import run
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("horizontalpodautoscaling", "deployment", "replicaset")

EVENTS = ResourceRef("", "v1", "events")
NOW = 1_600_000_000.0
TUNING = Tuning(now=NOW)


def pod(
    name: str, *, phase: str = "Running", ready: str = "True", request: str = "100m", **metadata: Any
) -> dict[str, Any]:
    long_ago = "2020-01-01T00:00:00Z"
    status = {
        "phase": phase,
        "startTime": long_ago,
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": long_ago}],
    }
    container = {"name": "c", "resources": {"requests": {"cpu": request}}}
    return {
        "metadata": {"name": name, "namespace": "a", **metadata},
        "spec": {"containers": [container]},
        "status": status,
    }


PODS = [pod("p0"), pod("p1"), pod("p2"), pod("p3")]


def values(**found: int) -> dict[str, PodMetric]:
    return {name: PodMetric(value, NOW) for name, value in found.items()}


@pytest.mark.parametrize(
    ("pods", "metrics", "expected"),
    [
        # The target is 50 millicores per pod.
        (PODS, values(p0=50, p1=50, p2=50, p3=50), 4),
        (PODS, values(p0=54, p1=54, p2=54, p3=54), 4),
        (PODS, values(p0=100, p1=100, p2=100, p3=100), 8),
        (PODS, values(p0=25, p1=25, p2=25, p3=25), 2),
        # The value of one pod is missing: it counts as idle if the size would grow, as at its target if it would
        # shrink.
        (PODS, values(p0=100, p1=100, p2=100), 6),
        (PODS, values(p0=25, p1=25, p2=25), 3),
        # The resulting change is too small to take effect.
        (PODS, values(p0=55, p1=60), 4),
        # A starting pod counts as idle if the size would grow, and not at all if it would shrink.
        ([*PODS[:3], pod("p3", phase="Pending")], values(p0=100, p1=100, p2=100), 6),
        ([*PODS[:3], pod("p3", phase="Pending")], values(p0=25, p1=25, p2=25), 2),
        # Terminating pods do not count.
        ([*PODS[:3], pod("p3", phase="Failed")], values(p0=100, p1=100, p2=100, p3=100), 6),
        ([*PODS[:3], pod("p3", deletionTimestamp="2020-01-01T00:00:00Z")], values(p0=100, p1=100, p2=100, p3=100), 6),
    ],
)
def test_proposed_size_by_metric_values(pods: list[Any], metrics: dict[str, PodMetric], expected: int) -> None:
    """The size brings the mean to its target; missing values never enlarge a change."""
    size, _ = replicas.by_pods(pods, metrics, 4, "cpu", TUNING, lambda m: replicas.average(m, 50), lambda p: 50)
    assert size == expected


@pytest.mark.parametrize(
    ("started", "since", "ready", "measured", "unready"),
    [
        (400, 400, "True", 0, False),
        (100, 90, "False", 0, True),
        (100, 90, "True", 0, False),
        # Measured over a window that began before the pod was ready.
        (100, 30, "True", 0, True),
        (100, 90, "True", 40, True),
        # Has never been ready since it started, long ago.
        (400, 390, "False", 0, True),
        (400, 100, "False", 0, False),
    ],
)
def test_cpu_of_starting_pods_is_ignored(started: int, since: int, ready: str, measured: int, unready: bool) -> None:
    """CPU usage during a pod's start is ignored. All times are seconds ago."""

    def at(ago: int) -> str:
        return datetime.fromtimestamp(NOW - ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    one = pod("p")
    one["status"] |= {
        "startTime": at(started),
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": at(since)}],
    }
    groups = replicas.group_pods([one], {"p": PodMetric(1, NOW - measured)}, "cpu", TUNING)
    assert groups.unready == ({"p"} if unready else set())
    assert replicas.group_pods([one], {"p": PodMetric(1, NOW - measured)}, "memory", TUNING).ready == 1


def behavior(**changes: dict[str, Any]) -> dict[str, Any]:
    up = {
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
        **changes.get("up", {}),
    }
    down = {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        **changes.get("down", {}),
    }
    return {"scaleUp": up, "scaleDown": down}


@pytest.mark.parametrize(
    ("rules", "current", "wanted", "expected"),
    [
        (None, 5, 7, (7, "ReadyForNewScale", False, "DesiredWithinRange")),
        (None, 5, 50, (10, "ReadyForNewScale", True, "ScaleUpLimit")),
        (None, 1, 50, (4, "ReadyForNewScale", True, "ScaleUpLimit")),
        (None, 15, 50, (20, "ReadyForNewScale", True, "TooManyReplicas")),
        (None, 5, 1, (2, "ReadyForNewScale", True, "TooFewReplicas")),
        (behavior(), 5, 7, (7, "ReadyForNewScale", False, "DesiredWithinRange")),
        (behavior(), 5, 50, (9, "ReadyForNewScale", True, "ScaleUpLimit")),
        (behavior(), 18, 50, (20, "ReadyForNewScale", True, "TooManyReplicas")),
        (behavior(up={"selectPolicy": "Disabled"}), 5, 7, (5, "ReadyForNewScale", True, "ScaleUpLimit")),
        (behavior(down={"selectPolicy": "Disabled"}), 5, 3, (5, "ReadyForNewScale", True, "ScaleDownLimit")),
        (behavior(down={"policies": [{"type": "Percent", "value": 10, "periodSeconds": 15}]}), 15, 3, (13, "ReadyForNewScale", True, "ScaleDownLimit")),
        (behavior(down={"policies": [{"type": "Pods", "value": 1, "periodSeconds": 15}]}), 15, 3, (14, "ReadyForNewScale", True, "ScaleDownLimit")),
        (behavior(), 5, 1, (2, "ReadyForNewScale", True, "TooFewReplicas")),
        (behavior(up={"policies": [{"type": "Percent", "value": 1, "periodSeconds": 15}]}), 5, 9, (6, "ReadyForNewScale", True, "ScaleUpLimit")),
    ],
)  # fmt: skip
def test_size_stays_within_limits_and_policies(
    rules: dict[str, Any] | None, current: int, wanted: int, expected: tuple[int, str, bool, str]
) -> None:
    """Sizes stay between 2 and 20 and change no faster than the policies allow."""
    replicas = normalize(
        History(), rules, current=current, desired=wanted, bounds=Bounds(2, 20), now=1000.0, window=0.0
    )
    assert (replicas.size, replicas.able[0], replicas.limited, replicas.limit[0]) == expected


@pytest.mark.parametrize(("choice", "up", "down"), [("Max", 14, 2), ("Min", 12, 4)])
def test_select_policy_chooses_the_largest_or_smallest_change(choice: str, up: int, down: int) -> None:
    """Of several policies the one with the largest change applies, or the one with the smallest."""
    policies = [
        {"type": "Pods", "value": 6, "periodSeconds": 60},
        {"type": "Percent", "value": 50, "periodSeconds": 60},
    ]
    rules = {"selectPolicy": choice, "policies": policies}
    for wanted, expected in ((100, up), (0, down)):
        both = behavior(up=rules, down=rules)
        replicas = normalize(History(), both, current=8, desired=wanted, bounds=Bounds(0, 100), now=1.0, window=0.0)
        assert replicas.size == expected


def test_scale_ups_of_a_period_add_up() -> None:
    """Replicas that were added within the period of a policy count towards it until the period has passed."""
    history, rules = History(), behavior()
    history.store_change(rules, 5, 9, 1000.0)
    again = normalize(history, rules, current=9, desired=50, bounds=Bounds(1, 50), now=1010.0, window=0.0)
    assert (again.size, again.limit[0]) == (9, "ScaleUpLimit")
    later = normalize(history, rules, current=9, desired=50, bounds=Bounds(1, 50), now=1016.0, window=0.0)
    assert later.size == 13


def test_scale_downs_of_a_period_add_up() -> None:
    """Replicas that were removed within the period of a policy count towards it until the period has passed."""
    history, rules = History(), behavior(down={"policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]})
    history.store_change(rules, 20, 16, 1000.0)
    again = normalize(history, rules, current=16, desired=2, bounds=Bounds(1, 50), now=1010.0, window=0.0)
    assert (again.size, again.limit[0]) == (16, "ScaleDownLimit")
    later = normalize(history, rules, current=16, desired=2, bounds=Bounds(1, 50), now=1016.0, window=0.0)
    assert later.size == 12


@pytest.mark.parametrize("rules", [None, behavior()])
def test_scale_down_follows_the_largest_recent_recommendation(rules: dict[str, Any] | None) -> None:
    """The size shrinks to the largest recommendation of the window."""
    history = History()
    sizes = []
    for now, wanted in ((0.0, 10), (100.0, 4), (250.0, 6), (350.0, 3), (600.0, 3)):
        replicas = normalize(history, rules, current=10, desired=wanted, bounds=Bounds(1, 20), now=now, window=300.0)
        sizes.append((replicas.size, replicas.able[0]))
    held = "ScaleDownStabilized"
    assert sizes == [(10, "ReadyForNewScale"), (10, held), (10, held), (6, held), (3, "ReadyForNewScale")]


def test_scale_up_follows_the_smallest_recent_recommendation() -> None:
    """With a stabilization window for scale-up, the size grows to the smallest recommendation of the window."""
    history, rules = History(), behavior(up={"stabilizationWindowSeconds": 60})
    for now, wanted, expected in ((0.0, 5, 5), (30.0, 8, 5), (70.0, 8, 8)):
        assert (
            normalize(history, rules, current=5, desired=wanted, bounds=Bounds(1, 20), now=now, window=0.0).size
            == expected
        )


class MetricsApi:
    """Answers lists of the metrics APIs by group and path; everything else is not found."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, str, Any]] = []

    async def list(
        self, ref: ResourceRef, namespace: str = "", *, label_selector: str = "", query: Any = None
    ) -> dict[str, Any]:
        self.asked.append((f"{ref.group}/{ref.version}/{ref.plural}", namespace, label_selector, query))
        for part, items in self.answers.items():
            if ref.group.startswith(part + "."):
                if isinstance(items, ApiError):
                    raise items
                return {"items": items}
        raise ApiError(404, "NotFound", "the server could not find the requested resource")


def evaluate(api: MetricsApi, metric: dict[str, Any], pods: list[Any] = PODS, **changes: int) -> Proposal:
    catalog = builtin_catalog(ORCH)
    evaluator = Evaluator(MetricsClient(api, ORCH, lambda: catalog))  # type: ignore[arg-type]  # a double of the one method
    target = Target("a", changes.get("desired", 4), changes.get("running", 4), LabelSelector.parse("x=y"), pods)
    proposal: Proposal = run(evaluator.evaluate(metric, target, TUNING))
    return proposal


def usage(*cpu: str) -> list[dict[str, Any]]:
    stamp = "2020-09-13T12:26:40Z"
    return [
        {
            "metadata": {"name": f"p{i}"},
            "timestamp": stamp,
            "window": "30s",
            "containers": [{"name": "c", "usage": {"cpu": value}}],
        }
        for i, value in enumerate(cpu)
    ]


def resource(**target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_resource_metric() -> None:
    """Utilization is a percentage of the requests, average values are absolute; the status has both."""
    api = MetricsApi(metrics=usage("100m", "100m", "100m", "100m"))
    proposal = evaluate(api, resource(type="Utilization", averageUtilization=50))
    assert (proposal.size, proposal.metric) == (8, "cpu resource utilization (percentage of request)")
    assert proposal.status["resource"]["current"] == {"averageUtilization": 100, "averageValue": "100m"}
    assert api.asked == [("metrics.orch.io/v1beta1/pods", "a", "x=y", None)]
    proposal = evaluate(api, resource(type="AverageValue", averageValue="200m"))
    assert (proposal.size, proposal.metric) == (2, "cpu resource")


def test_container_metric_counts_one_container() -> None:
    """Only the metric's container counts."""
    metric = {
        "type": "ContainerResource",
        "containerResource": {"name": "cpu", "container": "c", "target": {"averageUtilization": 50}},
    }
    assert evaluate(MetricsApi(metrics=usage("100m", "100m", "100m", "100m")), metric).size == 8
    metric["containerResource"]["container"] = "d"  # type: ignore[index]  # a dict of dicts
    with pytest.raises(EvaluationError, match="container d not present in metrics for pod /p0"):
        evaluate(MetricsApi(metrics=usage("100m")), metric)


def custom(*found: str) -> list[dict[str, Any]]:
    return [
        {"describedObject": {"name": f"p{i}"}, "value": v, "timestamp": "2020-09-13T12:26:40Z"}
        for i, v in enumerate(found)
    ]


def test_pods_metric() -> None:
    """The value is the mean of the pods' custom metric; the metric's selector is passed on."""
    api = MetricsApi(custom=custom("10", "30", "20", "20"))
    identifier = {"name": "rate", "selector": {"matchLabels": {"verb": "get"}}}
    metric = {"type": "Pods", "pods": {"metric": identifier, "target": {"averageValue": "10"}}}
    proposal = evaluate(api, metric)
    assert (proposal.size, proposal.metric, proposal.status["pods"]["current"]) == (
        8,
        "pods metric rate",
        {"averageValue": "20"},
    )
    assert api.asked == [
        ("custom.metrics.orch.io/v1beta2/pods/*/rate", "a", "x=y", {"metricLabelSelector": "verb=get"})
    ]


def test_object_metric() -> None:
    """The value of one object, as a whole or divided by the number of pods."""
    api = MetricsApi(custom=custom("30"))
    described = {"apiVersion": "networking.orch.io/v1", "kind": "Ingress", "name": "i"}
    metric = {
        "type": "Object",
        "object": {"metric": {"name": "rate"}, "describedObject": described, "target": {"value": "20"}},
    }
    proposal = evaluate(api, metric)
    assert (proposal.size, proposal.metric) == (6, "Ingress metric rate")
    assert api.asked[0][:2] == ("custom.metrics.orch.io/v1beta2/ingresses.networking.orch.io/i/rate", "a")
    metric["object"]["target"] = {"averageValue": "5"}  # type: ignore[index]  # a dict of dicts
    proposal = evaluate(api, metric)
    assert (proposal.size, proposal.status["object"]["current"]) == (6, {"averageValue": "7500m"})


def test_external_metric() -> None:
    """The sum of the values of an external metric."""
    api = MetricsApi(external=custom("10", "30"))
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"averageValue": "8"}}}
    assert evaluate(api, metric).size == 5
    metric["external"]["target"] = {"value": "20"}  # type: ignore[index]  # a dict of dicts
    proposal = evaluate(api, metric)
    assert (proposal.size, proposal.metric) == (8, "external metric queue(nil)")
    assert api.asked[0][0] == "external.metrics.orch.io/v1beta1/queue"
    assert evaluate(api, metric, desired=0).size == 2


@pytest.mark.parametrize(
    ("metric", "reason", "text"),
    [
        (resource(averageUtilization=50), "FailedGetResourceMetric",
         "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: "
         "the server could not find the requested resource (get pods.metrics.orch.io)"),
        (resource(), "FailedGetResourceMetric", "invalid resource metric source: neither a utilization target nor a value target was set"),
        ({"type": "Pods", "pods": {"metric": {"name": "rate"}, "target": {"averageValue": "10"}}}, "FailedGetPodsMetric",
         "failed to get pods metric value: unable to get metric rate: unable to fetch metrics from custom metrics API: "
         "no custom metrics API (custom.metrics.orch.io) registered"),
        ({"type": "External", "external": {"metric": {"name": "queue"}, "target": {"value": "10"}}}, "FailedGetExternalMetric",
         "failed to get external metric queue: unable to get external metric a/queue/nil: unable to fetch metrics from external "
         "metrics API: the server could not find the requested resource (get queue.external.metrics.orch.io)"),
        ({"type": "Other"}, "InvalidMetricSourceType", 'unknown metric source type "Other"'),
    ],
)  # fmt: skip
def test_unavailable_metrics_are_named(metric: dict[str, Any], reason: str, text: str) -> None:
    """The error names the API and what it lacks."""
    with pytest.raises(EvaluationError) as caught:
        evaluate(MetricsApi(), metric)
    assert (caught.value.reason, str(caught.value)) == (reason, text)


def test_utilization_needs_requests_of_every_container() -> None:
    """A utilization needs requests of every container."""
    bare = pod("p0")
    del bare["spec"]["containers"][0]["resources"]
    with pytest.raises(EvaluationError, match="failed to get cpu utilization: missing request for cpu"):
        evaluate(MetricsApi(metrics=usage("1")), resource(averageUtilization=50), [bare])
    with pytest.raises(EvaluationError, match="no pods returned by selector while calculating replica count"):
        evaluate(MetricsApi(metrics=usage("1")), resource(averageUtilization=50), [])


def test_pod_without_a_value_of_one_container_has_no_metric() -> None:
    """A pod of which one container has no value is counted as missing, not by its other containers."""
    metrics = usage("100m", "100m")
    metrics[1]["containers"].append({"name": "d", "usage": {}})
    api = MetricsApi(metrics=metrics)
    client = MetricsClient(api, ORCH, lambda: builtin_catalog(ORCH))  # type: ignore[arg-type]  # a double of the one method
    resource = run(client.resource("a", LabelSelector.parse("x=y"), "cpu"))
    assert {name: metric.value for name, metric in resource.items()} == {"p0": 100}


@pytest.mark.parametrize(
    ("error", "versions", "text"),
    [
        (ApiError(404, "NotFound", "no such path"), ["v1beta2", "v1beta1"], "no custom metrics API (custom.metrics.orch.io) registered"),
        (ApiError(404, "NotFound", "no metric rate", details={"name": "rate"}), ["v1beta2"], "no metric rate"),
        (ApiError(503, "ServiceUnavailable", "away"), ["v1beta2"],
         "the server is currently unable to handle the request (get pods/*/rate.custom.metrics.orch.io)"),
        (ApiError(403, "Forbidden", "not allowed"), ["v1beta2"], "not allowed"),
    ],
)  # fmt: skip
def test_older_version_is_asked_only_if_the_newer_is_not_served(
    error: ApiError, versions: list[str], text: str
) -> None:
    """Only a 404 without a name means that a version is not served; other errors are the answer."""
    api = MetricsApi(custom=error)
    metric = {"type": "Pods", "pods": {"metric": {"name": "rate"}, "target": {"averageValue": "10"}}}
    with pytest.raises(EvaluationError, match=re.escape(f"unable to fetch metrics from custom metrics API: {text}")):
        evaluate(api, metric)
    assert [asked[0].split("/")[1] for asked in api.asked] == versions


DEPLOYED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def autoscaler(least: int, most: int, reference: dict[str, str] = DEPLOYED) -> dict[str, Any]:
    return {"metadata": {"name": "h"}, "spec": {"scaleTargetRef": reference, "minReplicas": least, "maxReplicas": most}}


def deploy(cluster: Cluster, size: int) -> None:
    selector = {"matchLabels": {"a": "b"}}
    spec = {"replicas": size, "selector": selector, "template": template({"a": "b"})}
    cluster.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    cluster.settle()


def conditions(cluster: Cluster) -> list[tuple[str, str, str]]:
    autoscaler = cluster.get(AUTOSCALERS, "h")
    assert autoscaler is not None
    return [(c["type"], c["status"], c["reason"]) for c in autoscaler["status"]["conditions"]]


def events(cluster: Cluster) -> dict[str, str]:
    return {
        e["reason"]: e["message"]
        for e in cluster.items(EVENTS)
        if e["involvedObject"]["kind"] == "HorizontalPodAutoscaler"
    }


@pytest.mark.parametrize(("size", "expected", "word"), [(1, 3, "below Spec.Min"), (9, 5, "above Spec.Max")])
def test_size_outside_the_range_is_corrected_without_metrics(
    cluster: Cluster, size: int, expected: int, word: str
) -> None:
    """A size outside the range is corrected without metrics."""
    deploy(cluster, size)
    cluster.create(AUTOSCALERS, autoscaler(3, 5))
    cluster.settle()
    deployment = cluster.get(DEPLOYMENTS, "d")
    assert deployment is not None and deployment["spec"]["replicas"] == expected
    assert (
        events(cluster)["SuccessfulRescale"]
        == f"New size: {expected}; reason: Current number of replicas {word}Replicas"
    )
    assert conditions(cluster)[0] == ("AbleToScale", "True", "SucceededRescale")
    shown = cluster.get(AUTOSCALERS, "h")
    assert shown is not None and (shown["status"]["desiredReplicas"], "lastScaleTime" in shown["status"]) == (
        expected,
        True,
    )


def test_without_a_metrics_api_the_size_stays(cluster: Cluster) -> None:
    """Without a metrics API the size stays, and conditions and Events have the reason."""
    deploy(cluster, 2)
    cluster.create(AUTOSCALERS, autoscaler(1, 5))
    cluster.settle()
    assert conditions(cluster) == [
        ("AbleToScale", "True", "SucceededGetScale"),
        ("ScalingActive", "False", "FailedGetResourceMetric"),
    ]
    assert events(cluster)["FailedComputeMetricsReplicas"].startswith(
        "invalid metrics (1 invalid out of 1), first error is: failed to get cpu utilization: unable to get metrics for resource cpu"
    )
    found = cluster.get(AUTOSCALERS, "h")
    assert found is not None and (found["status"]["currentReplicas"], found["status"]["desiredReplicas"]) == (2, 0)


def test_missing_target_is_reported(cluster: Cluster) -> None:
    """The condition says that the target does not exist."""
    cluster.create(AUTOSCALERS, autoscaler(1, 5, {**DEPLOYED, "name": "absent"}))
    cluster.settle()
    assert conditions(cluster) == [("AbleToScale", "False", "FailedGetScale")]
    assert "not found" in events(cluster)["FailedGetScale"]


def test_malformed_version_of_the_target_is_reported(cluster: Cluster) -> None:
    """An apiVersion with two slashes belongs to no group."""
    cluster.create(AUTOSCALERS, autoscaler(1, 5, {**DEPLOYED, "apiVersion": "apps/v1/more"}))
    cluster.settle()
    assert conditions(cluster) == [("AbleToScale", "False", "FailedGetScale")]
    assert events(cluster)["FailedGetScale"] == "unexpected GroupVersion string: apps/v1/more"


def test_target_of_size_zero_is_left_alone(cluster: Cluster) -> None:
    """A target of size 0 is not changed."""
    deploy(cluster, 0)
    cluster.create(AUTOSCALERS, autoscaler(1, 5))
    cluster.settle()
    assert conditions(cluster)[1] == ("ScalingActive", "False", "ScalingDisabled")


@pytest.mark.parametrize(
    ("described", "path"),
    [
        # The namespace is the autoscaler's own, whatever the metric has.
        ({"apiVersion": "v1", "kind": "Namespace", "name": "other"}, "metrics/rate"),
        # Cluster-scoped objects are requested within it, too.
        ({"apiVersion": "v1", "kind": "Node", "name": "n"}, "nodes/n/rate"),
        # Versions are ignored, even ones that are not served.
        ({"apiVersion": "apps/v1beta9", "kind": "Deployment", "name": "d"}, "deployments.apps/d/rate"),
    ],
)
def test_object_metric_is_read_in_the_autoscalers_namespace(described: dict[str, Any], path: str) -> None:
    """The object of an Object metric is in the autoscaler's namespace."""
    api = MetricsApi(custom=custom("30"))
    evaluate(
        api,
        {
            "type": "Object",
            "object": {"metric": {"name": "rate"}, "describedObject": described, "target": {"value": "20"}},
        },
    )
    assert api.asked[0][:2] == (f"custom.metrics.orch.io/v1beta2/{path}", "a")


def test_unserved_described_kind_is_named() -> None:
    """The error names a kind that is not served."""
    described = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w"}
    metric = {
        "type": "Object",
        "object": {"metric": {"name": "rate"}, "describedObject": described, "target": {"value": "20"}},
    }
    with pytest.raises(
        EvaluationError, match=r"unable to map kind Widget\.example\.com to resource: no matches for kind"
    ):
        evaluate(MetricsApi(), metric)


DEFINITIONS = ResourceRef("apiextensions.orch.io", "v1", "customresourcedefinitions")


def test_custom_kind_with_scale_is_scaled(cluster: Cluster) -> None:
    """A custom kind with a scale subresource is scaled, also one that is defined later."""
    cluster.create(AUTOSCALERS, autoscaler(3, 5, {"apiVersion": "example.com/v1beta1", "kind": "Widget", "name": "w"}))
    cluster.settle()
    message = 'no matches for kind "Widget" in group "example.com"'
    assert events(cluster)["FailedGetScale"] == message
    paths = {
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector",
    }
    schema = {"openAPIV3Schema": {"type": "object", "x-orch-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"scale": paths}}
    names = {"plural": "widgets", "kind": "Widget"}
    definition = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    cluster.create(DEFINITIONS, {"metadata": {"name": "widgets.example.com"}, "spec": definition}, "")
    cluster.settle()
    widgets = ResourceRef("example.com", "v1", "widgets")
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    cluster.create(widgets, widget)
    cluster.settle(20)
    found = cluster.get(widgets, "w")
    assert found is not None and found["spec"]["size"] == 3
    assert conditions(cluster)[0] == ("AbleToScale", "True", "SucceededRescale")


@pytest.mark.parametrize(
    ("window", "seconds"), [("30s", 30.0), ("1m30s", 90.0), ("500ms", 0.5), ("", 60.0), (None, 60.0)]
)
def test_windows_of_metrics(window: str | None, seconds: float) -> None:
    """A window is a duration with any unit; a minute if it is absent."""
    assert _window(window) == seconds


def test_invalid_window_is_an_error() -> None:
    """A window that is no duration is an error of the metric."""
    with pytest.raises(MetricsError, match="unknown unit"):
        _window("5d")
