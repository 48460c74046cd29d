"""/metrics: the instruments of a process in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric

from orchd.server.pipeline.endpoints.exposition import pieces
from orchd.server.pipeline.endpoints.metric_selection import EVERYTHING, MetricSelection
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter
from orchd.txkit.turns import TurnBudget

#: The media type of metrics, from a release on.
CONTENT_TYPES: Final = (
    ("", "text/plain; version=0.0.4; charset=utf-8"),
    ("1.34", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"),
)


#: The first release that counts metrics which are not served.
_COUNTED_SINCE: Final = "1.26"


class _Instruments:
    """A collector of the selected `instruments`, which are asked for at each scrape."""

    def __init__(self, instruments: Callable[[], Iterable[Instrument]], selection: MetricSelection) -> None:
        self._instruments = instruments
        self._selection = selection

    def collect(self) -> Iterator[Metric]:
        dropped = dict.fromkeys(("disabled", "hidden"), 0)
        for instrument in self._instruments():
            family = instrument.family()
            state = self._selection.state(family)
            if state in dropped:
                dropped[state] += 1
            selected = self._selection.filter(family)
            if selected is not None:
                yield selected
        if self._selection.release.includes(_COUNTED_SINCE):
            for state, number in dropped.items():
                yield ObservedCounter(
                    f"{state}_metrics_total", f"Metrics that are {state}.", partial(float, number)
                ).family()


def reset_response() -> Response:
    """The response to a request that reset metrics."""
    return Response(content_type="text/plain; charset=utf-8", headers=[NO_STORE], body=b"metrics reset\n")


def metrics_endpoint(
    instruments: Callable[[], Iterable[Instrument]],
    turns: TurnBudget,
    selection: MetricSelection = EVERYTHING,
    *,
    reset: Callable[[], None] | None = None,
) -> Callable[[Request], Any]:
    """The endpoint over all selected instruments and the process's resource usage. Many samples are written in several
    `turns`. DELETE calls `reset`, if given."""
    registry = CollectorRegistry()
    content_type = selection.release.choose(CONTENT_TYPES)
    registry.register(_Instruments(instruments, selection))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    PlatformCollector(registry=registry)

    async def respond(request: Request) -> Response:
        if reset is not None and request.method == "DELETE":
            reset()
            return reset_response()
        body: list[bytes] = []
        for piece in pieces(registry.collect()):
            if body:
                await turns.wait()
            body.append(piece)
        return Response(content_type=content_type, headers=[NO_STORE], body=b"".join(body))

    return respond
