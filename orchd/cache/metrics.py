"""Metrics of the watch caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchd.cache.caches import Caches
from orchd.cache.resource import ResourceCache
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedGauge

#: Name, help and value by resource, of the number of objects.
_COUNTS: Final = (
    ("apiserver_storage_objects", "Number of stored objects, by resource."),
    ("etcd_object_counts", "Number of stored objects, by resource: replaced by apiserver_storage_objects."),
)
#: Name, help and value of the other gauges by resource.
_BY_RESOURCE: Final[tuple[tuple[str, str, Callable[[ResourceCache], float]], ...]] = (
    (
        "watch_cache_capacity",
        "Maximum number of changes in the watch cache window, by resource.",
        lambda cache: cache.capacity,
    ),
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
_PREFIX: Final = "resource_prefix"
_Numbers = dict[tuple[str, ...], float]


def cache_instruments(caches: Caches, counted: bool = True) -> tuple[Instrument, ...]:
    """Metrics of `caches`. The numbers of objects per resource are left out unless objects are `counted`."""

    def each(read: Callable[[ResourceCache], float]) -> Callable[[], _Numbers]:
        return lambda: {(key,): float(read(cache)) for key, cache in caches.caches.items()}

    counts = [(name, help, len) for name, help in _COUNTS] if counted else []
    return (
        ObservedGauge("orchd_cache_lag", "Revisions by which the watch caches lag behind the store.", lambda: caches.lag),
        ObservedGauge("orchd_cache_waiting_reads", "Reads that wait for the watch cache to reach a revision.", lambda: caches.waiting),
        ObservedCounter("orchd_cache_restarts_total", "Reloads of the watch caches.", lambda: caches.restarts),
        ObservedGauge("orchd_cache_derived_bytes", "Size of derived representations cached beside objects in bytes.", lambda: caches.derived_budget.bytes),
        *(ObservedGauge(name, help, each(read), ("resource",)) for name, help, read in (*counts, *_BY_RESOURCE)),
        *_list_instruments(caches),
    )  # fmt: skip


def _list_instruments(caches: Caches) -> tuple[Instrument, ...]:
    """Lists of the watch caches, by the path of the resource in the store."""

    def total() -> _Numbers:
        return {
            (_path(key), index): float(number)
            for key, cache in caches.caches.items()
            for index, number in cache.lists.total.items()
        }

    def fetched() -> _Numbers:
        return {
            (_path(key), index): float(cache.lists.fetched[index])
            for key, cache in caches.caches.items()
            for index in cache.lists.total
        }

    def returned() -> _Numbers:
        return {(_path(key),): float(cache.lists.returned) for key, cache in caches.caches.items() if cache.lists.total}

    return (
        ObservedCounter("apiserver_cache_list_total", "Lists served from the watch cache.", total, (_PREFIX, "index")),
        ObservedCounter(
            "apiserver_cache_list_fetched_objects_total",
            "Objects of the watch cache that lists read.",
            fetched,
            (_PREFIX, "index"),
        ),
        ObservedCounter(
            "apiserver_cache_list_returned_objects_total",
            "Objects that lists returned from the watch cache.",
            returned,
            (_PREFIX,),
        ),
    )


def _path(key: str) -> str:
    """Custom kinds are stored as group/plural, others as plural.group, and named by their plural alone."""
    return "/" + (key if "/" in key else key.partition(".")[0])
