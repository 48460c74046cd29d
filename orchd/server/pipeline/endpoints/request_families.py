"""Metrics of the request pipeline, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.kinds.catalog import Catalog
from orchd.server.pipeline.endpoints.metrics import Source
from orchd.server.pipeline.stages.deadline import Deadline
from orchd.server.pipeline.stages.limits import InFlightCount
from orchd.server.pipeline.stages.request_metrics import DURATION_BUCKETS, SIZE_BUCKETS, Labels, RequestMetrics
from orchd.server.pipeline.verbs.watch.stream import EVENT_SIZES
from orchd.server.pipeline.verbs.watch.verb import WatchVerb
from orchd.txkit.histogram import Histogram, cumulative

_REQUEST = ("verb", "group", "version", "resource", "subresource", "scope")
#: Value of the label "component".
_COMPONENT = "apiserver"
_KINDS = ((True, "mutating"), (False, "readOnly"))


def request_metrics(requests: RequestMetrics, catalog: Callable[[], Catalog], deadline: Deadline) -> Source:
    """Counts, durations and sizes of requests. `catalog` is used to find deprecated APIs."""

    def families() -> Iterator[Metric]:
        yield from _completed_families(requests)
        yield from _long_running(requests)
        yield from _ended_early(requests)
        yield _deprecated_family(requests, catalog())
        own = CounterMetricFamily(
            "apiserver_selfrequest", "Requests of the server to itself, by verb and resource.", labels=("verb", "resource", "subresource")
        )
        for key, count in requests.own.items():
            own.add_metric(key, float(count))
        yield own
        late = CounterMetricFamily(
            "apiserver_request_post_timeout",
            "Requests whose handler ended after the response to their timeout, by result.",
            labels=("source", "status"),
        )
        for status, count in deadline.after_timeout.items():
            late.add_metric(["timeout-handler", status], float(count))
        yield late

    return families


def _completed_families(requests: RequestMetrics) -> Iterator[Metric]:
    total = CounterMetricFamily(
        "apiserver_request",
        "Requests by verb, resource, scope and HTTP code.",
        labels=("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code"),
    )
    duration = HistogramMetricFamily(
        "apiserver_request_duration_seconds",
        "Request duration in seconds, by verb and resource.",
        labels=(*_REQUEST, "component", "dry_run"),
    )
    sizes = HistogramMetricFamily(
        "apiserver_response_sizes", "Response size in bytes, by verb and resource.", labels=(*_REQUEST, "component")
    )
    for labels, series in requests.series.items():
        named = _label_values(labels)
        for code, count in series.codes.items():
            total.add_metric([labels.verb, labels.dry_run, *named[1:], _COMPONENT, str(code)], float(count))
        if any(series.duration.counts):
            duration.add_metric([*named, _COMPONENT, labels.dry_run], cumulative(series.duration, DURATION_BUCKETS), series.duration.sum)
        if any(series.sizes.counts):
            sizes.add_metric([*named, _COMPONENT], cumulative(series.sizes, SIZE_BUCKETS), series.sizes.sum)
    yield total
    yield duration
    yield sizes
    yield _without_webhooks(requests)


def _without_webhooks(requests: RequestMetrics) -> Metric:
    merged: dict[tuple[str, ...], Histogram] = {}
    for labels, series in requests.series.items():
        if any(series.duration.counts):
            histogram = merged.setdefault(tuple(_label_values(labels)), Histogram(DURATION_BUCKETS))
            for part in (series.duration, series.webhooks):
                if part is not None:
                    histogram.counts = [a + b for a, b in zip(histogram.counts, part.counts, strict=True)]
                    histogram.sum += part.sum
    family = HistogramMetricFamily(
        "apiserver_request_slo_duration_seconds",
        "Request duration in seconds without the time of admission webhooks, by verb and resource.",
        labels=(*_REQUEST, "component"),
    )
    for key, histogram in merged.items():
        family.add_metric([*key, _COMPONENT], cumulative(histogram, DURATION_BUCKETS), histogram.sum)
    return family


def _label_values(labels: Labels) -> list[str]:
    """Values of the labels `_REQUEST`."""
    return [labels.verb, labels.group, labels.version, labels.resource, labels.subresource, labels.scope]


def _by_request(requests: RequestMetrics, value: Callable[[Labels], float]) -> dict[tuple[str, ...], float]:
    """A value by the labels `_REQUEST`, added up over dry runs; without zeros."""
    sums: dict[tuple[str, ...], float] = {}
    for labels in requests.series:
        if number := value(labels):
            key = tuple(_label_values(labels))
            sums[key] = sums.get(key, 0.0) + number
    return sums


def _long_running(requests: RequestMetrics) -> Iterator[Metric]:
    running = _by_request(requests, lambda labels: float(requests.series[labels].running))
    for name in ("apiserver_longrunning_requests", "apiserver_longrunning_gauge"):
        family = GaugeMetricFamily(name, "Long-running requests under way.", labels=(*_REQUEST, "component"))
        for key, count in running.items():
            family.add_metric([*key, _COMPONENT], count)
        yield family


def _ended_early(requests: RequestMetrics) -> Iterator[Metric]:
    terminations = CounterMetricFamily(
        "apiserver_request_terminations",
        "Requests that the server terminated to protect itself, by code.",
        labels=(*_REQUEST, "component", "code"),
    )
    for labels, series in requests.series.items():
        for code, count in series.terminations.items():
            terminations.add_metric([*_label_values(labels), _COMPONENT, str(code)], float(count))
    yield terminations
    aborts = CounterMetricFamily(
        "apiserver_request_aborts", "Requests whose client disconnected before the response.", labels=_REQUEST
    )
    for key, aborted in _by_request(requests, lambda labels: float(requests.series[labels].aborts)).items():
        aborts.add_metric(key, aborted)
    yield aborts


def _deprecated_family(requests: RequestMetrics, catalog: Catalog) -> Metric:
    family = GaugeMetricFamily(
        "apiserver_requested_deprecated_apis",
        "1 for each deprecated API that has been requested, with the release that removes it.",
        labels=("group", "version", "resource", "subresource", "removed_release"),
    )
    for group, version, plural, subresource in {
        (labels.group, labels.version, labels.resource, labels.subresource) for labels in requests.series
    }:
        resource = catalog.resource(group, version, plural) if plural else None
        if resource is not None and resource.deprecation is not None:
            removed = resource.deprecation.removed.removeprefix("v")
            family.add_metric([group, version, plural, subresource, removed], 1.0)
    return family


def limit_metrics(in_flight: InFlightCount) -> Source:
    """Requests in flight and rejected by the limits."""

    def families() -> Iterator[Metric]:
        current = GaugeMetricFamily(
            "apiserver_current_inflight_requests",
            "Maximum number of requests in flight since the last scrape.",
            labels=("request_kind",),
        )
        queued = GaugeMetricFamily(
            "apiserver_current_inqueue_requests",
            "Maximum number of requests that waited in queues since the last scrape.",
            labels=("request_kind",),
        )
        dropped = CounterMetricFamily(
            "apiserver_dropped_requests", "Requests rejected because of the in-flight limits.", labels=("request_kind",)
        )
        for half, kind in _KINDS:
            current.add_metric([kind], float(in_flight.executing[half].read_peak()))
            queued.add_metric([kind], float(in_flight.queued[half].read_peak()))
            dropped.add_metric([kind], float(in_flight.refused[half]))
        yield current
        yield queued
        yield dropped

    return families


def watch_metrics(watching: WatchVerb) -> Source:
    """Running watches, and watches of clients that were too slow."""

    def families() -> Iterator[Metric]:
        watchers = GaugeMetricFamily("apiserver_registered_watchers", "Active watches.", labels=("group", "version", "kind"))
        for (group, version, kind), count in watching.by_kind().items():
            watchers.add_metric([group, version, kind], float(count))
        yield watchers
        cut = CounterMetricFamily(
            "apiserver_terminated_watchers", "Watches terminated because their client was too slow.", labels=("resource",)
        )
        for plural, count in watching.dropped.items():
            cut.add_metric([plural], float(count))
        yield cut
        initial = CounterMetricFamily(
            "apiserver_init_events", "Initial events of watches: the current state, or past changes.", labels=("resource",)
        )
        for plural, count in watching.initial.items():
            initial.add_metric([plural], float(count))
        yield initial
        events = CounterMetricFamily("apiserver_watch_events", "Events sent to watches, by kind.", labels=("group", "version", "kind"))
        sizes = HistogramMetricFamily(
            "apiserver_watch_events_sizes", "Size of the events sent to watches in bytes, by kind.", labels=("group", "version", "kind")
        )
        for key, histogram in watching.events.items():
            if total := sum(histogram.counts):
                events.add_metric(key, float(total))
                sizes.add_metric(key, cumulative(histogram, EVENT_SIZES), histogram.sum)
        yield events
        yield sizes

    return families
