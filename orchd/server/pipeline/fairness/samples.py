"""Samples of the load of priority levels, and their extremes between two samples.

A sample of a level is a fraction: executing requests of its seats, waiting requests of the places in its queues. The
numbers of read-only and of mutating requests of the whole server are sampled as absolute numbers.
"""

from __future__ import annotations

from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchd.server.pipeline.fairness.stage import Fairness, LimitedLevel
from orchd.server.pipeline.stages.limits import InFlightCount
from orchd.txkit.metrics.instruments import Distribution, Instrument

#: Seconds between samples.
_PERIOD: Final = 1.0
_PARTS: Final = tuple(n / 10 for n in range(11))
_NAME: Final = "apiserver_flowcontrol_"
_KINDS: Final = ((False, "readOnly"), (True, "mutating"))


class FairnessSamples:
    """Samples `fairness` and the requests `in_flight` between `start` and `stop`."""

    def __init__(self, fairness: Fairness, in_flight: InFlightCount, clock: IReactorTime) -> None:
        self._fairness, self._in_flight = fairness, in_flight
        self._sampling = LoopingCall(self._sample)
        self._sampling.clock = clock
        by_level, by_kind = ("phase", "priority_level"), ("phase", "request_kind")
        self._requests = _pair(
            "priority_level_request_count", "requests of a priority level, as a fraction of its limit", by_level
        )
        self._seats = _pair(
            "priority_level_seat_count", "occupied seats of a priority level, as a fraction of its seats", by_level
        )
        self._by_kind = _pair("read_vs_write_request_count", "requests, by mutating and read-only", by_kind)

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        """Metrics."""
        return *self._requests, *self._seats, *self._by_kind

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
            for phase, count in (
                ("executing", self._in_flight.executing[mutating]),
                ("waiting", self._in_flight.queued[mutating]),
            ):
                _observe(self._by_kind, count.current, count.read_watermarks(), 1.0, phase, kind)

    def _sample_level(self, name: str, level: LimitedLevel) -> None:
        seats = level.seats
        watermarks = seats.read_watermarks()
        places = max(1, seats.queuing.queues * seats.queuing.length) if seats.queuing is not None else 1
        _observe(self._requests, seats.running, watermarks.running, seats.limit, "executing", name)
        _observe(self._requests, seats.waiting, watermarks.waiting, places, "waiting", name)
        _observe(self._seats, seats.seats, watermarks.seats, seats.limit, "executing", name)


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
