"""Creates the configured store, its caches, and their metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

from orchd.assembly.runtime import Runtime
from orchd.cache.caches import Caches
from orchd.cache.metrics import GROUPED_SINCE, GroupedNames, Names, cache_instruments
from orchd.cache.resource import CacheLimits
from orchd.config.documents import types
from orchd.config.documents.decoding import decode_document
from orchd.config.sections.storage import EtcdSettings
from orchd.config.settings import Settings
from orchd.kinds.catalog import builtin_catalog, split_group_version
from orchd.server.registry.stored_release import prepare_store
from orchd.store.compaction import HistoryLimits
from orchd.store.encrypted import EncryptedStore, SharedEncryptedStore, is_object, refuse_encrypted
from orchd.store.encryption_config import make_rules, mark_of
from orchd.store.interfaces import IStore, StoreError
from orchd.store.locking import FileLock
from orchd.store.metrics import storage_size_gauge
from orchd.store.opening import refuse_other_dialect
from orchd.store.sqlite import SqliteStore
from orchd.txkit.config_file_watcher import read_limited
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Instrument, instruments_of
from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.services import Member, as_member

if TYPE_CHECKING:
    from orchd.assembly.store_ports import StorePorts
    from orchd.store.etcd.servers import Server


def _places(settings: Settings) -> dict[str, tuple[str, str]]:
    """Group and plural of built-in resources, by their paths in the store."""
    stored = (each for each in builtin_catalog(settings.dialect, settings.release).resources if each.stored)
    return {each.key: (split_group_version(each.storage_version)[0], each.plural) for each in stored}


def _grouped_names(settings: Settings) -> GroupedNames | None:
    """How metrics name resources; None for a release whose metrics do not name their groups."""
    if not settings.release.includes(GROUPED_SINCE):
        return None
    return GroupedNames(lambda: _places(settings))


class Storage:
    """The store and its caches. `store` replaces the configured one."""

    _log = Logger()

    def __init__(self, runtime: Runtime, store: IStore | None, dial: Dial | None) -> None:
        """`dial` connects to etcd, None directly. Raises ValueError that names the invalid flag or file."""
        settings, reactor = runtime.settings, runtime.reactor
        self._settings = settings
        self._objects = runtime.objects
        self.store: IStore = make_store(settings, reactor, runtime.random, dial) if store is None else store
        self._ports = _store_ports(runtime, self._inner) if settings.storage.served else None
        etcd = settings.storage.etcd
        self.caches = Caches(
            self.store,
            clock=reactor,
            limits=CacheLimits(window_seconds=settings.storage.history_duration),
            one_server=settings.storage.served if etcd is None else etcd.own,
        )
        names = _grouped_names(settings)
        self._cache_instruments = cache_instruments(self.caches, settings.storage.counted, names or Names())
        #: The sizes of databases, as the reference's releases since then name them.
        self._sizes = (storage_size_gauge(self._size),) if names is not None else ()

    def members(self) -> list[Member]:
        return [
            as_member("store", self._start_store, self._stop_store),
            as_member("caches", self.caches.start, self.caches.stop),
        ]

    @property
    def instruments(self) -> Iterator[Instrument]:
        """Metrics of the store, of the one within it that it encrypts, and of the caches."""
        yield from instruments_of((None if self._inner is self.store else self._inner, self.store))
        yield from self._cache_instruments
        yield from self._sizes

    @property
    def _inner(self) -> IStore:
        """The store itself, without encryption."""
        return self.store.inner if isinstance(self.store, EncryptedStore) else self.store

    @property
    def is_owned(self) -> bool:
        """True if no other process can own the store meanwhile, though others may be its clients."""
        return self.store.exclusive or self._ports is not None

    def _size(self) -> int:
        # A store of a program that embeds the server may have none.
        size: Callable[[], int] = getattr(self._inner, "file_size", int)
        return size()

    def notes(self) -> list[str]:
        """Lines for the verbose health report: the number of stored values that cannot be read, if any."""
        count = sum(cache.unreadable for cache in self.caches.caches.values())
        values = "stored value" if count == 1 else "stored values"
        return [f"{count} {values} cannot be read, see the metric orchd_cache_unreadable"] if count else []

    async def _start_store(self) -> None:
        await start_store(self._settings, self.store)
        upgrade = await prepare_store(self.store, self._objects)
        if upgrade.raised_from is not None:
            self._log.info(
                "raised the store from release {before} to {release}, which cannot be undone: {count} objects "
                    "rewritten",
                before=upgrade.raised_from, release=self._objects.release, count=upgrade.rewritten,
            )  # fmt: skip
        if upgrade.unserved:
            self._log.warn(
                "objects of kinds that the release does not serve stay in the store: {kinds}", kinds=upgrade.unserved
            )
        for key in upgrade.unreadable:
            self._log.warn("cannot upgrade the object at {key}: it is not readable", key=key)
        if self._ports is not None:
            await self._ports.start()

    async def _stop_store(self) -> None:
        if self._ports is not None:
            await self._ports.stop()
        await self.store.stop()
        if self._ports is not None:
            self._ports.close()


def _store_ports(runtime: Runtime, store: IStore) -> StorePorts:
    """The ports of an embedded store. Raises ValueError that names the flag."""
    # Imported here: what serves a store would slow down the start of a server by itself.
    from orchd.assembly.store_ports import StorePorts

    assert isinstance(store, SqliteStore)
    try:
        return StorePorts(store, runtime.settings, runtime.reactor, runtime.random)
    except StoreError as error:
        raise ValueError(str(error)) from error


def make_store(settings: Settings, reactor: Any, random: Random, dial: Dial | None) -> IStore:
    """Create the configured store without starting it. Raises ValueError that names the invalid flag or file."""
    store: IStore = (
        _etcd(settings, reactor, random, dial)
        if settings.storage.etcd is not None
        else _shared_store(settings, reactor, random)
        if settings.storage.served
        else make_embedded_store(settings, reactor)
    )
    name = settings.storage.encryption_provider_config
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
        for each in builtin_catalog(settings.dialect, settings.release).resources
        if each.key
    }

    def key_of(resource: str) -> str:
        # Other resources are custom kinds, whose keys begin with their group.
        plural, _, group = resource.partition(".")
        return keys.get(resource) or (f"{group}/{plural}" if group else plural)

    try:
        document = decode_document(read_limited(name), types.ENCRYPTION, settings.dialect)
        rules = make_rules(document, settings.dialect, key_of)
    except (OSError, ValueError) as error:
        raise ValueError(f"--encryption-provider-config: {name}: {error}") from error
    cls = EncryptedStore if store.exclusive else SharedEncryptedStore
    names = _grouped_names(settings)
    resource_of = None if names is None else lambda key: ".".join(filter(None, reversed(names.of_object(key))))
    return cls(store, rules, mark=mark_of(settings.dialect), plausible=is_object, resource_of=resource_of)


def store_file(settings: Settings) -> str:
    """Path of the embedded store."""
    return f"{settings.storage.data_dir}/store.sqlite"


@contextmanager
def locked_store(settings: Settings) -> Iterator[None]:
    """Hold the lock of the configured embedded store, without etcd, while other files of its folder are written: a
    server that uses the folder, or a store of the other dialect, must not lose its own. Raises ValueError if there is
    one, OSError."""
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


def make_embedded_store(settings: Settings, reactor: Any) -> SqliteStore:
    """Create the embedded store of the data folder without starting it."""
    return SqliteStore(reactor, store_file(settings), dialect_name=settings.dialect.name, history=_history(settings))


def _shared_store(settings: Settings, reactor: Any, random: Random) -> SqliteStore:
    """The embedded store of the data folder, with other processes as clients."""
    from orchd.store.shared_sqlite import SharedSqliteStore

    return SharedSqliteStore(
        reactor, store_file(settings), dialect_name=settings.dialect.name, history=_history(settings), random=random
    )


def _history(settings: Settings) -> HistoryLimits:
    chosen = settings.storage
    return HistoryLimits(
        compaction_interval=chosen.etcd_compaction_interval,
        seconds=chosen.history_duration,
        events=chosen.history_events,
    )


def etcd_servers(etcd: EtcdSettings, reactor: Any, dial: Dial | None = None) -> tuple[Server, ...]:
    """The configured etcd servers; `dial` connects to them, None directly. Raises StoreError that names the URL or
    file."""
    # Imported here: an optional dependency, which would slow down the start of servers without etcd.
    from orchd.store.etcd.servers import TlsFiles, make_servers

    files = TlsFiles(authorities=etcd.ca_file, certificate=etcd.cert_file, key=etcd.key_file)
    return make_servers(reactor, etcd.servers, files, dial)


def _etcd(settings: Settings, reactor: Any, random: Random, dial: Dial | None) -> IStore:
    from orchd.store.etcd.request_durations import BY_FIRST_PART, LATER_BOUNDS, RequestLabels
    from orchd.store.etcd.store import EtcdOptions, EtcdStore

    etcd = settings.storage.etcd
    assert etcd is not None
    try:
        servers = etcd_servers(etcd, reactor, dial)
    except StoreError as error:
        raise ValueError(str(error) if str(error).startswith("--") else f"--etcd-servers: {error}") from error
    names = _grouped_names(settings)
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
        requests=BY_FIRST_PART
        if names is None
        else RequestLabels(labels=names.labels, of=names.of_object, bounds=LATER_BOUNDS, counted=True),
    )
