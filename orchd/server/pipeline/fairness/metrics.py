"""Metrics of priority and fairness, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from orchd.kinds.release import Release
from orchd.server.pipeline.fairness.levels import PriorityLevel
from orchd.server.pipeline.fairness.queues import ESTIMATED_SECONDS
from orchd.txkit.metrics.histogram import Histogram
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedDistribution, ObservedGauge

#: Histogram bucket upper bounds in seconds, as in the reference, by the release that begins them.
BOUNDS: Final[tuple[tuple[str, tuple[float, ...]], ...]] = (
    ("", (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)),
    ("1.27", (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)),
)
#: Histogram bucket upper bounds in requests, as in the reference.
QUEUE_LENGTHS: Final = (0, 10, 25, 50, 100, 250, 500, 1000)
#: Histogram bucket upper bounds in watches, as in the reference.
WATCHERS: Final = (0, 1, 10, 100, 1000, 10000)
#: Histogram bucket upper bounds in seats of a request, as in the reference.
WIDTHS: Final = (1, 2, 4, 8, 16, 32, 64, 100)
#: Labels of executions, by the release that begins them, and the first release with metrics of seats.
_EXECUTIONS: Final = (("", ("priority_level", "flow_schema")), ("1.27", ("priority_level", "flow_schema", "type")))
SEATS_SINCE: Final = "1.26"

_PREFIX: Final = "apiserver_flowcontrol_"
_LEVEL: Final = ("priority_level",)
_FLOW: Final = ("priority_level", "flow_schema")


class FlowMetrics:
    """Counters of one flow schema: currently waiting and executing, and the seats of both; total dispatched, rejected
    by reason, and next to begin without enough free seats."""

    __slots__ = (
        "blocked", "dispatched", "executing", "execution", "queue_lengths", "refused", "rejected", "seats",
        "seats_waiting", "waited", "waiting", "watchers", "watches", "widths",
    )  # fmt: skip

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are those of times (`BOUNDS`)."""
        self.waiting = self.executing = self.seats = self.seats_waiting = self.dispatched = self.blocked = 0
        self.rejected: dict[str, int] = {}
        #: Queue wait of dispatched requests, of rejected requests, and execution time: of watches, until they have
        #: begun, and of others.
        self.waited, self.refused = Histogram(bounds), Histogram(bounds)
        self.execution, self.watches = Histogram(bounds), Histogram(bounds)
        #: Length of a request's queue when it was added, itself included.
        self.queue_lengths = Histogram(QUEUE_LENGTHS)
        #: Watches of the resource of a mutating request.
        self.watchers = Histogram(WATCHERS)
        #: Seats of requests.
        self.widths = Histogram(WIDTHS)

    def reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


#: Metrics by flow schema and priority level.
Flows = Callable[[], Mapping[tuple[str, str], FlowMetrics]]
#: Priority levels with seats, by name.
Levels = Callable[[], Mapping[str, PriorityLevel]]


