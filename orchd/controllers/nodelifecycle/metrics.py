"""Metrics of the node lifecycle controller, by zone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Counter, Distribution, Gauge, Instrument

_ZONE = ("zone",)


class NodeMetrics:
    """Metrics by zone. Call `count_zones` after each check of all nodes, and `count_eviction` for each node whose pods
    are evicted."""

    def __init__(self) -> None:
        self._health = Gauge("node_collector_zone_health", "Percentage of ready nodes, by zone.", _ZONE)
        self._size = Gauge("node_collector_zone_size", "Registered nodes, by zone.", _ZONE)
        self._unhealthy = Gauge("node_collector_unhealthy_nodes_in_zone", "Nodes that are not ready, by zone.", _ZONE)
        #: Under the name of the reference, and under that of its later releases.
        self._evictions = tuple(
            Counter(name, "Nodes that were emptied, by zone.", _ZONE)
            for name in ("node_collector_evictions_number", "node_collector_evictions_total")
        )
        self.one_node = Distribution(
            "node_collector_update_node_health_duration_seconds",
            "Duration of the health check of a node in seconds.",
            exponential(0.001, 4, 8),
        )
        self.all_nodes = Distribution(
            "node_collector_update_all_nodes_health_duration_seconds",
            "Duration of the health check of all nodes in seconds.",
            exponential(0.01, 4, 8),
        )
        self.instruments: tuple[Instrument, ...] = (
            self._health,
            self._size,
            self._unhealthy,
            *self._evictions,
            self.one_node,
            self.all_nodes,
        )

    def count_zones(self, readiness: Mapping[str, Sequence[bool]]) -> None:
        """`readiness` says of each node of a zone whether it is ready."""
        for gauge in (self._health, self._size, self._unhealthy):
            gauge.values.clear()
        for zone, ready in readiness.items():
            self._size.set(len(ready), zone)
            self._unhealthy.set(ready.count(False), zone)
            self._health.set(100.0 * ready.count(True) / len(ready), zone)

    def count_eviction(self, zone: str) -> None:
        """Count a node of `zone` that is emptied."""
        for counter in self._evictions:
            counter.add(zone)
