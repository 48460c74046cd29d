"""Evaluation of one metric of an autoscaler: its current value and the proposed number of replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.controllers.autoscaling import replicas
from orchd.controllers.autoscaling.metrics import MetricsClient, MetricsError, milli
from orchd.controllers.autoscaling.replicas import Tuning, format_milli
from orchd.kinds.fields import mapping
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import EVERYTHING, LabelSelector
from orchd.kinds.release import SPECIFICATION, Release


class EvaluationError(Exception):
    """A metric gives no size. `reason` and `cause` are reason and message of the condition and Event; the text of the
    error is the message for the autoscaler as a whole."""

    def __init__(self, reason: str, cause: str, text: str = "") -> None:
        super().__init__(text or cause)
        self.reason = reason
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Target:
    """The scale target: its namespace, desired and current size, and pods."""

    namespace: str
    desired: int
    running: int
    selector: LabelSelector
    pods: list[Object]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A requested size, the description of the metric that requests it, and the metric's status."""

    size: int
    metric: str
    status: dict[str, Any]


def _selector(metric: Mapping[str, Any]) -> LabelSelector:
    selector = metric.get("selector")
    return EVERYTHING if selector is None else LabelSelector.from_object(selector)


def _format_selector(selector: Mapping[str, Any] | None) -> str:
    """A label selector as the reference prints it."""
    if selector is None:
        return "nil"
    tags = "".join(f"{k}: {v}," for k, v in sorted(mapping(selector, "matchLabels").items()))
    each = "".join(
        f"LabelSelectorRequirement{{Key:{e.get('key', '')},Operator:{e.get('operator', '')},Values:[{' '.join(e.get('values') or ())}],}},"
        for e in selector.get("matchExpressions") or ()
    )
    return f"&LabelSelector{{MatchLabels:map[string]string{{{tags}}},MatchExpressions:[]LabelSelectorRequirement{{{each}}},}}"


#: What the errors of metrics begin with in the message for the autoscaler as a whole, by type of metric and release.
_FRONTS: Final[tuple[tuple[str, dict[str, Callable[[Mapping[str, Any]], str]]], ...]] = (
    ("", {}),
    (
        "1.27",
        {
            "Resource": lambda metric: f"failed to get {metric['resource']['name']} resource metric value",
            "ContainerResource": lambda metric: (
                f"failed to get {metric['containerResource']['container']} container metric value"
            ),
            "External": lambda metric: f"failed to get {metric['external']['metric']['name']} external metric value",
        },
    ),
)


