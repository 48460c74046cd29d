"""Metrics of the controllers that write EndpointSlices."""

from __future__ import annotations

from collections.abc import Sequence

from orchd.kinds.jsonvalues import Object
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Counter, Distribution, Gauge

_NUMBERS = exponential(2, 2, 15)

#: Namespace and name of a service.
Key = tuple[str, str]


class SliceMetrics:
    """Metrics whose names begin with `subsystem`. `size` is the greatest number of endpoints in a slice."""

    def __init__(self, subsystem: str, size: int) -> None:
        self._size = size
        #: Desired endpoints by group, and slices, of each service.
        self._by_service: dict[Key, tuple[tuple[int, ...], int]] = {}
        self.added = Distribution(
            f"{subsystem}_endpoints_added_per_sync", "Endpoints added, each time a service was looked at.", _NUMBERS
        )
        self.removed = Distribution(
            f"{subsystem}_endpoints_removed_per_sync", "Endpoints removed, each time a service was looked at.", _NUMBERS
        )
        self._desired = Gauge(f"{subsystem}_endpoints_desired", "Endpoints that there should be.")
        self._slices = Gauge(f"{subsystem}_num_endpoint_slices", "EndpointSlices.")
        self._fewest = Gauge(f"{subsystem}_desired_endpoint_slices", "EndpointSlices that would do.")
        self.changes = Counter(f"{subsystem}_changes", "Changes of EndpointSlices, by operation.", ("operation",))
        self.instruments = (self.added, self.removed, self._desired, self._slices, self._fewest, self.changes)

    def record(self, key: Key, sizes: Sequence[int], current: Sequence[Object]) -> None:
        """Record the wanted endpoints of a service by group, and its slices."""
        before = sum(len(each.get("endpoints") or ()) for each in current)
        change = sum(sizes) - before
        self.added.observe(max(0, change))
        self.removed.observe(max(0, -change))
        self._note(key, (tuple(sizes), len(current)))

    def forget(self, key: Key) -> None:
        """Remove a service that has no slices left."""
        self._note(key, None)

    def _note(self, key: Key, numbers: tuple[tuple[int, ...], int] | None) -> None:
        for figures, sign in ((self._by_service.pop(key, None), -1), (numbers, 1)):
            if figures is not None:
                desired, slices = figures
                self._desired.add(sign * sum(desired))
                self._slices.add(sign * slices)
                self._fewest.add(sign * sum(max(1, -(-number // self._size)) for number in desired))
        if numbers is not None:
            self._by_service[key] = numbers
