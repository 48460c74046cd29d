"""Metrics of priority and fairness, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.server.pipeline.endpoints.metrics import Source
from orchd.server.pipeline.fairness.metrics import BOUNDS, QUEUE_LENGTHS, WATCHERS, FairnessMetrics
from orchd.server.pipeline.fairness.queues import ESTIMATED_SECONDS
from orchd.server.pipeline.fairness.stage import Fairness
from orchd.txkit.histogram import cumulative
from orchd.txkit.instruments import Gauge, families

_BOTH = ("priority_level", "flow_schema")


def fairness_metrics(fairness: Fairness) -> Source:
    """Metrics of the priority levels and flow schemas."""

    def families() -> Iterator[Metric]:
        yield _limits(fairness)
        for name, help, value in _GAUGES:
            gauge = GaugeMetricFamily(name, help, labels=_BOTH)
            for (schema, level), numbers in fairness.numbers.items():
                gauge.add_metric([level, schema], value(numbers))
            yield gauge
        yield from _counters(fairness)
        yield from _times(fairness)
        yield from _virtual_times(fairness)

    return families


_GAUGES: tuple[tuple[str, str, Callable[[FairnessMetrics], float]], ...] = (
    ("apiserver_flowcontrol_current_inqueue_requests", "Queued requests, by priority level and flow schema.", lambda n: float(n.waiting)),
    ("apiserver_flowcontrol_current_executing_requests", "Executing requests, by priority level and flow schema.", lambda n: float(n.executing)),
    ("apiserver_flowcontrol_request_concurrency_in_use", "Seats of executing requests, by priority level and flow schema.", lambda n: float(n.seats)),
)


def _virtual_times(fairness: Fairness) -> Iterable[Metric]:
    """Where the levels' queues are in virtual time."""
    latest = Gauge("apiserver_flowcontrol_latest_s", "Virtual time at which the last request of a queue began.", ("priority_level",))
    bounds = Gauge(
        "apiserver_flowcontrol_next_s_bounds",
        "Least and greatest virtual time, over queues, at which the oldest waiting request may begin.",
        ("priority_level", "bound"),
    )
    discounted = Gauge(
        "apiserver_flowcontrol_next_discounted_s_bounds",
        "Least and greatest virtual time, over queues, at which the oldest waiting request may begin, less the estimated work in progress.",
        ("priority_level", "bound"),
    )
    for name, level in fairness.levels.items():
        latest.set(level.seats.latest_start, name)
        starts = level.seats.next_starts()
        if starts:
            less = [start - ESTIMATED_SECONDS * running for start, running in starts]
            for bound, choose in (("min", min), ("max", max)):
                bounds.set(choose(start for start, _ in starts), name, bound)
                discounted.set(choose(less), name, bound)
    return families(latest, bounds, discounted)


def _limits(fairness: Fairness) -> Metric:
    family = GaugeMetricFamily(
        "apiserver_flowcontrol_request_concurrency_limit", "Concurrency limit of a priority level.", labels=("priority_level",)
    )
    for name, level in fairness.levels.items():
        family.add_metric([name], float(level.seats.limit))
    return family


def _counters(fairness: Fairness) -> Iterator[Metric]:
    dispatched = CounterMetricFamily(
        "apiserver_flowcontrol_dispatched_requests", "Requests dispatched for execution.", labels=_BOTH
    )
    rejected = CounterMetricFamily(
        "apiserver_flowcontrol_rejected_requests", "Requests rejected by priority and fairness, by reason.", labels=(*_BOTH, "reason")
    )
    for (schema, level), numbers in fairness.numbers.items():
        dispatched.add_metric([level, schema], float(numbers.dispatched))
        for reason, count in numbers.rejected.items():
            rejected.add_metric([level, schema, reason], float(count))
    yield dispatched
    yield rejected


def _times(fairness: Fairness) -> Iterator[Metric]:
    waited = HistogramMetricFamily(
        "apiserver_flowcontrol_request_wait_duration_seconds", "Queue wait of requests in seconds, by whether they were executed.", labels=(*_BOTH, "execute")
    )
    served = HistogramMetricFamily(
        "apiserver_flowcontrol_request_execution_seconds", "Execution time of requests in seconds.", labels=_BOTH
    )
    lengths = HistogramMetricFamily(
        "apiserver_flowcontrol_request_queue_length_after_enqueue", "Length of a queue after a request was added.", labels=_BOTH
    )
    watchers = HistogramMetricFamily(
        "apiserver_flowcontrol_watch_count_samples", "Watches of the resource of each mutating request.", labels=_BOTH
    )
    for (schema, level), numbers in fairness.numbers.items():
        if any(numbers.watchers.counts):
            watchers.add_metric([level, schema], cumulative(numbers.watchers, WATCHERS), numbers.watchers.sum)
        if any(numbers.queue_lengths.counts):
            lengths.add_metric([level, schema], cumulative(numbers.queue_lengths, QUEUE_LENGTHS), numbers.queue_lengths.sum)
        for execute, times in (("true", numbers.waited), ("false", numbers.refused)):
            if any(times.counts):
                waited.add_metric([level, schema, execute], cumulative(times, BOUNDS), times.sum)
        if any(numbers.execution.counts):
            served.add_metric([level, schema], cumulative(numbers.execution, BOUNDS), numbers.execution.sum)
    yield waited
    yield served
    yield lengths
    yield watchers
