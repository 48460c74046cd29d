"""/metrics: metrics in the Prometheus text format, under the reference's names.

Components count in plain integers and floats; this module collects them at each scrape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints.exposition import pieces
from orchd.server.pipeline.endpoints.metric_selection import EVERYTHING, MetricSelection
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.histogram import Histogram, cumulative
from orchd.txkit.turns import TurnBudget

#: Collects metric families at a scrape.
Source = Callable[[], Iterable[Metric]]


def gauge(name: str, help: str, value: Callable[[], float]) -> Source:
    """A source of one gauge."""

    def families() -> Iterator[Metric]:
        family = GaugeMetricFamily(name, help)
        family.add_metric([], value())
        yield family

    return families


def counter(name: str, help: str, value: Callable[[], float]) -> Source:
    """A source of one counter; `name` without ``_total``."""

    def families() -> Iterator[Metric]:
        family = CounterMetricFamily(name, help)
        family.add_metric([], value())
        yield family

    return families


def build_info(dialect: Dialect, version: Mapping[str, str]) -> Source:
    """A gauge of 1 with the version as labels. `version` is the document of ``/version``."""
    labels = {
        "major": "major",
        "minor": "minor",
        "git_version": "gitVersion",
        "git_commit": "gitCommit",
        "git_tree_state": "gitTreeState",
        "build_date": "buildDate",
        "go_version": "goVersion",
        "compiler": "compiler",
        "platform": "platform",
    }

    def families() -> Iterator[Metric]:
        family = GaugeMetricFamily(dialect("{long}_build_info"), "1, with the version as labels.", labels=tuple(labels))
        family.add_metric([version[key] for key in labels.values()], 1.0)
        yield family

    return families


def by_label(name: str, help: str, label: str, values: Callable[[], dict[str, float]]) -> Source:
    """A source of one sample per label value."""

    def families() -> Iterator[Metric]:
        family = GaugeMetricFamily(name, help, labels=(label,))
        for key, value in values().items():
            family.add_metric([key], value)
        yield family

    return families


def histograms(
    name: str, help: str, bounds: tuple[float, ...], values: Callable[[], Mapping[str, Histogram]], label: str = ""
) -> Source:
    """A source of one histogram per label value, or of the one named "" without a label."""

    def families() -> Iterator[Metric]:
        family = HistogramMetricFamily(name, help, labels=(label,) if label else ())
        for key, histogram in values().items():
            family.add_metric([key] if label else [], cumulative(histogram, bounds), histogram.sum)
        yield family

    return families


class _Sources:
    """A collector over sources; sources may be added later."""

    def __init__(self, sources: Sequence[Source], selection: MetricSelection) -> None:
        self._sources = sources
        self._selection = selection

    def collect(self) -> Iterator[Metric]:
        for source in self._sources:
            for family in source():
                selected = self._selection.filter(family)
                if selected is not None:
                    yield selected


def endpoint(
    sources: Sequence[Source], turns: TurnBudget, selection: MetricSelection = EVERYTHING
) -> Callable[[Request], Any]:
    """The endpoint over all selected sources and the process's resource usage. Many samples are written in several `turns`."""
    registry = CollectorRegistry()
    registry.register(_Sources(sources, selection))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    PlatformCollector(registry=registry)

    async def answer(request: Request) -> Response:
        body: list[bytes] = []
        for piece in pieces(registry.collect()):
            if body:
                await turns.wait()
            body.append(piece)
        return Response(content_type="text/plain; version=0.0.4; charset=utf-8", headers=[NO_STORE], body=b"".join(body))

    return answer
