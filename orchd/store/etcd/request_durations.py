"""Durations of requests to etcd, by operation and type of object."""

from __future__ import annotations

from typing import Final

from orchd.txkit.histogram import Histogram

#: Bucket upper bounds in seconds: the reference's, with more at the fast end.
REQUEST_BUCKETS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0,
    8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
#: Maximum number of series; requests for further types share one per operation.
_MOST_SERIES: Final = 2000


class RequestDurations:
    """Histograms of seconds by operation and type of the object, which is the first part of its key ("" without a key)."""

    def __init__(self) -> None:
        self.by_request: dict[tuple[str, str], Histogram] = {}

    def observe(self, operation: str, key: str, seconds: float) -> None:
        """Count one request for the object or the objects of `key`."""
        labels = operation, key[1:].partition("/")[0]
        histogram = self.by_request.get(labels)
        if histogram is None:
            if len(self.by_request) >= _MOST_SERIES:
                labels = operation, ""
            histogram = self.by_request.setdefault(labels, Histogram(REQUEST_BUCKETS))
        histogram.observe(REQUEST_BUCKETS, seconds)
