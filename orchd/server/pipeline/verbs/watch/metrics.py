"""Metrics of watches, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from orchd.kinds.catalog import Resource
from orchd.txkit.metrics.histogram import Histogram
from orchd.txkit.metrics.instruments import (
    Counter,
    Distribution,
    Instrument,
    ObservedCounter,
    ObservedDistribution,
    ObservedGauge,
)

#: Bucket upper bounds of event sizes in bytes.
EVENT_SIZES: Final = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
#: Bucket upper bounds in seconds of the initial state of watches.
_STATE_SECONDS: Final = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60)
_KIND: Final = ("group", "version", "kind")
#: Whether metrics name a resource rather than its kind, and the group of a resource, by the release that begins it.
RESOURCES_NAMED: Final = (("", False), ("1.34", True))


class WatchMetrics:
    """`running` returns the number of running watches by group, version and kind. `named`: events are counted by
    resource and its group (`RESOURCES_NAMED`)."""

    def __init__(self, running: Callable[[], Mapping[tuple[str, ...], float]], named: bool) -> None:
        self._events: dict[tuple[str, ...], Histogram] = {}
        self._named = named
        kind = ("group", "version", "resource") if named else _KIND
        resource = ("group", "resource") if named else ("resource",)
        #: Watches of clients that were too slow, by resource.
        self.dropped = Counter(
            "apiserver_terminated_watchers_total", "Watches terminated because their client was too slow.", resource
        )
        self._initial = Counter(
            "apiserver_init_events_total", "Initial events of watches: the current state, or past changes.", resource
        )
        self._states = Distribution(
            "apiserver_watch_list_duration_seconds",
            "Seconds until watches that asked for the current state have sent it.",
            _STATE_SECONDS,
            ("group", "version", "resource", "scope"),
        )
        self.instruments: tuple[Instrument, ...] = (
            *((self._states,) if named else ()),
            ObservedGauge("apiserver_registered_watchers", "Active watches.", running, _KIND),
            self.dropped,
            self._initial,
            ObservedCounter("apiserver_watch_events_total", "Events sent to watches, by kind.", self._sent, kind),
            ObservedDistribution(
                "apiserver_watch_events_sizes",
                "Size of the events sent to watches in bytes, by kind.",
                EVENT_SIZES,
                lambda: {kind: sizes for kind, sizes in self._events.items() if sizes.count},
                kind,
            ),
        )

    def event_sizes(self, resource: Resource) -> Histogram:
        """Sizes in bytes of the events of a kind, in `EVENT_SIZES`; running watches add theirs."""
        name = resource.plural if self._named else resource.kind
        return self._events.setdefault((resource.group, resource.version, name), Histogram(EVENT_SIZES))

    def forget(self, resource: Resource) -> None:
        """Forget what was counted of a version of a resource that is no longer served."""
        name = resource.plural if self._named else resource.kind
        self._events.pop((resource.group, resource.version, name), None)

    def count_dropped(self, resource: Resource) -> None:
        """Count a watch whose client was too slow."""
        self.dropped.add(*self._labels(resource))

    def count_initial(self, resource: Resource, number: int) -> None:
        """Count events that a watch begins with: the initial state, and changes of the past."""
        if number:
            self._initial.add(*self._labels(resource), by=number)

    def observe_state(self, resource: Resource, scope: str, seconds: float) -> None:
        """Record that a watch has sent the current state that it asked for. `scope` is the beginning of the paths of
        its objects."""
        label = "cluster" if not scope else "namespace" if scope.endswith("/") else "resource"
        self._states.observe(seconds, resource.group, resource.version, resource.plural, label)

    def _labels(self, resource: Resource) -> tuple[str, ...]:
        return (resource.group, resource.plural) if self._named else (resource.plural,)

    def _sent(self) -> dict[tuple[str, ...], float]:
        return {kind: float(sizes.count) for kind, sizes in self._events.items() if sizes.count}
