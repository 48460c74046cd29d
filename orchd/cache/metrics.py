"""Metrics of the watch caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache as cached
from typing import Final

from orchd.cache.caches import Caches
from orchd.cache.resource import READ_WAITS, ResourceCache
from orchd.txkit.metrics.histogram import Histogram
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedDistribution, ObservedGauge

#: Name, help and value by resource, of the number of objects.
_COUNTS: Final = (
    ("apiserver_storage_objects", "Number of stored objects, by resource."),
    ("etcd_object_counts", "Number of stored objects, by resource: replaced by apiserver_storage_objects."),
)
_Gauge = tuple[str, str, Callable[[ResourceCache], float]]
#: Name, help and value of the reference's other gauges by resource, and of those that are our own.
_REFERENCE: Final[tuple[_Gauge, ...]] = (
    (
        "watch_cache_capacity",
        "Maximum number of changes in the watch cache window, by resource.",
        lambda cache: cache.capacity,
    ),
)
_OWN: Final[tuple[_Gauge, ...]] = (
    ("orchd_cache_window_events", "Changes in the watch cache window.", lambda cache: cache.window_length),
    (
        "orchd_cache_window_bytes",
        "Size of the objects in the watch cache window in bytes.",
        lambda cache: cache.window_bytes,
    ),
    ("orchd_cache_watchers", "Active subscribers of the watch cache.", lambda cache: cache.subscribers),
    ("orchd_cache_applied_events", "Events applied to the watch cache.", lambda cache: cache.applied_events),
    ("orchd_cache_unreadable", "Stored values that cannot be read.", lambda cache: cache.unreadable),
    ("orchd_cache_indexed", "Labels and fields indexed by the watch cache.", lambda cache: cache.indexed),
)
#: Those of releases from `GROUPED_SINCE` on.
_LATER_GAUGES: Final[tuple[_Gauge, ...]] = (
    ("apiserver_watch_cache_resource_version", "Revision of the watch cache.", lambda cache: cache.revision),
    (
        "apiserver_resource_size_estimate_bytes",
        "Size of the stored objects in bytes, without keys.",
        lambda cache: cache.entry_bytes,
    ),
)
_LATER_COUNTERS: Final[tuple[_Gauge, ...]] = (
    (
        "apiserver_watch_cache_events_received_total",
        "Changes that the watch cache received from the store.",
        lambda cache: cache.applied_events,
    ),
    (
        "apiserver_watch_cache_events_dispatched_total",
        "Changes that the watch cache passed on to watches.",
        lambda cache: cache.applied_events,
    ),
    ("apiserver_storage_events_received_total", "Changes received from the store.", lambda cache: cache.applied_events),
    (
        "apiserver_watch_cache_initializations_total",
        "Times that the watch cache loaded the current objects.",
        lambda cache: cache.initializations,
    ),
    (
        "apiserver_storage_decode_errors_total",
        "Stored values that could not be decoded.",
        lambda cache: cache.decode_errors,
    ),
)
#: The first release whose metrics name the groups of resources.
GROUPED_SINCE: Final = "1.34"
_Numbers = dict[tuple[str, ...], float]


class Names:
    """How metrics name the resources of caches: by the path in the store alone, as releases before `GROUPED_SINCE`."""

    labels: tuple[str, ...] = ("resource",)
    list_labels: tuple[str, ...] = ("resource_prefix",)

    def of(self, key: str) -> tuple[str, ...]:
        return (key,)

    def of_lists(self, key: str) -> tuple[str, ...]:
        return (_path(key),)

    def of_counts(self, key: str) -> tuple[str, ...]:
        return (key,)


class GroupedNames(Names):
    """Names of resources by group and plural. `places` returns both by the path of a built-in resource in the store."""

    labels = list_labels = ("group", "resource")

    def __init__(self, places: Callable[[], Mapping[str, tuple[str, str]]]) -> None:
        #: Made when metrics are first asked for.
        self._places = cached(places)

    def of(self, key: str) -> tuple[str, ...]:
        place = self._places().get(key)
        if place is None:
            group, _, plural = key.rpartition("/")
            place = group, plural
        return place

    of_lists = of

    def of_counts(self, key: str) -> tuple[str, ...]:
        group, plural = self.of(key)
        return (f"{plural}.{group}" if group else plural,)

    def of_object(self, key: str) -> tuple[str, ...]:
        """Names of the resource of an object, or of the objects, of a `key` in the store."""
        first, _, rest = key[1:].partition("/")
        place = self._places().get(first)
        if place is None:
            place = (first, rest.partition("/")[0]) if rest else ("", first)
        return place


_BY_PATH: Final = Names()


def cache_instruments(caches: Caches, counted: bool = True, names: Names = _BY_PATH) -> tuple[Instrument, ...]:
    """Metrics of `caches`. The numbers of objects per resource are left out unless objects are `counted`."""

    def each(read: Callable[[ResourceCache], float], of: Callable[[str], tuple[str, ...]]) -> Callable[[], _Numbers]:
        return lambda: {of(key): float(read(cache)) for key, cache in caches.caches.items()}

    counts = [ObservedGauge(name, help, each(len, names.of_counts), ("resource",)) for name, help in _COUNTS]
    later: list[Instrument] = []
    if names.labels != _BY_PATH.labels:
        text = "Number of stored objects, by group and resource."
        counts.append(ObservedGauge("apiserver_resource_objects", text, each(len, names.of), names.labels))
        later = [ObservedGauge(name, help, each(read, names.of), names.labels) for name, help, read in _LATER_GAUGES]
        later += [
            ObservedCounter(name, help, each(read, names.of), names.labels) for name, help, read in _LATER_COUNTERS
        ]
        later += _read_instruments(caches, names)
    return (
        ObservedGauge("orchd_cache_lag", "Revisions by which the watch caches lag behind the store.", lambda: caches.lag),
        ObservedGauge("orchd_cache_waiting_reads", "Reads that wait for the watch cache to reach a revision.", lambda: caches.waiting),
        ObservedCounter("orchd_cache_restarts_total", "Reloads of the watch caches.", lambda: caches.restarts),
        ObservedGauge("orchd_cache_derived_bytes", "Size of derived representations cached beside objects in bytes.", lambda: caches.derived_budget.bytes),
        *(counts if counted else ()),
        *later,
        *(ObservedGauge(name, help, each(read, names.of), names.labels) for name, help, read in _REFERENCE),
        *(ObservedGauge(name, help, each(read, _BY_PATH.of), _BY_PATH.labels) for name, help, read in _OWN),
        *_list_instruments(caches, names),
    )  # fmt: skip


def _read_instruments(caches: Caches, names: Names) -> tuple[Instrument, ...]:
    """Consistent reads of the watch caches, and the waits of reads, by resource."""

    def consistent() -> _Numbers:
        return {
            (*names.of(key), "true", "false"): float(cache.consistent_reads)
            for key, cache in caches.caches.items()
            if cache.consistent_reads
        }

    def waits() -> dict[tuple[str, ...], Histogram]:
        return {names.of(key): cache.read_waits for key, cache in caches.caches.items() if cache.read_waits.count}

    return (
        ObservedCounter(
            "apiserver_watch_cache_consistent_read_total",
            "Consistent reads, all of which the watch cache served.",
            consistent,
            (*names.labels, "success", "fallback"),
        ),
        ObservedDistribution(
            "apiserver_watch_cache_read_wait_seconds",
            "Seconds that reads waited for the watch cache to reach a revision.",
            READ_WAITS,
            waits,
            names.labels,
        ),
    )


def _list_instruments(caches: Caches, names: Names) -> tuple[Instrument, ...]:
    """Lists of the watch caches, by resource."""

    def total() -> _Numbers:
        return {
            (*names.of_lists(key), index): float(number)
            for key, cache in caches.caches.items()
            for index, number in cache.lists.total.items()
        }

    def fetched() -> _Numbers:
        return {
            (*names.of_lists(key), index): float(cache.lists.fetched[index])
            for key, cache in caches.caches.items()
            for index in cache.lists.total
        }

    def returned() -> _Numbers:
        return {
            names.of_lists(key): float(cache.lists.returned)
            for key, cache in caches.caches.items()
            if cache.lists.total
        }

    by_index = (*names.list_labels, "index")
    return (
        ObservedCounter("apiserver_cache_list_total", "Lists served from the watch cache.", total, by_index),
        ObservedCounter(
            "apiserver_cache_list_fetched_objects_total",
            "Objects of the watch cache that lists read.",
            fetched,
            by_index,
        ),
        ObservedCounter(
            "apiserver_cache_list_returned_objects_total",
            "Objects that lists returned from the watch cache.",
            returned,
            names.list_labels,
        ),
    )


def _path(key: str) -> str:
    """Custom kinds are stored as group/plural, others as plural.group, and named by their plural alone."""
    return "/" + (key if "/" in key else key.partition(".")[0])
