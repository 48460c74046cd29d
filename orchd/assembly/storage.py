"""Creates the configured store, its caches, and their metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from prometheus_client.core import HistogramMetricFamily, Metric

from orchd.assembly.metrics import instruments_of
from orchd.assembly.runtime import Runtime
from orchd.cache.caches import Caches
from orchd.cache.resource import ResourceCache
from orchd.config.settings import EtcdSettings, Settings
from orchd.kinds.catalog import builtin_catalog
from orchd.server.pipeline.endpoints import metrics
from orchd.store.compaction import HistoryLimits
from orchd.store.encrypted import EncryptedStore, SharedEncryptedStore, is_object, refuse_encrypted
from orchd.store.encryption_config import mark_of, parse_encryption
from orchd.store.interfaces import IStore, StoreError
from orchd.store.locking import FileLock
from orchd.store.opening import refuse_other_dialect
from orchd.store.sqlite import BATCH_BUCKETS, COMMIT_BUCKETS, SqliteStore
from orchd.txkit.histogram import cumulative
from orchd.txkit.instruments import Counter, Gauge, families
from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.services import Member, as_member

if TYPE_CHECKING:
    from orchd.store.etcd.servers import Server
    from orchd.store.etcd.store import EtcdStore


class Storage:
    """The store and its caches. `store` replaces the configured one."""

    def __init__(self, runtime: Runtime, store: IStore | None, dial: Dial | None) -> None:
        """`dial` connects to etcd, None directly. Raises ValueError that names the invalid flag or file."""
        settings, reactor = runtime.settings, runtime.reactor
        self._settings = settings
        self.store: IStore = make_store(settings, reactor, runtime.random, dial) if store is None else store
        self.caches = Caches(self.store, clock=reactor, window_seconds=settings.storage.history_duration)

    def members(self) -> list[Member]:
        return [
            as_member("store", self._start_store, self.store.stop),
            as_member("caches", self.caches.start, self.caches.stop),
        ]

    def metrics(self) -> Iterable[metrics.Source]:
        return [*store_metrics(self.store), *cache_metrics(self.caches, self._settings.storage.counted), instruments_of(self._stores)]

    def _stores(self) -> Iterable[object]:
        """The store, and the one within it that it encrypts."""
        return (self.store, self.store.inner) if isinstance(self.store, EncryptedStore) else (self.store,)

    def notes(self) -> list[str]:
        """Lines for the verbose health report: the number of stored values that cannot be read, if any."""
        count = sum(cache.unreadable for cache in self.caches.caches.values())
        values = "stored value" if count == 1 else "stored values"
        return [f"{count} {values} cannot be read, see the metric orchd_cache_unreadable"] if count else []

    async def _start_store(self) -> None:
        await start_store(self._settings, self.store)


def make_store(settings: Settings, reactor: Any, random: Random, dial: Dial | None) -> IStore:
    """Create the configured store without starting it. Raises ValueError that names the invalid flag or file."""
    store: IStore = _etcd(settings, reactor, random, dial) if settings.storage.etcd is not None else _sqlite(settings, reactor)
    name = settings.storage.encryption_file
    return with_encryption(settings, store, name) if name else store


async def start_store(settings: Settings, store: IStore) -> None:
    """Start the store. Raises StoreError, also if it contains encrypted values and no encryption is configured."""
    await store.start()
    if not isinstance(store, EncryptedStore):
        await refuse_encrypted(store, mark_of(settings.dialect))


def with_encryption(settings: Settings, store: IStore, name: str) -> EncryptedStore:
    """Wrap `store` with encryption by the configuration file `name`."""
    keys = {
        f"{each.plural}.{each.group}" if each.group else each.plural: each.key
        for each in builtin_catalog(settings.dialect).resources
        if each.key
    }

    def key_of(resource: str) -> str:
        # Other resources are custom kinds, whose keys begin with their group.
        plural, _, group = resource.partition(".")
        return keys.get(resource) or (f"{group}/{plural}" if group else plural)

    try:
        rules = parse_encryption(Path(name).read_text(), settings.dialect, key_of)
    except (OSError, ValueError) as error:
        raise ValueError(f"--encryption-provider-config: {name}: {error}") from error
    cls = EncryptedStore if store.exclusive else SharedEncryptedStore
    return cls(store, rules, mark=mark_of(settings.dialect), plausible=is_object)


def store_file(settings: Settings) -> str:
    """Path of the embedded store."""
    return f"{settings.storage.data_dir}/store.sqlite"


@contextmanager
def locked_store(settings: Settings) -> Iterator[None]:
    """Hold the lock of the configured embedded store, without etcd, while other files of its folder are written: a server that uses
    the folder, or a store of the other dialect, must not lose its own. Raises ValueError if there is one, OSError."""
    if settings.storage.etcd is not None:
        yield
        return
    os.makedirs(settings.storage.data_dir, mode=0o700, exist_ok=True)
    path = os.path.abspath(store_file(settings))
    try:
        lock = FileLock(path)
        try:
            refuse_other_dialect(path, settings.dialect.name)
            yield
        finally:
            lock.release()
    except StoreError as error:
        raise ValueError(str(error)) from error


def _sqlite(settings: Settings, reactor: Any) -> SqliteStore:
    return SqliteStore(
        reactor,
        store_file(settings),
        dialect_name=settings.dialect.name,
        history=_history(settings),
    )


def _history(settings: Settings) -> HistoryLimits:
    chosen = settings.storage
    return HistoryLimits(
        compaction_interval=chosen.compaction_interval, seconds=chosen.history_duration, events=chosen.history_events
    )


def etcd_servers(etcd: EtcdSettings, reactor: Any, dial: Dial | None = None) -> tuple[Server, ...]:
    """The configured etcd servers; `dial` connects to them, None directly. Raises StoreError that names the URL or file."""
    # Imported here: an optional dependency, which would slow down the start of servers without etcd.
    from orchd.store.etcd.servers import TlsFiles, make_servers

    files = TlsFiles(authorities=etcd.ca_file, certificate=etcd.cert_file, key=etcd.key_file)
    return make_servers(reactor, etcd.servers, files, dial)


def _etcd(settings: Settings, reactor: Any, random: Random, dial: Dial | None) -> IStore:
    from orchd.store.etcd.store import EtcdOptions, EtcdStore

    etcd = settings.storage.etcd
    assert etcd is not None
    try:
        servers = etcd_servers(etcd, reactor, dial)
    except StoreError as error:
        raise ValueError(f"--etcd-servers: {error}") from error
    return EtcdStore(
        reactor,
        servers,
        dialect_name=settings.dialect.name,
        options=EtcdOptions(
            prefix=etcd.prefix,
            health_timeout=etcd.health_timeout,
            lease_reuse=etcd.lease_reuse,
            size_interval=etcd.size_interval,
        ),
        history=_history(settings),
        random=random,
    )


def store_metrics(store: IStore) -> Iterable[metrics.Source]:
    """Metrics of a store."""
    if isinstance(store, EncryptedStore):
        store = store.inner
    found = [metrics.gauge("orchd_store_revision", "Revision of the last durable write.", lambda: store.revision)]
    if isinstance(store, SqliteStore):
        disk = store
        found += [
            metrics.counter("orchd_store_commits", "Commits of the embedded store.", lambda: disk.commits),
            metrics.counter("orchd_store_writes", "Writes committed to the embedded store.", lambda: disk.writes),
            metrics.histograms(
                "orchd_store_commit_duration_seconds",
                "Duration of a commit in seconds, until it is durable.",
                COMMIT_BUCKETS,
                lambda: {"": disk.commit_seconds},
            ),
            metrics.histograms(
                "orchd_store_batch_size", "Number of writes in a commit.", BATCH_BUCKETS, lambda: {"": disk.batch_sizes}
            ),
            metrics.gauge("orchd_store_file_bytes", "Size of the store on disk in bytes.", disk.file_size),
            metrics.counter("orchd_store_failed_commits", "Failed commits of the embedded store.", lambda: disk.failed_commits),
            metrics.gauge("orchd_store_watchers", "Active watches of the store.", lambda: disk.watchers),
        ]
    elif not store.exclusive:
        from orchd.store.etcd.request_durations import REQUEST_BUCKETS
        from orchd.store.etcd.store import EtcdStore

        assert isinstance(store, EtcdStore), "the only store that others write as well"
        etcd = store
        found += [
            metrics.counter("orchd_store_writes", "Writes to etcd by this server.", lambda: etcd.writes),
            lambda: etcd_families(etcd, REQUEST_BUCKETS),
            metrics.gauge("orchd_store_file_bytes", "Size of the store on disk in bytes.", lambda: etcd.file_size),
            metrics.counter("orchd_store_connects", "Connections established to etcd.", lambda: etcd.connects),
            metrics.counter("orchd_store_restarts", "Watches of etcd that were interrupted.", lambda: etcd.restarts),
            metrics.gauge("orchd_store_watchers", "Active watches of the store.", lambda: etcd.watchers),
        ]
    return found


def etcd_families(etcd: EtcdStore, bounds: tuple[float, ...]) -> Iterable[Metric]:
    """Requests to etcd, and the sizes of its databases."""
    requests = HistogramMetricFamily(
        "etcd_request_duration_seconds",
        "Duration of requests to etcd in seconds, including failed ones, by operation and type of the object.",
        labels=("operation", "type"),
    )
    for labels, histogram in etcd.request_seconds.items():
        requests.add_metric(labels, cumulative(histogram, bounds), histogram.sum)
    sizes = Gauge("etcd_db_total_size_in_bytes", "Size of the database of an etcd server in bytes.", ("endpoint",))
    for url, size in etcd.database_sizes.items():
        sizes.set(size, url)
    return requests, sizes.family()


def list_families(caches: Caches) -> Iterable[Metric]:
    """Lists of the watch caches, by the path of the resource in the store."""
    total = Counter("apiserver_cache_list_total", "Lists served from the watch cache.", ("resource_prefix", "index"))
    fetched = Counter(
        "apiserver_cache_list_fetched_objects_total", "Objects of the watch cache that lists read.", ("resource_prefix", "index")
    )
    returned = Counter(
        "apiserver_cache_list_returned_objects_total", "Objects that lists returned from the watch cache.", ("resource_prefix",)
    )
    for key, cache in caches.caches.items():
        # Custom kinds are stored as group/plural, others as plural.group, and named by their plural alone.
        prefix = "/" + (key if "/" in key else key.partition(".")[0])
        for index, number in cache.lists.total.items():
            total.add(prefix, index, by=number)
            fetched.add(prefix, index, by=cache.lists.fetched[index])
        if cache.lists.total:
            returned.add(prefix, by=cache.lists.returned)
    return families(total, fetched, returned)


def cache_metrics(caches: Caches, counted: bool = True) -> Iterable[metrics.Source]:
    """Metrics of the watch cache. Those per resource have the labels of apiserver_storage_objects, which is left out unless
    objects are `counted`."""

    def each(figure: Callable[[ResourceCache], float]) -> Callable[[], dict[str, float]]:
        return lambda: {key: float(figure(cache)) for key, cache in caches.caches.items()}

    by_resource: tuple[tuple[str, str, Callable[[ResourceCache], float]], ...] = (
        ("apiserver_storage_objects", "Number of stored objects, by resource.", len),
        ("etcd_object_counts", "Number of stored objects, by resource: replaced by apiserver_storage_objects.", len),
        ("watch_cache_capacity", "Maximum number of changes in the watch cache window, by resource.", lambda cache: cache.capacity),
        ("orchd_cache_window_events", "Changes in the watch cache window.", lambda cache: cache.window_length),
        ("orchd_cache_window_bytes", "Size of the objects in the watch cache window in bytes.", lambda cache: cache.window_bytes),
        ("orchd_cache_watchers", "Active subscribers of the watch cache.", lambda cache: cache.subscribers),
        ("orchd_cache_applied_events", "Events applied to the watch cache.", lambda cache: cache.applied_events),
        ("orchd_cache_unreadable", "Stored values that cannot be read.", lambda cache: cache.unreadable),
        ("orchd_cache_indexed", "Labels and fields indexed by the watch cache.", lambda cache: cache.indexed),
    )
    return [
        metrics.gauge("orchd_cache_lag", "Revisions by which the watch caches lag behind the store.", lambda: caches.lag),
        metrics.gauge("orchd_cache_waiting_reads", "Reads that wait for the watch cache to reach a revision.", lambda: caches.waiting),
        metrics.counter("orchd_cache_restarts", "Reloads of the watch caches.", lambda: caches.restarts),
        metrics.gauge("orchd_cache_derived_bytes", "Size of derived representations cached beside objects in bytes.", lambda: caches.derived_budget.bytes),
        *(
            metrics.by_label(name, help, "resource", each(figure))
            for name, help, figure in by_resource
            if counted or name not in ("apiserver_storage_objects", "etcd_object_counts")
        ),
        lambda: list_families(caches),
    ]
