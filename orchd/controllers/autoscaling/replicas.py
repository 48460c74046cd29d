"""Calculation of the number of replicas from metric values. Pure.

Pods that are not ready or whose metrics are missing count as idle for a scale-up and as busy for a scale-down, so that
they never enlarge a change or reverse it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from orchd.controllers.autoscaling.metrics import MetricsError, PodMetric, milli
from orchd.controllers.objects import condition
from orchd.controllers.pods import is_ready
from orchd.kinds.fields import deleting, mapping, name, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Settings of the calculation, in seconds. `shrinking` and `growing` are the deviations of the ratio below and
    above 1 that cause no change; `sums` is how they are compared, as rounding decides where a deviation is exactly the
    tolerated one. `now` is seconds since the epoch."""

    now: float
    shrinking: float = 0.1
    growing: float = 0.1
    sums: bool = False
    cpu_initialization: float = 300.0
    initial_readiness: float = 30.0

    def tolerates(self, ratio: float) -> bool:
        """True if a ratio of the current to the wanted usage causes no change."""
        if self.sums:
            return 1.0 - self.shrinking <= ratio <= 1.0 + self.growing
        return 1.0 - ratio <= self.shrinking and ratio - 1.0 <= self.growing


@dataclass(slots=True)
class Groups:
    """Names of pods by the state of their metrics. `ready` is a count."""

    ready: int = 0
    unready: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)


def group_pods(pods: Iterable[Object], metrics: Mapping[str, PodMetric], resource: str, tuning: Tuning) -> Groups:
    """Group pods: terminating ones are ignored; those that have not started, or whose CPU usage is from their start,
    are unready."""
    out = Groups()
    for pod in pods:
        phase = status(pod).get("phase")
        metric = metrics.get(name(pod))
        if deleting(pod) or phase == "Failed":
            out.ignored.add(name(pod))
        elif phase == "Pending":
            out.unready.add(name(pod))
        elif metric is None:
            out.missing.add(name(pod))
        elif resource == "cpu" and _starting(pod, metric, tuning):
            out.unready.add(name(pod))
        else:
            out.ready += 1
    return out


def _starting(pod: Object, metric: PodMetric, tuning: Tuning) -> bool:
    ready = condition(status(pod), "Ready")
    started = seconds_of(status(pod).get("startTime"))
    if ready is None or started is None:
        return True
    since = seconds_of(ready.get("lastTransitionTime")) or 0.0
    if started + tuning.cpu_initialization > tuning.now:
        return ready.get("status") == "False" or metric.at < since + metric.window
    return ready.get("status") == "False" and started + tuning.initial_readiness > since


def requests_of(pods: Iterable[Object], resource: str, container: str) -> dict[str, int]:
    """Requests of the pods' containers, or of the named one, by pod. Raises MetricsError."""
    out = {}
    for pod in pods:
        total = 0
        for each in spec(pod).get("containers") or ():
            if not container or each.get("name") == container:
                request = mapping(each, "resources", "requests").get(resource)
                if request is None:
                    raise MetricsError(f"missing request for {resource}")
                total += milli(request)
        out[name(pod)] = total
    return out


@dataclass(frozen=True, slots=True)
class Usage:
    """The ratio of usage to target, the usage in percent of the requests (0 without requests) and the mean value."""

    ratio: float
    percent: int
    value: int


def utilization(metrics: Mapping[str, PodMetric], requests: Mapping[str, int], target: int) -> Usage:
    """Usage in percent of the pods' requests. Raises MetricsError."""
    measured = [pod for pod in metrics if pod in requests]
    requested = sum(requests[pod] for pod in measured)
    if not requested:
        raise MetricsError("no metrics returned matched known pods")
    used = sum(metrics[pod].value for pod in measured)
    percent = used * 100 // requested
    return Usage(percent / target, percent, used // len(measured))


def average(metrics: Mapping[str, PodMetric], target: int) -> Usage:
    """Usage as a mean value of the pods."""
    mean = sum(m.value for m in metrics.values()) // len(metrics)
    return Usage(mean / target, 0, mean)


def by_pods(
    pods: list[Object],
    metrics: Mapping[str, PodMetric],
    current: int,
    resource: str,
    tuning: Tuning,
    measure: Callable[[Mapping[str, PodMetric]], Usage],
    busy: Callable[[str], int],
) -> tuple[int, Usage]:
    """The size that brings the usage to its target, and the usage. `busy` is the assumed usage of a pod without metrics
    if the size would shrink. Raises MetricsError."""
    if not pods:
        raise MetricsError("no pods returned by selector while calculating replica count")
    groups = group_pods(pods, metrics, resource, tuning)
    counted = {pod: m for pod, m in metrics.items() if pod not in groups.ignored and pod not in groups.unready}
    if not counted:
        raise MetricsError("did not receive metrics for any ready pods")
    usage = measure(counted)
    starting = bool(groups.unready) and usage.ratio > 1.0
    if not starting and not groups.missing:
        if tuning.tolerates(usage.ratio):
            return current, usage
        return ceil(usage.ratio * groups.ready), usage
    if usage.ratio < 1.0:
        counted |= {pod: PodMetric(busy(pod)) for pod in groups.missing}
    elif usage.ratio > 1.0:
        counted |= {pod: PodMetric(0) for pod in groups.missing}
    if starting:
        counted |= {pod: PodMetric(0) for pod in groups.unready}
    again = measure(counted).ratio
    turned = (usage.ratio < 1.0 < again) or (usage.ratio > 1.0 > again)
    if tuning.tolerates(again) or turned:
        return current, usage
    desired = ceil(again * len(counted))
    if (again < 1.0 and desired > current) or (again > 1.0 and desired < current):
        return current, usage
    return desired, usage


def by_ratio(ratio: float, current: int, pods: Iterable[Object], tuning: Tuning) -> int:
    """The size for a value that all pods have a part in. Raises MetricsError."""
    if not current:
        return ceil(ratio)
    if tuning.tolerates(ratio):
        return current
    selected = list(pods)
    if not selected:
        raise MetricsError(
            "unable to calculate ready pods: no pods returned by selector while calculating replica count"
        )
    ready = sum(1 for pod in selected if status(pod).get("phase") == "Running" and is_ready(pod))
    return ceil(ratio * ready)


def per_pod(value: int, target: int, running: int, tuning: Tuning) -> tuple[int, int]:
    """The size for a value that is divided among the pods, and the part of one of them now."""
    if not running:
        return ceil(value / target), 0
    desired = running
    if not tuning.tolerates(value / (target * running)):
        desired = ceil(value / target)
    return desired, ceil(value / running)


def format_milli(value: int) -> Any:
    """Thousandths as a quantity."""
    return f"{value // 1000}" if value % 1000 == 0 else f"{value}m"
