"""Metrics that count in plain numbers: a name, a help text, labels, and values by label values.

Metric families are made when they are read. Names are complete, ``_total`` included. Without labels a metric has a value
from the start; with labels, as soon as a combination of label values was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.txkit.histogram import Histogram, cumulative

#: Type of counters whose name has no suffix.
UNSUFFIXED: Final = "unsuffixed counter"
_TOTAL: Final = "_total"


class UnsuffixedCounter(GaugeMetricFamily):
    """A counter whose name does not end in ``_total``, as some of the reference's do not. The client library appends
    ``_total`` to the names of its counters."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels=labels)
        self.type = UNSUFFIXED


class Counter:
    """A number that only grows."""

    __slots__ = ("_help", "_labels", "name", "values")

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self.name, self._help, self._labels = name, help, tuple(labels)
        self.values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        self.values[labels] = self.values.get(labels, 0.0) + by

    def family(self) -> Metric:
        made: CounterMetricFamily | UnsuffixedCounter
        if self.name.endswith(_TOTAL):
            made = CounterMetricFamily(self.name.removesuffix(_TOTAL), self._help, labels=self._labels)
        else:
            made = UnsuffixedCounter(self.name, self._help, labels=self._labels)
        for labels, value in self.values.items():
            made.add_metric(labels, value)
        return made


class Gauge:
    """A number that changes."""

    __slots__ = ("_help", "_labels", "name", "values")

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self.name, self._help, self._labels = name, help, tuple(labels)
        self.values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def set(self, value: float, *labels: str) -> None:
        self.values[labels] = value

    def add(self, value: float, *labels: str) -> None:
        """Add to the value. With labels, one that returns to zero is forgotten: labels may be names of objects."""
        left = self.values.get(labels, 0.0) + value
        if left or not labels:
            self.values[labels] = left
        else:
            self.values.pop(labels, None)

    def family(self) -> Metric:
        made = GaugeMetricFamily(self.name, self._help, labels=self._labels)
        for labels, value in self.values.items():
            made.add_metric(labels, value)
        return made


class Distribution:
    """Histograms by label values, with the same bounds."""

    __slots__ = ("_bounds", "_help", "_labels", "name", "values")

    def __init__(self, name: str, help: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name, self._help, self._labels = name, help, tuple(labels)
        self._bounds = tuple(bounds)
        self.values: dict[tuple[str, ...], Histogram] = {} if labels else {(): Histogram(self._bounds)}

    def observe(self, value: float, *labels: str) -> None:
        found = self.values.get(labels)
        if found is None:
            found = self.values[labels] = Histogram(self._bounds)
        found.observe(self._bounds, value)

    def family(self) -> Metric:
        made = HistogramMetricFamily(self.name, self._help, labels=self._labels)
        for labels, histogram in self.values.items():
            made.add_metric(labels, cumulative(histogram, self._bounds), histogram.sum)
        return made


Instrument = Counter | Gauge | Distribution


def families(*instruments: Instrument) -> Iterable[Metric]:
    """The families of `instruments`, in their order."""
    return [each.family() for each in instruments]