class Evaluator:
    """Evaluates metrics. Raises EvaluationError if a metric is unavailable."""

    def __init__(self, metrics: MetricsClient, release: Release = SPECIFICATION) -> None:
        self._metrics = metrics
        self._fronts = release.choose(_FRONTS)

    async def evaluate(self, metric: Mapping[str, Any], target: Target, tuning: Tuning) -> Proposal:
        """The size that one entry of spec.metrics requests."""
        try:
            return await self._evaluate(metric, target, tuning)
        except EvaluationError as error:
            front = self._fronts.get(str(metric.get("type")))
            if front is None:
                raise
            raise EvaluationError(error.reason, error.cause, f"{front(metric)}: {error}") from error

    async def _evaluate(self, metric: Mapping[str, Any], target: Target, tuning: Tuning) -> Proposal:
        match metric.get("type"):
            case "Resource":
                return await self._resource(mapping(metric, "resource"), target, tuning, "")
            case "ContainerResource":
                source = mapping(metric, "containerResource")
                return await self._resource(source, target, tuning, str(source.get("container", "")))
            case "Pods":
                return await self._pods(mapping(metric, "pods"), target, tuning)
            case "Object":
                return await self._object(mapping(metric, "object"), target, tuning)
            case "External":
                return await self._external(mapping(metric, "external"), target, tuning)
        raise EvaluationError("InvalidMetricSourceType", f'unknown metric source type "{metric.get("type", "")}"')

    async def _resource(self, source: Mapping[str, Any], target: Target, tuning: Tuning, container: str) -> Proposal:
        reason = "FailedGetContainerResourceMetric" if container else "FailedGetResourceMetric"
        resource, target_value = str(source.get("name", "")), mapping(source, "target")
        by_value = target_value.get("averageValue") is not None
        if not by_value and target_value.get("averageUtilization") is None:
            raise EvaluationError(
                reason, "invalid resource metric source: neither a utilization target nor a value target was set"
            )
        try:
            size, usage = await self._by_usage(resource, target_value, target, tuning, container)
        except MetricsError as error:
            raise EvaluationError(reason, f"failed to get {resource} utilization: {error}") from error
        current: dict[str, Any] = {"averageValue": format_milli(usage.value)}
        if not by_value:
            current["averageUtilization"] = usage.percent
        title = f"{resource} resource"
        if container:
            status = {
                "type": "ContainerResource",
                "containerResource": {"name": resource, "container": container, "current": current},
            }
        else:
            status = {"type": "Resource", "resource": {"name": resource, "current": current}}
        return Proposal(size, title if by_value else f"{title} utilization (percentage of request)", status)

    async def _by_usage(
        self, resource: str, target_value: Mapping[str, Any], target: Target, tuning: Tuning, container: str
    ) -> tuple[int, replicas.Usage]:
        try:
            metrics = await self._metrics.resource(target.namespace, target.selector, resource, container)
        except MetricsError as error:
            raise MetricsError(f"unable to get metrics for resource {resource}: {error}") from error
        if target_value.get("averageValue") is not None:
            goal = milli(target_value["averageValue"])
            return replicas.by_pods(
                target.pods,
                metrics,
                target.desired,
                resource,
                tuning,
                lambda m: replicas.average(m, goal),
                lambda pod: goal,
            )
        percent = int(target_value["averageUtilization"])
        requests = replicas.requests_of(target.pods, resource, container) if target.pods else {}
        return replicas.by_pods(
            target.pods,
            metrics,
            target.desired,
            resource,
            tuning,
            lambda m: replicas.utilization(m, requests, percent),
            lambda pod: requests.get(pod, 0) * max(100, percent) // 100,
        )

    async def _pods(self, source: Mapping[str, Any], target: Target, tuning: Tuning) -> Proposal:
        metric = mapping(source, "metric")
        title = str(metric.get("name", ""))
        goal = _goal(source, "averageValue", "FailedGetPodsMetric")
        prefix = "failed to get pods metric value: "
        try:
            try:
                metrics = await self._metrics.of_pods(target.namespace, target.selector, title, _selector(metric))
            except MetricsError as error:
                raise MetricsError(f"unable to get metric {title}: {error}") from error
            size, usage = replicas.by_pods(
                target.pods, metrics, target.desired, "", tuning, lambda m: replicas.average(m, goal), lambda pod: goal
            )
        except MetricsError as error:
            raise EvaluationError("FailedGetPodsMetric", str(error), prefix + str(error)) from error
        status = {
            "type": "Pods",
            "pods": {"metric": _identifier(metric), "current": {"averageValue": format_milli(usage.value)}},
        }
        return Proposal(size, f"pods metric {title}", status)

    async def _object(self, source: Mapping[str, Any], target: Target, tuning: Tuning) -> Proposal:
        metric, described, target_value = (
            mapping(source, "metric"),
            mapping(source, "describedObject"),
            mapping(source, "target"),
        )
        title, reason = str(metric.get("name", "")), "FailedGetObjectMetric"
        prefix = "failed to get object metric value: "
        if target_value.get("value") is None and target_value.get("averageValue") is None:
            cause = "invalid object metric source: neither a value target nor an average value target was set"
            raise EvaluationError(reason, cause, prefix + cause)
        try:
            value = await self._metrics.of_object(target.namespace, dict(described), title, _selector(metric))
        except MetricsError as error:
            kind, called = described.get("kind", ""), described.get("name", "")
            cause = f"unable to get metric {title}: {kind} on {target.namespace} {called}/{error}"
            whole = cause if target_value.get("value") is not None else f"failed to get {title} object metric: {cause}"
            raise EvaluationError(reason, cause, prefix + whole) from error
        size, current, by_value = _size(
            value, target_value, target, tuning, lambda cause: EvaluationError(reason, cause, prefix + cause)
        )
        name = (
            f"{described.get('kind', '')} metric {title}"
            if by_value
            else f"external metric {title}({_format_selector(metric.get('selector'))})"
        )
        status = {
            "type": "Object",
            "object": {"metric": _identifier(metric), "current": current, "describedObject": dict(described)},
        }
        return Proposal(size, name, status)

    async def _external(self, source: Mapping[str, Any], target: Target, tuning: Tuning) -> Proposal:
        metric, target_value = mapping(source, "metric"), mapping(source, "target")
        title, reason = str(metric.get("name", "")), "FailedGetExternalMetric"
        if target_value.get("value") is None and target_value.get("averageValue") is None:
            raise EvaluationError(
                reason, "invalid external metric source: neither a value target nor an average value target was set"
            )
        shown_selector = _format_selector(metric.get("selector"))
        by_average = target_value.get("averageValue") is not None
        try:
            values = await self._metrics.external(target.namespace, title, _selector(metric))
        except MetricsError as error:
            cause = f"unable to get external metric {target.namespace}/{title}/{shown_selector}: {error}"
            front = f"failed to get {title} external metric" if by_average else f"failed to get external metric {title}"
            raise EvaluationError(reason, cause, f"{front}: {cause}") from error
        size, current, _ = _size(
            sum(values), target_value, target, tuning, lambda cause: EvaluationError(reason, cause)
        )
        status = {"type": "External", "external": {"metric": _identifier(metric), "current": current}}
        return Proposal(size, f"external metric {title}({shown_selector})", status)


def _identifier(metric: Mapping[str, Any]) -> dict[str, Any]:
    return {key: metric[key] for key in ("name", "selector") if metric.get(key) is not None}


def _goal(source: Mapping[str, Any], member: str, reason: str) -> int:
    try:
        return milli(mapping(source, "target").get(member))
    except MetricsError as error:
        raise EvaluationError(reason, str(error)) from error


def _size(
    value: int,
    target_value: Mapping[str, Any],
    target: Target,
    tuning: Tuning,
    failed: Callable[[str], EvaluationError],
) -> tuple[int, dict[str, Any], bool]:
    """Size, current value for the status, and whether the target is one for the whole value."""
    try:
        if target_value.get("averageValue") is not None:
            size, part = replicas.per_pod(value, milli(target_value["averageValue"]), target.running, tuning)
            return size, {"averageValue": format_milli(part)}, False
        ratio = value / milli(target_value["value"])
        size = replicas.by_ratio(ratio, target.desired, target.pods, tuning)
    except MetricsError as error:
        raise failed(str(error)) from error
    return size, {"value": format_milli(value)}, True
