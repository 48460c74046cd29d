"""Samples of how full the priority levels are, and their extremes between two samples.

Samples are parts of what is possible: of a level's seats for executing requests, of all its queues for waiting ones. The numbers
of reading and of mutating requests are samples of their own.
"""

from __future__ import annotations

from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchd.server.pipeline.fairness.stage import Fairness, LimitedLevel
from orchd.server.pipeline.stages.limits import InFlightCount
from orchd.txkit.instruments import Distribution, Instrument

#: Seconds between samples.
_PERIOD: Final = 1.0
_PARTS: Final = tuple(n / 10 for n in range(11))
_NAME: Final = "apiserver_flowcontrol_"
_KINDS: Final = ((False, "readOnly"), (True, "mutating"))


class FairnessSamples:
    """Samples `fairness` and the requests `underway` between `start` and `stop`."""

    def __init__(self, fairness: Fairness, underway: InFlightCount, clock: IReactorTime) -> None:
        self._fairness, self._underway = fairness, underway
        self._sampling = LoopingCall(self._sample)
        self._sampling.clock = clock
        by_level, by_kind = ("phase", "priority_level"), ("phase", "request_kind")
        self._requests = _pair("priority_level_request_count", "requests of a priority level, as a part of its limit", by_level)
        self._seats = _pair("priority_level_seat_count", "occupied seats of a priority level, as a part of its seats", by_level)
        self._halves = _pair("read_vs_write_request_count", "requests, by whether they change something", by_kind)

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        """Metrics."""
        return *self._requests, *self._seats, *self._halves

    async def start(self) -> None:
        """Begin to sample."""
        self._sampling.start(_PERIOD, now=False)

    async def stop(self) -> None:
        """End it."""
        if self._sampling.running:
            self._sampling.stop()

    def _sample(self) -> None:
        for name, level in self._fairness.levels.items():
            self._sample_level(name, level)
        for half, kind in _KINDS:
            for phase, count in (("executing", self._underway.executing[half]), ("waiting", self._underway.queued[half])):
                _observe(self._halves, count.current, count.read_marks(), 1.0, phase, kind)

    def _sample_level(self, name: str, level: LimitedLevel) -> None:
        seats = level.seats
        marks = seats.read_marks()
        places = max(1, seats.queuing.queues * seats.queuing.length) if seats.queuing is not None else 1
        _observe(self._requests, seats.running, marks.running, seats.limit, "executing", name)
        _observe(self._requests, seats.waiting, marks.waiting, places, "waiting", name)
        _observe(self._seats, seats.seats, marks.seats, seats.limit, "executing", name)


def _pair(name: str, what: str, labels: tuple[str, ...]) -> tuple[Distribution, Distribution]:
    """The metric of samples, and that of the extremes between them."""
    return (
        Distribution(f"{_NAME}{name}_samples", f"Samples, one a second, of the number of {what}.", _PARTS, labels),
        Distribution(
            f"{_NAME}{name}_watermarks", f"Highest and lowest number, each second, of {what}.", _PARTS, ("mark", *labels)
        ),
    )


def _observe(
    pair: tuple[Distribution, Distribution], now: int, marks: tuple[int, int], whole: float, phase: str, name: str
) -> None:
    samples, extremes = pair
    samples.observe(now / whole, phase, name)
    for mark, value in zip(("high", "low"), marks, strict=True):
        extremes.observe(value / whole, mark, phase, name)