def flow_instruments(flows: Flows, release: Release) -> tuple[Instrument, ...]:
    """The metrics per flow schema."""
    bounds, execution_labels = release.choose(BOUNDS), release.choose(_EXECUTIONS)

    def each(read: Callable[[FlowMetrics], float]) -> Callable[[], dict[tuple[str, ...], float]]:
        return lambda: {(level, schema): read(flow) for (schema, level), flow in flows().items()}

    def nonzero(read: Callable[[FlowMetrics], float]) -> Callable[[], dict[tuple[str, ...], float]]:
        return lambda: {(level, schema): count for (schema, level), flow in flows().items() if (count := read(flow))}

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

    def executions() -> dict[tuple[str, ...], Histogram]:
        if execution_labels == _FLOW:
            return histograms(lambda flow: flow.execution)()
        return {
            (level, schema, kind): histogram
            for (schema, level), flow in flows().items()
            for kind, histogram in (("regular", flow.execution), ("watch", flow.watches))
            if histogram.count
        }

    later: tuple[Instrument, ...] = (
        ObservedGauge(f"{_PREFIX}current_inqueue_seats", "Seats that queued requests need, by priority level and flow schema.", each(lambda flow: flow.seats_waiting), _FLOW),
        ObservedDistribution(f"{_PREFIX}work_estimated_seats", "Estimated seats of a request, by priority level and flow schema.", WIDTHS, histograms(lambda flow: flow.widths), _FLOW),
        ObservedCounter(f"{_PREFIX}request_dispatch_no_accommodation_total", "Times that the next request to begin needed more "
            "seats than were free.", nonzero(lambda flow: flow.blocked), _FLOW),
    )  # fmt: skip
    return (
        *(later if release.includes(SEATS_SINCE) else ()),
        ObservedGauge(f"{_PREFIX}current_inqueue_requests", "Queued requests, by priority level and flow schema.", each(lambda flow: flow.waiting), _FLOW),
        ObservedGauge(f"{_PREFIX}current_executing_requests", "Executing requests, by priority level and flow schema.", each(lambda flow: flow.executing), _FLOW),
        ObservedGauge(f"{_PREFIX}request_concurrency_in_use", "Seats of executing requests, by priority level "
            "and flow schema.", each(lambda flow: flow.seats), _FLOW),
        ObservedCounter(f"{_PREFIX}dispatched_requests_total", "Requests dispatched for execution.", each(lambda flow: flow.dispatched), _FLOW),
        ObservedCounter(f"{_PREFIX}rejected_requests_total", "Requests rejected by priority and fairness, by reason.", rejected, (*_FLOW, "reason")),
        ObservedDistribution(f"{_PREFIX}request_wait_duration_seconds", "Queue wait of requests in seconds, by whether they were "
            "executed.", bounds, waits, (*_FLOW, "execute")),
        ObservedDistribution(f"{_PREFIX}request_execution_seconds", "Execution time of requests in "
            "seconds.", bounds, executions, execution_labels),
        ObservedDistribution(f"{_PREFIX}request_queue_length_after_enqueue", "Length of a queue after a request was added.", QUEUE_LENGTHS, histograms(lambda flow: flow.queue_lengths), _FLOW),
        ObservedDistribution(f"{_PREFIX}watch_count_samples", "Watches of the resource of each mutating "
            "request.", WATCHERS, histograms(lambda flow: flow.watchers), _FLOW),
    )  # fmt: skip


def level_instruments(levels: Levels, release: Release) -> tuple[Instrument, ...]:
    """The metrics per priority level: its limits, and where its queues are in virtual time."""

    def each(read: Callable[[PriorityLevel], float]) -> Callable[[], dict[tuple[str, ...], float]]:
        return lambda: {(name,): float(read(level)) for name, level in levels().items()}

    def latest() -> dict[tuple[str, ...], float]:
        return {(name,): level.seats.latest_start for name, level in levels().items() if not level.seats.exempt}

    def bounds(discount: float) -> Callable[[], dict[tuple[str, ...], float]]:
        """Least and greatest start of the next requests of the queues, less `discount` seconds for each running one."""

        def read() -> dict[tuple[str, ...], float]:
            values: dict[tuple[str, ...], float] = {}
            for name, level in levels().items():
                starts = [start - discount * running for start, running in level.seats.next_starts()]
                if starts:
                    values |= {(name, "min"): min(starts), (name, "max"): max(starts)}
            return values

        return read

    later = [ObservedGauge(f"{_PREFIX}{name}", help, each(read), _LEVEL) for name, help, read in _LATER_LEVELS]
    return (
        *(later if release.includes(SEATS_SINCE) else ()),
        ObservedGauge(
            f"{_PREFIX}request_concurrency_limit",
            "Concurrency limit of a priority level.",
            each(lambda level: level.bounds.nominal),
            _LEVEL,
        ),
        ObservedGauge(f"{_PREFIX}latest_s", "Virtual time at which the last request of a queue began.", latest, _LEVEL),
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


#: Name, help and value of gauges of a level since `SEATS_SINCE`.
_LATER_LEVELS: Final[tuple[tuple[str, str, Callable[[PriorityLevel], float]], ...]] = (
    ("lower_limit_seats", "Seats that the priority level does not lend.", lambda level: level.bounds.lower),
    ("upper_limit_seats", "Maximum of seats of the priority level, borrowed ones included.", lambda level: level.bounds.upper),
    ("current_limit_seats", "Seats that the priority level has now.", lambda level: level.seats.limit),
    ("target_seats", "Seats that were asked for when the seats were last divided.", lambda level: level.target),
    ("demand_seats_high_watermark", "Maximum of seats that could be used in the last period.", lambda level: level.seats.demand.peak),
    ("demand_seats_average", "Average of seats that could be used in the last period.", lambda level: level.seats.demand.average),
    ("demand_seats_stdev", "Standard deviation of the seats that could be used in the last period.", lambda level: level.seats.demand.deviation),
    ("demand_seats_smoothed", "Smoothed number of seats that could be used.", lambda level: level.seats.demand.smoothed),
)  # fmt: skip
