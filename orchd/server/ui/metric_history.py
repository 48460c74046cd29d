"""The recent past of the metrics that the page plots: samples at fixed times, the last ones in memory.

A sample is one JSON text: ``{"at": MILLISECONDS, "plots": {PLOT: {SERIES: VALUE}}}``, of a few kilobytes at most. Its
time is a multiple of `INTERVAL` since the epoch, so that the samples of several processes of one server belong together
(`join`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import orjson
from twisted.internet.interfaces import IReactorTime

from orchd import errors
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.ui.plots import CPU, DURATIONS, EACH, JOINED, LATENCY, LONG, MAX, MEMORY, PLOTS, SUM, WHOLE, Plot
from orchd.txkit.memory import resident_memory
from orchd.txkit.metrics.histogram import bound_text
from orchd.txkit.metrics.instruments import Instrument

#: Path of the samples.
PATH: Final = "/debug/metrics"
#: Seconds between samples.
INTERVAL: Final = 5
#: Samples in memory: ten minutes.
_KEPT: Final = 120
#: Series of a plot in a sample, the largest ones: the page shows half as many.
_MOST_SERIES: Final = 12

_Series = dict[str, float]


class MetricHistory:
    """Samples of `instruments` between `start` and `stop`."""

    def __init__(
        self, instruments: Callable[[], Iterable[Instrument]], clock: IReactorTime, wall: Callable[[], float]
    ) -> None:
        self._instruments = instruments
        self._clock = clock
        self._wall = wall
        self._samples: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        #: Values of counters at the last sample, by row, and their time on the clock.
        self._counted: dict[Plot | str, _Series] = {}
        self._sampled = 0.0
        self._call: Any = None

    async def start(self) -> None:
        """Begin; the first sample is that of the first full interval."""
        self._read()
        self._wait()

    async def stop(self) -> None:
        """Take no more samples."""
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def since(self, after: int) -> list[bytes]:
        """The samples whose times, in milliseconds, are later than `after`, oldest first."""
        return [sample for at, sample in self._samples if at > after]

    async def respond(self, request: Request) -> Response:
        """The endpoint: the samples later than the parameter `after`. Raises ApiError 400, 405."""
        return document(self.since(after_of(request)))

    def _wait(self) -> None:
        self._call = self._clock.callLater(INTERVAL - self._wall() % INTERVAL, self._take)

    def _take(self) -> None:
        # The wall clock and the reactor's do not agree to the millisecond: a call may be early.
        at = int((self._wall() + INTERVAL / 10) // INTERVAL) * INTERVAL * 1000
        self._samples.append((at, orjson.dumps({"at": at, "plots": self._read()})))
        self._wait()

    def _read(self) -> dict[str, _Series]:
        """The values of all plots now, with rates since the last call."""
        now = self._clock.seconds()
        # The result of the first call is of no use, and its divisor of no meaning.
        seconds, self._sampled = (now - self._sampled) or 1.0, now
        instruments = {each.name: each for each in self._instruments()}
        plots: dict[str, _Series] = {}
        for row in PLOTS:
            values = _values(row, instruments.get(row.metric))
            if row.rate:
                values = {name: value / seconds for name, value in self._grown(row, values).items()}
            plots.setdefault(row.name, {}).update(values)
        plots[CPU] = {WHOLE: self._grown(CPU, {WHOLE: time.process_time()})[WHOLE] / seconds}
        plots[MEMORY] = _resident()
        largest = {name: _largest(values) for name, values in plots.items() if values}
        buckets = self._grown(LATENCY, _buckets(instruments.get(DURATIONS)))
        return {**largest, LATENCY: buckets} if any(buckets.values()) else largest

    def _grown(self, row: Plot | str, values: _Series) -> _Series:
        """The increase of counters since the last call."""
        before, self._counted[row] = self._counted.get(row, {}), values
        return {name: value - before.get(name, 0.0) for name, value in values.items()}


def after_of(request: Request) -> int:
    """The parameter `after`: milliseconds since the epoch, 0 if it is missing. Raises ApiError 400, 405."""
    if request.method not in ("GET", "HEAD"):
        raise errors.method_not_allowed()
    text = request.query.first("after") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise errors.bad_request("after: must be a time in milliseconds since the epoch")
    return int(text)


def document(samples: Sequence[bytes]) -> Response:
    """The response with `samples`."""
    body = b'{"interval":%d,"samples":[%s]}' % (INTERVAL, b",".join(samples))
    return Response(headers=[NO_STORE, ("X-Content-Type-Options", "nosniff")], body=body)


def join(processes: Mapping[str, Sequence[bytes]]) -> list[bytes]:
    """The samples of a server from those of its processes, by their names. Times that a process has not sampled yet are
    left out."""
    read = {name: [orjson.loads(each) for each in samples] for name, samples in processes.items() if samples}
    newest = min((samples[-1]["at"] for samples in read.values()), default=0)
    joined: dict[int, dict[str, _Series]] = {}
    for process, samples in read.items():
        for sample in samples:
            if sample["at"] <= newest:
                _add(joined.setdefault(sample["at"], {}), sample["plots"], process)
    return [orjson.dumps({"at": at, "plots": joined[at]}) for at in sorted(joined)]


def _add(plots: dict[str, _Series], more: Mapping[str, _Series], process: str) -> None:
    for plot, values in more.items():
        series = plots.setdefault(plot, {})
        how = JOINED.get(plot, SUM)
        for name, value in values.items():
            if how == EACH:
                series[process] = value
            else:
                old = series.get(name, 0.0)
                series[name] = max(old, value) if how == MAX else old + value


def _values(row: Plot, instrument: Any) -> _Series:
    """The values of a row by the names of series; none without the instrument."""
    if instrument is None:
        return {}
    if not row.label:
        return {row.series: sum(value for _, value in instrument.numbers())}
    place = instrument.labels.index(row.label)
    series: _Series = {}
    for labels, value in instrument.numbers():
        if row.only(labels[place]):
            name = row.prefix + labels[place]
            series[name] = series.get(name, 0.0) + value
    return series


def _buckets(instrument: Any) -> _Series:
    """The counts of a distribution by upper bound, over all labels but the verbs of long requests."""
    if instrument is None:
        return {}
    verb = instrument.labels.index("verb")
    bounds = [*map(bound_text, instrument.bounds), "+Inf"]
    totals = [0] * len(bounds)
    for labels, histogram in instrument.histograms():
        if labels[verb] not in LONG:
            totals = list(map(int.__add__, totals, histogram.counts))
    return {bound: float(total) for bound, total in zip(bounds, totals, strict=True)}


def _largest(values: _Series) -> _Series:
    """The largest series, in six significant digits."""
    names = sorted(values, key=lambda name: (-values[name], name))[:_MOST_SERIES]
    return {name: float(f"{values[name]:.6g}") for name in names}


def _resident() -> _Series:
    """The resident memory of this process in bytes; nothing where the system does not say it."""
    try:
        return {WHOLE: float(resident_memory())}
    except OSError:
        return {}
