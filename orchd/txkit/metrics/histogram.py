"""Histograms in the data model of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache

#: Bounds from this power of ten on are written with an exponent.
_EXPONENT = 6


class Histogram:
    """Observation counts per bucket, and the sum of observations. Bucket bounds are passed to each call, to share
    them."""

    __slots__ = ("counts", "sum")

    def __init__(self, buckets: Sequence[float]) -> None:
        self.counts = [0] * (len(buckets) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        """The number of observations."""
        return sum(self.counts)

    def observe(self, buckets: Sequence[float], value: float) -> None:
        self.counts[bisect_left(buckets, value)] += 1
        self.sum += value


def exponential(first: float, factor: float, count: int) -> tuple[float, ...]:
    """Bucket bounds: each the one before it times `factor`, rounded as the reference's are."""
    bounds = [first]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


def cumulative(histogram: Histogram, bounds: Sequence[float]) -> list[tuple[str, float]]:
    """Cumulative bucket counts, by the text of the label ``le``."""
    out, total = [], 0
    for bound, count in zip(bounds, histogram.counts, strict=False):
        total += count
        out.append((bound_text(bound), float(total)))
    out.append(("+Inf", float(total + histogram.counts[-1])))
    return out


@cache
def bound_text(bound: float) -> str:
    """The label ``le`` of a bucket, as the reference writes it: 1 and 1e+06, not 1.0 and 1000000.0."""
    # Short commands have metrics that nothing reads.
    from decimal import Decimal

    number = Decimal(repr(float(bound))).normalize()
    exponent = number.adjusted()
    if number == 0 or -4 <= exponent < _EXPONENT:
        return f"{number:f}"
    digits = "".join(map(str, number.as_tuple().digits))
    return f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
