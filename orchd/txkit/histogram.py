"""Numbers by size, as Prometheus wants to have them."""

from __future__ import annotations

from bisect import bisect_left


class Histogram:
    """Counts per bucket, their sum and number. The bounds are whoever's who keeps many with the same ones."""

    __slots__ = ("counts", "sum")

    def __init__(self, buckets: tuple[float, ...]) -> None:
        self.counts = [0] * (len(buckets) + 1)
        self.sum = 0.0

    def observe(self, buckets: tuple[float, ...], value: float) -> None:
        self.counts[bisect_left(buckets, value)] += 1
        self.sum += value
