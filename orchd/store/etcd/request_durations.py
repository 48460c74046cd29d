"""Requests to etcd: their number and durations, by operation and type of object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from orchd.txkit.metrics.instruments import Counter, Distribution, Instrument, ObservedCounter

#: Maximum number of series; requests for further types share one per operation.
_MOST_SERIES: Final = 2000
#: Bucket upper bounds in seconds of releases that count requests by group and resource.
LATER_BOUNDS: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
)  # fmt: skip


def _first_part(key: str) -> tuple[str, ...]:
    return (key[1:].partition("/")[0],)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLabels:
    """How requests are named: the `labels` of the type of an object, its values of a key ("" without one), and the
    upper `bounds` of buckets in seconds. `counted`: there are metrics of their numbers as well."""

    labels: tuple[str, ...] = ("type",)
    of: Callable[[str], tuple[str, ...]] = _first_part
    bounds: tuple[float, ...] = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 15.0, 30.0, 60.0)
    counted: bool = False


#: The type of an object is the first part of its key.
BY_FIRST_PART: Final = RequestLabels()


class RequestDurations:
    """Requests by operation and type of the object."""

    def __init__(self, named: RequestLabels = BY_FIRST_PART) -> None:
        self._named = named
        labels = ("operation", *named.labels)
        self.seconds = Distribution(
            "etcd_request_duration_seconds",
            "Duration of requests to etcd in seconds, including failed ones, by operation and type of the object.",
            named.bounds,
            labels,
        )
        self._failed = Counter(
            "etcd_request_errors_total", "Failed requests to etcd, by operation and type of the object.", labels
        )
        total = ObservedCounter(
            "etcd_requests_total", "Requests to etcd, by operation and type of the object.", self.seconds.totals, labels
        )
        self.instruments: tuple[Instrument, ...] = (self.seconds, *((total, self._failed) if named.counted else ()))

    def observe(self, operation: str, key: str, seconds: float, *, failed: bool) -> None:
        """Count one request for the object or the objects of `key`."""
        labels = operation, *self._named.of(key)
        if labels not in self.seconds.values and len(self.seconds.values) >= _MOST_SERIES:
            labels = operation, *("" for _ in self._named.labels)
        self.seconds.observe(seconds, *labels)
        if failed:
            self._failed.add(*labels)
