"""Metrics of priority and fairness, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from orchd.server.pipeline.fairness.queues import ESTIMATED_SECONDS, Level
from orchd.txkit.metrics.histogram import Histogram
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedDistribution, ObservedGauge

#: Histogram bucket upper bounds in seconds, as in the reference.
BOUNDS: Final = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
#: Histogram bucket upper bounds in requests, as in the reference.
QUEUE_LENGTHS: Final = (0, 10, 25, 50, 100, 250, 500, 1000)
#: Histogram bucket upper bounds in watches, as in the reference.
WATCHERS: Final = (0, 1, 10, 100, 1000, 10000)

_PREFIX: Final = "apiserver_flowcontrol_"
_LEVEL: Final = ("priority_level",)
_FLOW: Final = ("priority_level", "flow_schema")


class FlowMetrics:
    """Counters of one flow schema: currently waiting and executing, and the seats of the executing ones; total
    dispatched, and rejected by reason."""

    __slots__ = (
        "dispatched", "executing", "execution", "queue_lengths", "refused", "rejected", "seats", "waited", "waiting",
        "watchers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.waiting = self.executing = self.seats = self.dispatched = 0
        self.rejected: dict[str, int] = {}
        #: Queue wait of dispatched requests, of rejected requests, and execution time.
        self.waited, self.refused, self.execution = Histogram(BOUNDS), Histogram(BOUNDS), Histogram(BOUNDS)
        #: Length of a request's queue when it was added, itself included.
        self.queue_lengths = Histogram(QUEUE_LENGTHS)
        #: Watches of the resource of a mutating request.
        self.watchers = Histogram(WATCHERS)

    def reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


#: Metrics by flow schema and priority level.
Flows = Callable[[], Mapping[tuple[str, str], FlowMetrics]]
#: Seats of the limited priority levels, by name.
Levels = Callable[[], Mapping[str, Level]]


def flow_instruments(flows: Flows) -> tuple[Instrument, ...]:
    """The metrics per flow schema."""

    def each(read: Callable[[FlowMetrics], float]) -> Callable[[], dict[tuple[str, ...], float]]:
        return lambda: {(level, schema): read(flow) for (schema, level), flow in flows().items()}

    def histograms(read: Callable[[FlowMetrics], Histogram]) -> Callable[[], dict[tuple[str, ...], Histogram]]:
        return lambda: {
            (level, schema): histogram for (schema, level), flow in flows().items() if (histogram := read(flow)).count
        }

    def rejected() -> dict[tuple[str, ...], float]:
        return {
            (level, schema, reason): float(count)
            for (schema, level), flow in flows().items()
            for reason, count in flow.rejected.items()
        }

    def waits() -> dict[tuple[str, ...], Histogram]:
        return {
            (level, schema, execute): histogram
            for (schema, level), flow in flows().items()
            for execute, histogram in (("true", flow.waited), ("false", flow.refused))
            if histogram.count
        }

    return (
        ObservedGauge(f"{_PREFIX}current_inqueue_requests", "Queued requests, by priority level and flow schema.", each(lambda flow: flow.waiting), _FLOW),
        ObservedGauge(f"{_PREFIX}current_executing_requests", "Executing requests, by priority level and flow schema.", each(lambda flow: flow.executing), _FLOW),
        ObservedGauge(f"{_PREFIX}request_concurrency_in_use", "Seats of executing requests, by priority level "
            "and flow schema.", each(lambda flow: flow.seats), _FLOW),
        ObservedCounter(f"{_PREFIX}dispatched_requests_total", "Requests dispatched for execution.", each(lambda flow: flow.dispatched), _FLOW),
        ObservedCounter(f"{_PREFIX}rejected_requests_total", "Requests rejected by priority and fairness, by reason.", rejected, (*_FLOW, "reason")),
        ObservedDistribution(f"{_PREFIX}request_wait_duration_seconds", "Queue wait of requests in seconds, by whether they were "
            "executed.", BOUNDS, waits, (*_FLOW, "execute")),
        ObservedDistribution(f"{_PREFIX}request_execution_seconds", "Execution time of requests in "
            "seconds.", BOUNDS, histograms(lambda flow: flow.execution), _FLOW),
        ObservedDistribution(f"{_PREFIX}request_queue_length_after_enqueue", "Length of a queue after a request was added.", QUEUE_LENGTHS, histograms(lambda flow: flow.queue_lengths), _FLOW),
        ObservedDistribution(f"{_PREFIX}watch_count_samples", "Watches of the resource of each mutating "
            "request.", WATCHERS, histograms(lambda flow: flow.watchers), _FLOW),
    )  # fmt: skip


def level_instruments(levels: Levels) -> tuple[Instrument, ...]:
    """The metrics per priority level: its limit, and where its queues are in virtual time."""

    def bounds(discount: float) -> Callable[[], dict[tuple[str, ...], float]]:
        """Least and greatest start of the next requests of the queues, less `discount` seconds for each running one."""

        def read() -> dict[tuple[str, ...], float]:
            values: dict[tuple[str, ...], float] = {}
            for name, seats in levels().items():
                starts = [start - discount * running for start, running in seats.next_starts()]
                if starts:
                    values |= {(name, "min"): min(starts), (name, "max"): max(starts)}
            return values

        return read

    return (
        ObservedGauge(
            f"{_PREFIX}request_concurrency_limit",
            "Concurrency limit of a priority level.",
            lambda: {(name,): float(seats.limit) for name, seats in levels().items()},
            _LEVEL,
        ),
        ObservedGauge(
            f"{_PREFIX}latest_s",
            "Virtual time at which the last request of a queue began.",
            lambda: {(name,): seats.latest_start for name, seats in levels().items()},
            _LEVEL,
        ),
        ObservedGauge(
            f"{_PREFIX}next_s_bounds",
            "Least and greatest virtual time, over queues, at which the oldest waiting request may begin.",
            bounds(0.0),
            (*_LEVEL, "bound"),
        ),
        ObservedGauge(
            f"{_PREFIX}next_discounted_s_bounds",
            "Least and greatest virtual time, over queues, at which the oldest waiting request may begin, less "
            "the estimated work in progress.",
            bounds(ESTIMATED_SECONDS),
            (*_LEVEL, "bound"),
        ),
    )
