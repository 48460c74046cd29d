"""/metrics: metrics in the Prometheus text format, under the reference's names.

Components count in plain integers and floats; this module collects them at each scrape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector

from orchd.server.pipeline.endpoints.metric_selection import EVERYTHING, MetricSelection
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.stages.limits import InFlightCount
from orchd.server.pipeline.stages.request_metrics import DURATION_BUCKETS, SIZE_BUCKETS, RequestMetrics
from orchd.server.pipeline.verbs.watch import WatchVerb
from orchd.txkit.histogram import Histogram

#: Collects metric families at a scrape.
Source = Callable[[], Iterable[Metric]]

_REQUEST = ("verb", "group", "version", "resource", "subresource", "scope")


def cumulative(histogram: Histogram, bounds: tuple[float, ...]) -> list[tuple[str, float]]:
    """Cumulative bucket counts."""
    out, total = [], 0
    for bound, count in zip((*bounds, float("inf")), histogram.counts, strict=True):
        total += count
        out.append(("+Inf" if bound == float("inf") else str(bound), float(total)))
    return out


def request_metrics(measuring: RequestMetrics, underway: InFlightCount, watching: WatchVerb) -> Source:
    """Metrics of the request pipeline."""

    def families() -> Iterator[Metric]:
        total = CounterMetricFamily(
            "apiserver_request",
            "Requests by verb, resource, scope and HTTP code.",
            labels=("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code"),
        )
        duration = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "Request duration in seconds, by verb and resource.", labels=(*_REQUEST, "component", "dry_run")
        )
        sizes = HistogramMetricFamily("apiserver_response_sizes", "Response size in bytes, by verb and resource.", labels=(*_REQUEST, "component"))
        for labels, series in measuring.series.items():
            named = [labels.verb, labels.group, labels.version, labels.resource, labels.subresource, labels.scope]
            for code, count in series.codes.items():
                total.add_metric(
                    [labels.verb, labels.dry_run, *named[1:], "apiserver", str(code)], float(count)
                )
            if any(series.duration.counts):
                buckets = cumulative(series.duration, DURATION_BUCKETS)
                duration.add_metric([*named, "apiserver", labels.dry_run], buckets, series.duration.sum)
                sizes.add_metric([*named, "apiserver"], cumulative(series.sizes, SIZE_BUCKETS), series.sizes.sum)
        yield total
        yield duration
        yield sizes
        current = GaugeMetricFamily(
            "apiserver_current_inflight_requests", "Maximum number of requests in flight since the last scrape.", labels=("request_kind",)
        )
        for half, kind in ((True, "mutating"), (False, "readOnly")):
            current.add_metric([kind], float(max(underway.peak[half], underway.current[half])))
            underway.peak[half] = underway.current[half]
        yield current
        dropped = CounterMetricFamily(
            "apiserver_dropped_requests", "Requests rejected because of the in-flight limits.", labels=("request_kind",)
        )
        for half, kind in ((True, "mutating"), (False, "readOnly")):
            dropped.add_metric([kind], float(underway.refused[half]))
        yield dropped
        watchers = GaugeMetricFamily(
            "apiserver_registered_watchers", "Watches under way.", labels=("group", "version", "kind")
        )
        for (group, version, kind), count in watching.by_kind().items():
            watchers.add_metric([group, version, kind], float(count))
        yield watchers
        cut = CounterMetricFamily("apiserver_terminated_watchers", "Watches cut because their client was too slow.")
        cut.add_metric([], float(watching.dropped))
        yield cut

    return families


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
                shown = self._selection.filter(family)
                if shown is not None:
                    yield shown


def endpoint(sources: Sequence[Source], selection: MetricSelection = EVERYTHING) -> Callable[[Request], Any]:
    """The endpoint over all selected sources and the process's resource usage."""
    registry = CollectorRegistry()
    registry.register(_Sources(sources, selection))
    ProcessCollector(registry=registry)

    async def answer(request: Request) -> Response:
        return Response(
            content_type="text/plain; version=0.0.4; charset=utf-8", headers=[NO_STORE], body=generate_latest(registry)
        )

    return answer
