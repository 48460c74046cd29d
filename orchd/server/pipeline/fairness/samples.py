"""Samples of the load of priority levels, once a second.

A sample of a level is a fraction: executing requests of its seats, waiting requests of the places in its queues.
"""

from __future__ import annotations

from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchd.server.pipeline.fairness.levels import PriorityLevel
from orchd.server.pipeline.fairness.metrics import SEATS_SINCE
from orchd.server.pipeline.fairness.stage import Fairness
from orchd.server.pipeline.stages.limits import InFlightCount, PeakCount
from orchd.txkit.metrics.instruments import Distribution, Instrument

#: Seconds between samples.
_PERIOD: Final = 1.0
_PARTS: Final = tuple(n / 10 for n in range(11))
#: Upper bounds of buckets of fractions, as in the reference.
_REQUEST_PARTS: Final = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1)
_SEAT_PARTS: Final = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
_KIND_PARTS: Final = (0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
_DEMANDS: Final = (0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6)
_NAME: Final = "apiserver_flowcontrol_"
_KINDS: Final = ((False, "readOnly"), (True, "mutating"))


class FairnessSamples:
    """Samples `fairness` and the requests `in_flight` between `start` and `stop`. What is sampled, the subclasses
    say."""

    instruments: tuple[Instrument, ...]

    def __init__(self, fairness: Fairness, in_flight: InFlightCount, clock: IReactorTime) -> None:
        self._fairness, self._in_flight = fairness, in_flight
        self._sampling = LoopingCall(self._sample)
        self._sampling.clock = clock

    async def start(self) -> None:
        """Sample once per `_PERIOD` from now on."""
        self._sampling.start(_PERIOD, now=False)

    async def stop(self) -> None:
        """Stop sampling."""
        if self._sampling.running:
            self._sampling.stop()

    def _sample(self) -> None:
        for name, level in self._fairness.levels.items():
            self._sample_level(name, level)
        for mutating, kind in _KINDS:
            self._sample_kind(kind, self._in_flight.executing[mutating], self._in_flight.queued[mutating])

    def _sample_level(self, name: str, level: PriorityLevel) -> None:
        raise NotImplementedError

    def _sample_kind(self, kind: str, executing: PeakCount, waiting: PeakCount) -> None:
        raise NotImplementedError


class WatermarkSamples(FairnessSamples):
    """Samples, and the extremes between them, of levels as fractions of their limits, of kinds as absolute numbers."""

    def __init__(self, fairness: Fairness, in_flight: InFlightCount, clock: IReactorTime) -> None:
        super().__init__(fairness, in_flight, clock)
        by_level, by_kind = ("phase", "priority_level"), ("phase", "request_kind")
        self._requests = _pair(
            "priority_level_request_count", "requests of a priority level, as a fraction of its limit", by_level
        )
        self._seats = _pair(
            "priority_level_seat_count", "occupied seats of a priority level, as a fraction of its seats", by_level
        )
        self._by_kind = _pair("read_vs_write_request_count", "requests, by mutating and read-only", by_kind)
        self.instruments = *self._requests, *self._seats, *self._by_kind

    def _sample_level(self, name: str, level: PriorityLevel) -> None:
        seats = level.seats
        watermarks = seats.read_watermarks()
        places = max(1, seats.places)
        _observe(self._requests, seats.running, watermarks.running, seats.limit, "executing", name)
        _observe(self._requests, seats.waiting, watermarks.waiting, places, "waiting", name)
        _observe(self._seats, seats.seats, watermarks.seats, seats.limit, "executing", name)

    def _sample_kind(self, kind: str, executing: PeakCount, waiting: PeakCount) -> None:
        for phase, count in (("executing", executing), ("waiting", waiting)):
            _observe(self._by_kind, count.current, count.read_watermarks(), 1.0, phase, kind)


class UtilizationSamples(FairnessSamples):
    """Samples of levels and of kinds as fractions of their limits."""

    def __init__(self, fairness: Fairness, in_flight: InFlightCount, clock: IReactorTime) -> None:
        super().__init__(fairness, in_flight, clock)
        text = "Samples, one a second, of the "
        self._requests = Distribution(
            f"{_NAME}priority_level_request_utilization",
            f"{text}requests of a priority level, as a fraction of its limit.",
            _REQUEST_PARTS,
            ("phase", "priority_level"),
        )
        self._seats = Distribution(
            f"{_NAME}priority_level_seat_utilization",
            f"{text}occupied seats of a priority level, as a fraction of its seats.",
            _SEAT_PARTS,
            ("phase", "priority_level"),
        )
        self._demand = Distribution(
            f"{_NAME}demand_seats",
            f"{text}seats that a priority level could use, as a fraction of its seats.",
            _DEMANDS,
            ("priority_level",),
        )
        self._by_kind = Distribution(
            f"{_NAME}read_vs_write_current_requests",
            f"{text}requests, by mutating and read-only, as a fraction of the limit.",
            _KIND_PARTS,
            ("phase", "request_kind"),
        )
        self.instruments = self._requests, self._seats, self._demand, self._by_kind

    def _sample_level(self, name: str, level: PriorityLevel) -> None:
        seats = level.seats
        limit = seats.limit or max(1, round(self._fairness.capacity.seats / 10))
        self._requests.observe(seats.running / limit, "executing", name)
        self._requests.observe(seats.waiting / max(1, seats.places), "waiting", name)
        self._seats.observe(seats.seats / limit, "executing", name)
        self._demand.observe(seats.demand.value / limit, name)

    def _sample_kind(self, kind: str, executing: PeakCount, waiting: PeakCount) -> None:
        levels = self._fairness.levels.values()
        places = sum(level.seats.places for level in levels)
        self._by_kind.observe(executing.current / sum(level.bounds.nominal for level in levels), "executing", kind)
        self._by_kind.observe(waiting.current / max(1, places), "waiting", kind)


#: The samples by the release that begins them.
SAMPLES: Final[tuple[tuple[str, type[FairnessSamples]], ...]] = (
    ("", WatermarkSamples),
    (SEATS_SINCE, UtilizationSamples),
)


def _pair(name: str, what: str, labels: tuple[str, ...]) -> tuple[Distribution, Distribution]:
    """The metric of samples, and that of the extremes between them."""
    return (
        Distribution(f"{_NAME}{name}_samples", f"Samples, one a second, of the number of {what}.", _PARTS, labels),
        Distribution(
            f"{_NAME}{name}_watermarks",
            f"Highest and lowest number, each second, of {what}.",
            _PARTS,
            ("mark", *labels),
        ),
    )


def _observe(
    pair: tuple[Distribution, Distribution], now: int, watermarks: tuple[int, int], whole: float, phase: str, name: str
) -> None:
    samples, extremes = pair
    samples.observe(now / whole, phase, name)
    for mark, value in zip(("high", "low"), watermarks, strict=True):
        extremes.observe(value / whole, mark, phase, name)
