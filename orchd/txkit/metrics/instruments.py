"""Metrics that count in plain numbers: a name, a help text, labels, and values by label values.

`Counter`, `Gauge` and `Distribution` keep their values, and callers change them. The `Observed...` instruments keep
none: they read the numbers of an object that counts for itself at each scrape. Metric families are built by `family`.
Names are complete, ``_total`` included. Without labels a metric has a value from the start; with labels, as soon as a
combination of label values was used.

The library of metric families is imported at the first scrape: most clients count requests and serve no metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from orchd.txkit.metrics.histogram import Histogram, cumulative

if TYPE_CHECKING:
    from prometheus_client.core import Metric

#: Numbers and their label values.
Values = Iterable[tuple[tuple[str, ...], float]]
#: Numbers by label values, or the one number of a metric without labels.
Numbers = Mapping[tuple[str, ...], float] | float


class Instrument(Protocol):
    """A metric that a scrape collects."""

    name: str

    def family(self) -> Metric:
        """The metric family with its current samples."""


class _Declaration:
    """Name, help and labels of a metric."""

    __slots__ = ("_help", "labels", "name")

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self.name, self._help, self.labels = name, help, tuple(labels)

    def _counter(self, values: Values) -> Metric:
        from orchd.txkit.metrics import families

        return families.counter(self.name, self._help, self.labels, values)

    def _gauge(self, values: Values) -> Metric:
        from orchd.txkit.metrics import families

        return families.gauge(self.name, self._help, self.labels, values)

    def _histograms(self, bounds: Sequence[float], values: Iterable[tuple[tuple[str, ...], Histogram]]) -> Metric:
        from orchd.txkit.metrics import families

        return families.histogram(
            self.name,
            self._help,
            self.labels,
            ((labels, cumulative(each, bounds), each.sum) for labels, each in values),
        )


class Counter(_Declaration):
    """A number that only grows."""

    __slots__ = ("values",)

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self.values: dict[tuple[str, ...], float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        self.values[labels] = self.values.get(labels, 0.0) + by

    def numbers(self) -> Values:
        return self.values.items()

    def family(self) -> Metric:
        return self._counter(self.numbers())


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

    def numbers(self) -> Values:
        return self.values.items()

    def family(self) -> Metric:
        return self._gauge(self.numbers())


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

    def series(self, *labels: str) -> Series:
        """For observations with the same label values."""
        return Series(self, labels)

    def totals(self) -> dict[tuple[str, ...], float]:
        """The number of observations, by label values: for an `ObservedCounter` beside the histograms."""
        return {labels: float(histogram.count) for labels, histogram in self.values.items()}

    def histograms(self) -> Iterable[tuple[tuple[str, ...], Histogram]]:
        return self.values.items()

    def family(self) -> Metric:
        return self._histograms(self.bounds, self.histograms())


class Series:
    """The observations of a distribution with label values that are known beforehand. As without it, there is no
    histogram before the first one, nor after a reset."""

    __slots__ = ("_distribution", "_labels")

    def __init__(self, distribution: Distribution, labels: tuple[str, ...]) -> None:
        self._distribution, self._labels = distribution, labels

    def observe(self, value: float) -> None:
        distribution = self._distribution
        histogram = distribution.values.get(self._labels)
        if histogram is None:
            distribution.observe(value, *self._labels)
        else:
            histogram.observe(distribution.bounds, value)


class Summary(_Declaration):
    """Number and sum of the observations of a `distribution`, with its labels."""

    __slots__ = ("_distribution",)

    def __init__(self, name: str, distribution: Distribution) -> None:
        super().__init__(name, distribution._help, distribution.labels)
        self._distribution = distribution

    def family(self) -> Metric:
        from orchd.txkit.metrics import families

        values = self._distribution.values.items()
        return families.summary(
            self.name, self._help, self.labels, ((labels, each.count, each.sum) for labels, each in values)
        )


class _Observed(_Declaration):
    __slots__ = ("_read",)

    def __init__(self, name: str, help: str, read: Callable[[], Numbers], labels: Sequence[str] = ()) -> None:
        """`read` returns the current number, or with `labels` numbers by their values."""
        super().__init__(name, help, labels)
        self._read = read

    def numbers(self) -> Values:
        """The current numbers."""
        numbers = self._read()
        return numbers.items() if isinstance(numbers, Mapping) else (((), numbers),)


class ObservedCounter(_Observed):
    """A counter whose number another object counts."""

    __slots__ = ()

    def family(self) -> Metric:
        return self._counter(self.numbers())


class ObservedGauge(_Observed):
    """A gauge whose number another object knows."""

    __slots__ = ()

    def family(self) -> Metric:
        return self._gauge(self.numbers())


class ObservedDistribution(_Declaration):
    """Histograms that another object keeps."""

    __slots__ = ("_read", "bounds")

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
        self.bounds, self._read = tuple(bounds), read

    def histograms(self) -> Iterable[tuple[tuple[str, ...], Histogram]]:
        """The current histograms by label values."""
        return self._read().items()

    def family(self) -> Metric:
        return self._histograms(self.bounds, self.histograms())


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


def reset(instruments: Iterable[Instrument]) -> None:
    """Forget the values of those instruments that keep values by labels. Others keep their numbers."""
    for instrument in instruments:
        if isinstance(instrument, Counter | Gauge | Distribution) and instrument.labels:
            instrument.values.clear()
