"""Histograms in the data model of Prometheus."""

from __future__ import annotations

from bisect import bisect_left


class Histogram:
    """Observation counts per bucket, and the sum of observations. Bucket bounds are passed to each call, to share them."""

    __slots__ = ("counts", "sum")

    def __init__(self, buckets: tuple[float, ...]) -> None:
        self.counts = [0] * (len(buckets) + 1)
        self.sum = 0.0

    def observe(self, buckets: tuple[float, ...], value: float) -> None:
        self.counts[bisect_left(buckets, value)] += 1
        self.sum += value
