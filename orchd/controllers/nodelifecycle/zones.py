"""Zones of nodes: the state of each zone, and its eviction rate. Pure except for the queues."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.controllers.settings import ControllerSettings
from orchd.dialect import Dialect
from orchd.kinds.fields import labels
from orchd.txkit.token_bucket import TokenBucket

INITIAL, NORMAL, PARTIAL, FULL = "Initial", "Normal", "PartialDisruption", "FullDisruption"


def zone_of(dialect: Dialect, node: Mapping[str, Any]) -> str:
    """The key of a node's zone, "" without zone labels."""
    node_labels = labels(node)
    region, zone = (
        node_labels.get(dialect(f"topology.{{long}}.io/{what}"))
        or node_labels.get(dialect(f"failure-domain.beta.{{long}}.io/{what}"), "")
        for what in ("region", "zone")
    )
    return f"{region}:\x00:{zone}" if region or zone else ""


def zone_state(ready: Iterable[bool], threshold: float) -> str:
    """The state of a zone from the readiness of its nodes."""
    states = list(ready)
    bad = states.count(False)
    if bad == len(states) and bad:
        return FULL
    if bad > 2 and bad / len(states) >= threshold:
        return PARTIAL
    return NORMAL


@dataclass(slots=True)
class Zone:
    """Rate-limited queue of the nodes of a zone to taint; each node is queued once until it is released."""

    state: str = INITIAL
    bucket: TokenBucket | None = None
    queue: deque[str] = field(default_factory=deque)
    queued: set[str] = field(default_factory=set)

    def add(self, name: str) -> bool:
        """Queue a node, unless it was queued since it was last released."""
        if name in self.queued:
            return False
        self.queued.add(name)
        self.queue.append(name)
        return True

    def release(self, name: str) -> None:
        """Allow a node that is reachable again to be queued again."""
        if name in self.queued:
            self.queued.discard(name)
            if name in self.queue:
                self.queue.remove(name)


class Zones:
    """All zones by key. `update` sets the readiness of nodes, `due` returns the nodes to taint now."""

    def __init__(self, settings: ControllerSettings) -> None:
        self._settings = settings
        self._zones: dict[str, Zone] = {}

    def zone(self, key: str, now: float) -> Zone:
        """The zone of a key; a new one has the normal rate."""
        zone = self._zones.get(key)
        if zone is None:
            zone = self._zones[key] = Zone(bucket=self._bucket(self._settings.node_eviction_rate, now))
        return zone

    @property
    def waiting(self) -> bool:
        """True if any node is queued for a taint."""
        return any(zone.queue for zone in self._zones.values())

    def release(self, name: str) -> None:
        for zone in self._zones.values():
            zone.release(name)

    def due(self, now: float) -> Iterator[tuple[Zone, str]]:
        """Remove and return the nodes to taint now. Call `put_back` for a failed one."""
        for zone in self._zones.values():
            while zone.queue and zone.bucket is not None and zone.bucket.take(now):
                yield zone, zone.queue.popleft()

    def update(self, readiness: Mapping[str, list[bool]], now: float) -> str:
        """Set the readiness of all nodes by zone. Returns "entered" if the whole cluster has just become unready, in
        which case nothing may be evicted, "left" if that has just ended, "" otherwise."""
        threshold = self._settings.unhealthy_zone_threshold
        states = {key: zone_state(ready, threshold) for key, ready in readiness.items()}
        zones = {key: self.zone(key, now) for key in states}
        all_lost = all(state == FULL for state in states.values())
        were_lost = all(zone.state == FULL for zone in zones.values())
        if all_lost and were_lost:
            return ""
        if all_lost:
            for zone in zones.values():
                zone.state, zone.bucket = FULL, None
            return "entered"
        for key, zone in zones.items():
            if were_lost or zone.state != states[key]:
                zone.state = states[key]
                zone.bucket = self._bucket(self._rate(zone.state, len(readiness[key])), now)
        return "left" if were_lost else ""

    def _rate(self, state: str, size: int) -> float:
        if state != PARTIAL:
            return self._settings.node_eviction_rate
        large = size > self._settings.large_cluster_size_threshold
        return self._settings.secondary_node_eviction_rate if large else 0.0

    @staticmethod
    def _bucket(rate: float, now: float) -> TokenBucket | None:
        return TokenBucket(rate, 1.0, now) if rate > 0 else None
