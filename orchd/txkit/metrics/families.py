"""Metric families of the client library from plain numbers. `labels` are names, and each value has theirs beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

#: Type of counters whose name has no suffix.
UNSUFFIXED: Final = "unsuffixed counter"
_TOTAL: Final = "_total"

_Labels = tuple[str, ...]


class UnsuffixedCounter(GaugeMetricFamily):
    """A counter whose name does not end in ``_total``, as some of the reference's do not. The client library appends
    ``_total`` to the names of its counters."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels=labels)
        self.type = UNSUFFIXED


def counter(name: str, help: str, labels: _Labels, values: Iterable[tuple[_Labels, float]]) -> Metric:
    """A counter; `name` is complete."""
    if name.endswith(_TOTAL):
        return _with_values(CounterMetricFamily(name.removesuffix(_TOTAL), help, labels=labels), values)
    return _with_values(UnsuffixedCounter(name, help, labels=labels), values)


def gauge(name: str, help: str, labels: _Labels, values: Iterable[tuple[_Labels, float]]) -> Metric:
    """A gauge."""
    return _with_values(GaugeMetricFamily(name, help, labels=labels), values)


def histogram(
    name: str, help: str, labels: _Labels, values: Iterable[tuple[_Labels, list[tuple[str, float]], float]]
) -> Metric:
    """Histograms, each with its cumulative buckets and its sum."""
    family = HistogramMetricFamily(name, help, labels=labels)
    for names, buckets, total in values:
        family.add_metric(names, buckets, total)
    return family


def summary(name: str, help: str, labels: _Labels, values: Iterable[tuple[_Labels, int, float]]) -> Metric:
    """Numbers and sums of observations."""
    family = SummaryMetricFamily(name, help, labels=labels)
    for names, count, total in values:
        family.add_metric(names, count_value=count, sum_value=total)
    return family


def _with_values(family: CounterMetricFamily | GaugeMetricFamily, values: Iterable[tuple[_Labels, float]]) -> Metric:
    for names, value in values:
        family.add_metric(names, float(value))
    return family
