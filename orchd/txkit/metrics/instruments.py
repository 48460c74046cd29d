"""Metrics that count in plain numbers: a name, a help text, labels, and values by label values.

`Counter`, `Gauge` and `Distribution` keep their values, and callers change them. The `Observed...` instruments keep none: they
read the numbers of an object that counts for itself at each scrape. Metric families are built by `family`. Names are
complete, ``_total`` included. Without labels a metric has a value from the start; with labels, as soon as a combination of
label values was used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from orchd.txkit.metrics.histogram import Histogram, cumulative

#: Type of counters whose name has no suffix.
UNSUFFIXED: Final = "unsuffixed counter"
_TOTAL: Final = "_total"

#: Numbers by label values, or the one number of a metric without labels.
Numbers = Mapping[tuple[str, ...], float] | float


class Instrument(Protocol):
    """What a scrape collects."""

    name: str

    def family(self) -> Metric:
        """The metric family with its current samples."""


class UnsuffixedCounter(GaugeMetricFamily):
    """A counter whose name does not end in ``_total``, as some of the reference's do not. The client library appends
    ``_total`` to the names of its counters."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels=labels)
        self.type = UNSUFFIXED


class _Declaration:
    """Name, help and labels of a metric."""

    __slots__ = ("_help", "_labels", "name")

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self.name, self._help, self._labels = name, help, tuple(labels)

    def _counter(self, values: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
        family: CounterMetricFamily | UnsuffixedCounter
        if self.name.endswith(_TOTAL):
            family = CounterMetricFamily(self.name.removesuffix(_TOTAL), self._help, labels=self._labels)
        else:
            family = UnsuffixedCounter(self.name, self._help, labels=self._labels)
        return _with_values(family, values)

    def _gauge(self, values: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
        return _with_values(GaugeMetricFamily(self.name, self._help, labels=self._labels), values)

    def _histograms(self, bounds: Sequence[float], values: Iterable[tuple[tuple[str, ...], Histogram]]) -> Metric:
        family = HistogramMetricFamily(self.name, self._help, labels=self._labels)
        for labels, histogram in values:
            family.add_metric(labels, cumulative(histogram, bounds), histogram.sum)
        return family


def _with_values(
    family: CounterMetricFamily | GaugeMetricFamily, values: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    for labels, value in values:
        family.add_metric(labels, float(value))
    return family


class Counter(_Declaration):
    """A number that only grows."""

    __slots__ = ("values",)

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self.values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        self.values[labels] = self.values.get(labels, 0.0) + by

    def family(self) -> Metric:
        return self._counter(self.values.items())


class Gauge(_Declaration):
    """A number that changes."""

    __slots__ = ("values",)

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
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
        return self._gauge(self.values.items())


class Distribution(_Declaration):
    """Histograms by label values, with the same bounds. Above `most` combinations of label values, further ones are not
    recorded; None sets no maximum."""

    __slots__ = ("_most", "bounds", "values")

    def __init__(
        self, name: str, help: str, bounds: Sequence[float], labels: Sequence[str] = (), most: int | None = None
    ) -> None:
        super().__init__(name, help, labels)
        self.bounds, self._most = tuple(bounds), most
        self.values: dict[tuple[str, ...], Histogram] = {} if labels else {(): Histogram(self.bounds)}

    def observe(self, value: float, *labels: str) -> None:
        histogram = self.values.get(labels)
        if histogram is None:
            if self._most is not None and len(self.values) >= self._most:
                return
            histogram = self.values[labels] = Histogram(self.bounds)
        histogram.observe(self.bounds, value)

    def totals(self) -> dict[tuple[str, ...], float]:
        """The number of observations, by label values: for an `ObservedCounter` beside the histograms."""
        return {labels: float(histogram.count) for labels, histogram in self.values.items()}

    def family(self) -> Metric:
        return self._histograms(self.bounds, self.values.items())


class Summary(_Declaration):
    """Number and sum of the observations of a `distribution`, with its labels."""

    __slots__ = ("_distribution",)

    def __init__(self, name: str, distribution: Distribution) -> None:
        super().__init__(name, distribution._help, distribution._labels)
        self._distribution = distribution

    def family(self) -> Metric:
        family = SummaryMetricFamily(self.name, self._help, labels=self._labels)
        for labels, histogram in self._distribution.values.items():
            family.add_metric(labels, count_value=histogram.count, sum_value=histogram.sum)
        return family


class _Observed(_Declaration):
    __slots__ = ("_read",)

    def __init__(self, name: str, help: str, read: Callable[[], Numbers], labels: Sequence[str] = ()) -> None:
        """`read` returns the current number, or with `labels` numbers by their values."""
        super().__init__(name, help, labels)
        self._read = read

    def _numbers(self) -> Iterable[tuple[tuple[str, ...], float]]:
        numbers = self._read()
        return numbers.items() if isinstance(numbers, Mapping) else (((), numbers),)


class ObservedCounter(_Observed):
    """A counter whose number another object counts."""

    __slots__ = ()

    def family(self) -> Metric:
        return self._counter(self._numbers())


class ObservedGauge(_Observed):
    """A gauge whose number another object knows."""

    __slots__ = ()

    def family(self) -> Metric:
        return self._gauge(self._numbers())


class ObservedDistribution(_Declaration):
    """Histograms that another object keeps."""

    __slots__ = ("_bounds", "_read")

    def __init__(
        self,
        name: str,
        help: str,
        bounds: Sequence[float],
        read: Callable[[], Mapping[tuple[str, ...], Histogram]],
        labels: Sequence[str] = (),
    ) -> None:
        """`read` returns the current histograms by label values, under () without labels."""
        super().__init__(name, help, labels)
        self._bounds, self._read = tuple(bounds), read

    def family(self) -> Metric:
        return self._histograms(self._bounds, self._read().items())


class Info(_Declaration):
    """1, with facts as labels. `values` are by label; the name ends in ``_info``."""

    __slots__ = ("_values",)

    def __init__(self, name: str, help: str, values: Mapping[str, str]) -> None:
        super().__init__(name, help, tuple(values))
        self._values = tuple(values.values())

    def family(self) -> Metric:
        return self._gauge([(self._values, 1.0)])


def instruments_of(owners: Iterable[object]) -> Iterator[Instrument]:
    """The instruments of objects that have the attribute `instruments`; others are passed over."""
    for owner in owners:
        yield from getattr(owner, "instruments", ())
