"""The metrics of requests under the reference's names, read from the series that the stage `RequestMetrics` keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from orchd.kinds.catalog import Catalog
from orchd.kinds.release import Release
from orchd.server.pipeline.stages.request_metrics import (
    BODY_BUCKETS,
    SECONDS,
    SIZE_BUCKETS,
    Labels,
    RequestMetrics,
    Series,
)
from orchd.txkit.metrics.histogram import Histogram
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedDistribution, ObservedGauge

_REQUEST: Final = ("verb", "group", "version", "resource", "subresource", "scope")
#: Value of the label "component".
_COMPONENT: Final = "apiserver"
#: Paths whose requests have no component.
_HEALTH: Final = frozenset(("/healthz", "/livez", "/readyz"))
#: Labels of requests of the server to itself, by the release that begins them; all of them, in the order of the counts.
_OWN: Final = (("", ("verb", "resource", "subresource")), ("1.34", ("verb", "group", "resource", "subresource")))
_ALL_OWN: Final = ("verb", "group", "resource", "subresource")
_BODIES_SINCE: Final = "1.28"

_Numbers = dict[tuple[str, ...], float]
_Histograms = dict[tuple[str, ...], Histogram]


def request_instruments(
    requests: RequestMetrics, catalog: Callable[[], Catalog], release: Release
) -> tuple[Instrument, ...]:
    """Counts, durations and sizes of requests. `catalog` is used to find deprecated APIs."""
    series = _SeriesView(requests.series, requests.bounds)
    later: tuple[Instrument, ...] = (
        ObservedDistribution(
            "apiserver_request_body_size_bytes",
            "Size of the bodies of requests in bytes, by resource and verb.",
            BODY_BUCKETS,
            lambda: requests.bodies,
            ("group", "resource", "verb"),
        ),
    )
    own_labels = release.choose(_OWN)
    labels = (*_REQUEST, "component")
    return (
        ObservedCounter(
            "apiserver_request_total",
            "Requests by verb, resource, scope and HTTP code.",
            series.codes,
            ("verb", "dry_run", *_REQUEST[1:], "component", "code"),
        ),
        ObservedDistribution(
            "apiserver_request_duration_seconds",
            "Request duration in seconds, by verb and resource.",
            requests.bounds,
            series.durations,
            (*labels, "dry_run"),
        ),
        ObservedDistribution(
            "apiserver_response_sizes",
            "Response size in bytes, by verb and resource.",
            SIZE_BUCKETS,
            series.sizes,
            labels,
        ),
        ObservedDistribution(
            "apiserver_request_slo_duration_seconds",
            "Request duration in seconds without the time of admission webhooks, by verb and resource.",
            SECONDS,
            series.durations_without_webhooks,
            labels,
        ),
        *(
            ObservedGauge(name, "Long-running requests under way.", series.running, labels)
            for name in ("apiserver_longrunning_requests", "apiserver_longrunning_gauge")
        ),
        ObservedCounter(
            "apiserver_request_terminations_total",
            "Requests that the server terminated to protect itself, by code.",
            series.terminations,
            (*labels, "code"),
        ),
        ObservedCounter(
            "apiserver_request_aborts_total",
            "Requests whose client disconnected before the response.",
            series.aborts,
            _REQUEST,
        ),
        ObservedGauge(
            "apiserver_requested_deprecated_apis",
            "1 for each deprecated API that has been requested, with the release that removes it.",
            lambda: _deprecated(requests.series, catalog()),
            ("group", "version", "resource", "subresource", "removed_release"),
        ),
        ObservedCounter(
            "apiserver_selfrequest_total",
            "Requests of the server to itself, by verb and resource.",
            lambda: _by_labels(requests.own, own_labels),
            own_labels,
        ),
        *(later if release.includes(_BODIES_SINCE) else ()),
    )


class _SeriesView:
    """The values of `series` by label values."""

    def __init__(self, series: Mapping[Labels, Series], bounds: Sequence[float]) -> None:
        self._series, self._bounds = series, bounds

    def codes(self) -> _Numbers:
        return {
            (labels.verb, labels.dry_run, *_label_values(labels)[1:], _component(labels), str(code)): float(count)
            for labels, each in self._series.items()
            for code, count in each.codes.items()
        }

    def durations(self) -> _Histograms:
        return {
            (*_label_values(labels), _component(labels), labels.dry_run): each.duration
            for labels, each in self._series.items()
            if each.duration.count
        }

    def sizes(self) -> _Histograms:
        return _merged(SIZE_BUCKETS, ((labels, (series.sizes,)) for labels, series in self._series.items()))

    def durations_without_webhooks(self) -> _Histograms:
        merged = _merged(
            self._bounds,
            (
                (labels, (series.duration, series.webhooks))
                for labels, series in self._series.items()
                if labels.verb != "WATCH"
            ),
        )
        # Bounds that only durations have are the first ones.
        more = len(self._bounds) - len(SECONDS)
        for histogram in merged.values():
            histogram.counts = [sum(histogram.counts[: more + 1]), *histogram.counts[more + 1 :]]
        return merged

    def running(self) -> _Numbers:
        return {(*key, _COMPONENT): count for key, count in self._sums(lambda each: each.running).items()}

    def aborts(self) -> _Numbers:
        return self._sums(lambda each: each.aborts)

    def terminations(self) -> _Numbers:
        sums: _Numbers = {}
        for labels, series in self._series.items():
            for code, count in series.terminations.items():
                key = (*_label_values(labels), _component(labels), str(code))
                sums[key] = sums.get(key, 0.0) + count
        return sums

    def _sums(self, value: Callable[[Series], float]) -> _Numbers:
        """A value by the labels `_REQUEST`, added up over dry runs; without zeros."""
        sums: _Numbers = {}
        for labels, series in self._series.items():
            if number := value(series):
                key = _label_values(labels)
                sums[key] = sums.get(key, 0.0) + number
        return sums


def _by_labels(own: Mapping[tuple[str, ...], float], labels: Sequence[str]) -> _Numbers:
    """Requests of the server to itself, added up over labels that the release does not have."""
    chosen = [_ALL_OWN.index(label) for label in labels]
    sums: _Numbers = {}
    for values, count in own.items():
        key = tuple(values[index] for index in chosen)
        sums[key] = sums.get(key, 0.0) + count
    return sums


def _merged(bounds: Sequence[float], rows: Iterable[tuple[Labels, Iterable[Histogram | None]]]) -> _Histograms:
    """Histograms by the labels `_REQUEST` and the component, added up over dry runs; without those that have no
    observations. The first of a row is the one that counts them."""
    merged: _Histograms = {}
    for labels, (first, *more) in rows:
        if first is None or not first.count:
            continue
        histogram = merged.setdefault((*_label_values(labels), _component(labels)), Histogram(bounds))
        for part in (first, *more):
            if part is not None:
                histogram.counts = [a + b for a, b in zip(histogram.counts, part.counts, strict=True)]
                histogram.sum += part.sum
    return merged


def _component(labels: Labels) -> str:
    """Value of the label "component"."""
    return "" if labels.subresource in _HEALTH else _COMPONENT


def _label_values(labels: Labels) -> tuple[str, ...]:
    """Values of the labels `_REQUEST`."""
    return labels.verb, labels.group, labels.version, labels.resource, labels.subresource, labels.scope


def _deprecated(series: Mapping[Labels, Series], catalog: Catalog) -> _Numbers:
    numbers: _Numbers = {}
    for labels in series:
        resource = catalog.resource(labels.group, labels.version, labels.resource) if labels.resource else None
        if resource is not None and resource.deprecation is not None:
            removed = resource.deprecation.removed.removeprefix("v")
            numbers[labels.group, labels.version, labels.resource, labels.subresource, removed] = 1.0
    return numbers
