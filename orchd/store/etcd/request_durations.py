"""Durations of requests to etcd, by operation and type of object."""

from __future__ import annotations

from typing import Final

from orchd.txkit.metrics.instruments import Distribution

#: Bucket upper bounds in seconds.
_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 15.0, 30.0, 60.0)
#: Maximum number of series; requests for further types share one per operation.
_MOST_SERIES: Final = 2000


class RequestDurations:
    """Seconds of requests by operation and type of the object, which is the first part of its key ("" without a
    key)."""

    def __init__(self) -> None:
        self.seconds = Distribution(
            "etcd_request_duration_seconds",
            "Duration of requests to etcd in seconds, including failed ones, by operation and type of the object.",
            _BUCKETS,
            ("operation", "type"),
        )

    def observe(self, operation: str, key: str, seconds: float) -> None:
        """Count one request for the object or the objects of `key`."""
        labels = operation, key[1:].partition("/")[0]
        if labels not in self.seconds.values and len(self.seconds.values) >= _MOST_SERIES:
            labels = operation, ""
        self.seconds.observe(seconds, *labels)
