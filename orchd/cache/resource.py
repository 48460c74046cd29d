"""The read model of one resource: current entries in order, recent changes, indexes, subscribers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Final

import orjson
from sortedcontainers import SortedList
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.cache.derived import DerivedBudget
from orchd.cache.entries import Change, ChangeType, Damaged, Entry, Index, Match, Page, under
from orchd.cache.indexes import Indexes
from orchd.cache.interfaces import ICache
from orchd.cache.listing import NAME, NAMESPACE, Requirements, Snapshot, list_page
from orchd.cache.progress import Progress
from orchd.cache.stored_encoding import at_revision, with_origin
from orchd.cache.subscriptions import Subscription, Subscriptions
from orchd.cache.window import Window
from orchd.cache.written_objects import Announced
from orchd.errors import ApiError, expired, resource_version_too_large, unavailable
from orchd.kinds.codec.sortedjson import UNSORTED
from orchd.kinds.objects.list_query import EVERYTHING, Selection
from orchd.store.interfaces import DamagedValue, Event, EventType, IStore, KeyValue, StoreError
from orchd.txkit.log import Logger
from orchd.txkit.metrics.histogram import Histogram

_EMPTY: Mapping[str, str] = {}
#: Number of distinct label sets retained for sharing between entries, and of labels up to which a set is shared.
_SHARED, _FEW = 1000, 64
_log = Logger()
#: Bucket upper bounds in seconds of waits for a revision.
READ_WAITS: Final = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLimits:
    """`window_seconds`, `window_events` and `window_bytes` bound the history of each cache, `derived_bytes` the derived
    representations of all of them (table rows, other encodings, decoded objects). A read waits for a revision for at
    most `patience` seconds."""

    window_seconds: float = 300.0
    window_events: int = 10_000
    window_bytes: int = 64 * 1024 * 1024
    derived_bytes: int = 32 * 1024 * 1024
    patience: float = 3.0


DEFAULT_LIMITS: Final = CacheLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEnvironment:
    """Collaborators and limits that the caches of one store share. `one_server` is True if all writers of the store are
    processes of this server."""

    store: IStore
    clock: IReactorTime
    progress: Progress
    budget: DerivedBudget
    announced: Announced
    limits: CacheLimits
    one_server: bool = False


@implementer(ICache)
class ResourceCache:
    """The cache of one resource. Created, loaded and fed by `Caches`.

    Loading: `begin_load`, `add_loaded` for each portion, `finish_load`; `apply` for each event; `restart` after a gap,
    and `close`. For metrics: `applied_events`, `len()` entries, `entry_bytes`, `subscribers`, `window_length`,
    `window_bytes`, `indexed`, `unreadable`.
    """

    def __init__(self, key: str, index: Index, environment: CacheEnvironment) -> None:
        self.key = key
        self.prefix = f"/{key}/"
        self.applied_events = 0
        #: Times that the current objects were loaded, consistent reads, and values met that cannot be decoded.
        self.initializations = self.consistent_reads = self.decode_errors = 0
        #: Seconds that reads waited for a revision.
        self.read_waits = Histogram(READ_WAITS)
        self._cut = len(self.prefix)
        self._index = index
        self._store = environment.store
        self.alone: bool = environment.store.exclusive
        self._progress = environment.progress
        self._clock = environment.clock
        self._budget = environment.budget
        self._announced = environment.announced
        self._one_server = environment.one_server
        self._entries: dict[str, Entry] = {}
        #: Size of all current objects in bytes.
        self.entry_bytes = 0
        self._paths: SortedList = SortedList()
        self._share = _Shared()
        self._window = Window(limit=environment.limits.window_events, limit_bytes=environment.limits.window_bytes)
        self._indexes = Indexes()
        self._subscriptions = Subscriptions()
        #: Events up to this revision are in the entries; `Progress` may be behind it just after loading.
        self._floor = 0
        self._ready = False
        #: Entries and damaged values being loaded, and the revision of the load.
        self._loading: dict[str, Entry] = {}
        self._loading_damaged: dict[str, Damaged] = {}
        #: Unreadable values met during a load, reported at its end, when it is known which are current. None outside of
        #: a load.
        self._loaded_damage: list[Damaged] | None = None
        self.lists = ListCounts()
        #: Values that cannot be served, by path.
        self._damaged: dict[str, Damaged] = {}
        self._load_revision = 0
        self._waiting: list[Deferred[None]] = []
        self._closed: ApiError | None = None
        #: Events that arrived while loading.
        self._early: list[Event] = []

    # Figures.

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def revision(self) -> int:
        reached = self._progress.revision
        return reached if reached > self._floor else self._floor

    @property
    def oldest(self) -> int:
        return self._window.oldest

    @property
    def subscribers(self) -> int:
        return len(self._subscriptions)

    @property
    def capacity(self) -> int:
        """Maximum number of changes in the window."""
        return self._window.limit

    @property
    def window_length(self) -> int:
        return len(self._window)

    @property
    def window_bytes(self) -> int:
        return self._window.bytes

    @property
    def forgotten_bytes(self) -> int:
        """Total bytes of the changes that the window has dropped."""
        return self._window.forgotten_bytes

    @property
    def indexed(self) -> int:
        return len(self._indexes)

    # Loading.

    def begin_load(self, revision: int) -> None:
        """Begin to load the state at a revision. Readers see it after `finish_load`."""
        self._loading, self._loading_damaged = {}, {}
        self._loaded_damage = []
        self._load_revision = revision

    def add_loaded(self, items: Iterable[KeyValue]) -> None:
        """Add a portion of the state at the revision of the load."""
        for item in items:
            path = item.key[self._cut :]
            entry = self._entry(path, item.value, item.revision, item.created, None)
            if isinstance(entry, Damaged):
                self._loading_damaged[path] = entry
                if self._loaded_damage is not None:
                    self._loaded_damage.append(entry)
            else:
                # A load delivers no changes.
                entry.fresh = None
                self._loading[path] = entry

    def finish_load(self, events: Iterable[Event], upto: int) -> None:
        """Publish the loaded state after applying `events` (those from the load's revision to `upto`), then those that
        arrived during the load."""
        if self._closed is not None:
            return
        self._forget_derived()
        self._entries, self._loading = self._loading, {}
        self.entry_bytes = sum(len(entry.json) for entry in self._entries.values())
        self._damaged, self._loading_damaged = self._loading_damaged, {}
        self._paths = SortedList(self._entries)
        self._indexes.clear()
        self._window.restart(self._load_revision)
        self._floor = self._load_revision
        self._ready = True
        self.initializations += 1
        early, self._early = self._early, []
        for event in events:
            self._apply(event)
        loaded_damage, self._loaded_damage = self._loaded_damage, None
        for damaged in loaded_damage or ():
            self._report_damage(damaged)
        self._floor = max(self._floor, upto)
        for event in early:
            if event.revision > self._floor:
                self._apply(event)
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            if not deferred.called:
                deferred.callback(None)

    def restart(self) -> None:
        """End all watches after a gap in the store's events: clients have to list again."""
        self._ready = False
        self._early = []
        self._subscriptions.end(expired(f"too old resource version: the history of {self.key} has a gap"))

    def close(self, error: ApiError) -> None:
        """End all watches and waits with `error`, and free the entries. The cache cannot be used afterwards."""
        self._closed = error
        self._ready = False
        self._early = []
        self._subscriptions.end(error)
        self._forget_derived()
        self._entries, self._loading = {}, {}
        self.entry_bytes = 0
        self._damaged, self._loading_damaged = {}, {}
        self._paths = SortedList()
        self._indexes.clear()
        self._window.restart(self.revision)
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            if not deferred.called:
                deferred.errback(error)

    def expire(self, before: float) -> None:
        """Drop changes of the window that arrived before a monotonic time."""
        self._window.expire(before)

    def _forget_derived(self) -> None:
        """Drop the derived representations of all current entries."""
        for entry in self._entries.values():
            if entry.derived:
                self._budget.forget(entry)

    # Events.

    def apply(self, event: Event) -> None:
        """Apply the next event of this resource. Events during a load are buffered."""
        if not self._ready:
            self._early.append(event)
        elif event.revision > self._floor:
            self._apply(event)

    def _apply(self, event: Event) -> None:
        path = event.key[self._cut :]
        before = self._entries.get(path)
        if event.type is EventType.PUT:
            entry = self._entry(path, event.value, event.revision, event.created, before)
            if isinstance(entry, Damaged) or path in self._damaged:
                self._restart_watches(path, entry, event.revision)
                if isinstance(entry, Damaged):
                    if self._loaded_damage is None:
                        self._report_damage(entry)
                    else:
                        self._loaded_damage.append(entry)
                return
            self._entries[path] = entry
            self.entry_bytes += len(entry.json)
            if before is None:
                self._paths.add(path)
                change = Change(ChangeType.ADDED, entry, None, self._budget)
            else:
                self.entry_bytes -= len(before.json)
                change = Change(ChangeType.MODIFIED, entry, before, self._budget)
            self._indexes.replace(path, before, entry)
        elif before is not None:
            json = at_revision(before.json, before.revision, event.revision)
            entry = Entry(path, event.revision, before.created, json, before.labels, before.fields, self._budget)
            del self._entries[path]
            self.entry_bytes -= len(before.json)
            self._paths.remove(path)
            self._indexes.replace(path, before, None)
            change = Change(ChangeType.DELETED, entry, before, self._budget)
        elif path in self._damaged:
            self._restart_watches(path, None, event.revision)
            return
        else:
            return
        self.applied_events += 1
        self._window.add(change, self._clock.seconds())
        self._subscriptions.publish(path, change)
        change.entry.fresh = None
        if before is not None:
            self._budget.forget(before)

    def _restart_watches(self, path: str, now: Entry | Damaged | None, revision: int) -> None:
        """Apply an event that adds or removes an unreadable value (`now` is None for a deletion). No watch event can
        represent it, so all watches end with 410.

        They end before the state changes, since their owners may read it meanwhile. Clients that list again at once
        wait until the new state is complete."""
        #: Waiters from here on began to wait while the watches ended; earlier ones belong to a load, which resumes
        #: them.
        first_new = len(self._waiting)
        self._ready = False
        self._subscriptions.end(
            expired(f"too old resource version: a value of {self.key} cannot be read, or could not")
        )
        if self._closed is not None:
            return
        before = self._entries.pop(path, None)
        self._damaged.pop(path, None)
        if isinstance(now, Damaged):
            self._damaged[path] = now
        elif now is not None:
            now.fresh = None
            self._entries[path] = now
        after = self._entries.get(path)
        self.entry_bytes += (len(after.json) if after else 0) - (len(before.json) if before else 0)
        if before is None and after is not None:
            self._paths.add(path)
        elif before is not None and after is None:
            self._paths.remove(path)
        self._indexes.replace(path, before, after)
        if before is not None:
            self._budget.forget(before)
        self.applied_events += 1
        self._window.restart(revision)
        self._ready = True
        early, self._early = self._early, []
        for event in early:
            self.apply(event)
        self._waiting, resumed = self._waiting[:first_new], self._waiting[first_new:]
        for deferred in resumed:
            if not deferred.called:
                deferred.callback(None)

    def _entry(self, path: str, value: bytes, revision: int, created: int, before: Entry | None) -> Entry | Damaged:
        try:
            if value.__class__ is DamagedValue:
                raise ValueError("its checksum differs")
            json, lent = with_origin(value, revision)
            announced = self._announced.find(self.prefix + path, value)
            obj = orjson.loads(value) if announced is None else announced
            labels, fields = self._index(obj)
            if before is None or labels != before.labels:
                labels = self._share(labels)
            else:
                labels = before.labels
            if before is not None and fields == before.fields:
                fields = before.fields
            else:
                # Most objects differ in one field or another, but not in most of them.
                fields = {name: intern(text) for name, text in fields.items()}
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            self.decode_errors += 1
            return Damaged(self.prefix + path, revision, str(error))
        if lent is not None:
            self._store.lend(self.prefix + path, revision, lent)
        entry = Entry(path, revision, created, json, labels, fields, self._budget)
        if announced is not None:
            entry.own = True
            entry.fresh = {**announced, "metadata": {**announced["metadata"], "resourceVersion": str(revision)}}
        else:
            # Not during a load, which has history from before the start; nor for a custom kind, whose new schema not
            # all processes know.
            entry.own = self._one_server and self._loaded_damage is None and value.startswith(UNSORTED)
            metadata = obj.get("metadata")
            if metadata.__class__ is dict and metadata.get("resourceVersion") == "":
                metadata["resourceVersion"] = str(revision)
                entry.fresh = obj
        return entry

    def _report_damage(self, damaged: Damaged) -> None:
        """Log an unreadable value. One that was replaced since says nothing about the object."""
        if self._damaged.get(damaged.key[self._cut :]) is damaged:
            _log.error("{why}", why=damaged.error().message)
        else:
            _log.warn(
                "a former value of {key}, at revision {revision}, cannot be read ({why}): the object is not affected, "
                "watches from before that revision start over", key=damaged.key, revision=damaged.revision, why=damaged.why,
            )  # fmt: skip

    # Waiting.

    async def ready(self) -> None:
        while not self._ready:
            if self._closed is not None:
                raise self._closed
            deferred: Deferred[None] = Deferred()
            self._waiting.append(deferred)
            await deferred

    async def fresh(self) -> None:
        self.consistent_reads += 1
        await self.ready()
        if not self.alone:
            try:
                newest = await self._store.current_revision()
            except StoreError as error:
                # A stale response is worse than none.
                raise unavailable(f"the store does not respond: {error}") from error
            await self.at_least(newest)

    async def at_least(self, revision: int) -> None:
        await self.ready()
        began = self._clock.seconds()
        while revision > self.revision:
            await self._progress.wait_for(revision)
            # The cache may have restarted meanwhile.
            await self.ready()
        self.read_waits.observe(READ_WAITS, self._clock.seconds() - began)

    async def applied(self, path: str, revision: int) -> Entry | None:
        await self.at_least(revision)
        current = self._entries.get(path)
        if current is not None and current.revision == revision:
            return current
        change = self._window.at(revision)
        if change is None:
            # The window no longer contains the change: return the current entry instead.
            return current
        return None if change.type is ChangeType.DELETED else change.entry

    # Reading.

    def get(self, path: str) -> Entry | None:
        return self._entries.get(path)

    def damaged(self, path: str) -> Damaged | None:
        return self._damaged.get(path)

    def check_readable(self, prefix: str = "", *, start: str = "", end: str = "") -> None:
        # Usually empty.
        for path in sorted(self._damaged):
            if path >= start and (not end or path < end) and under(path, prefix):
                raise self._damaged[path].error()

    @property
    def unreadable(self) -> int:
        return len(self._damaged)

    def page(
        self,
        *,
        prefix: str = "",
        match: Match | None = None,
        limit: int = 0,
        start: str = "",
        revision: int = 0,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Page:
        current = self.revision
        differs: Mapping[str, Entry | None] = {}
        if revision and revision != current:
            if revision > current:
                raise resource_version_too_large(revision, current)
            # The window of a quiet resource reaches further back than the store's history.
            if revision < max(self._window.oldest, self._store.compacted):
                raise expired("The resourceVersion for the provided list is too old.")
            differs = self._window.past(revision)
        candidates: Collection[str] | None = None
        # Name and namespace are part of the path and need no index.
        indexed = {k: v for k, v in fields.items() if k not in (NAME, NAMESPACE)} if fields else _EMPTY
        if labels or indexed:
            candidates = self._indexes.paths(self._entries.values(), labels or _EMPTY, indexed)
        page = list_page(
            Snapshot(self._entries, self._paths, differs, revision or current),
            Requirements(match, labels or _EMPTY, fields or _EMPTY),
            prefix=prefix,
            start=start,
            limit=limit,
            candidates=candidates,
        )
        self.lists.add(page, "" if candidates is None else "labels" if labels else f"f:{next(iter(indexed))}")
        return page

    def subscribe(
        self,
        *,
        after: int,
        prefix: str,
        on_change: Callable[[Change], None],
        on_end: Callable[[Exception], None],
        selection: Selection = EVERYTHING,
    ) -> Subscription:
        self._must_cover(after)
        subscription = Subscription(self._subscriptions, prefix, after, on_change, on_end, selection)
        self._subscriptions.add(subscription)
        for change in self._window.since(after):
            if subscription.active and under(change.entry.path, prefix):
                subscription.deliver(change)
        return subscription

    def past(self, *, after: int, most: int) -> Sequence[Change]:
        self._must_cover(after)
        return self._window.since(after, most)

    def _must_cover(self, after: int) -> None:
        if self._closed is not None:
            raise self._closed
        if after < self._window.oldest or not self._ready:
            raise expired(f"too old resource version: {after} ({self._window.oldest})")


class ListCounts:
    """Lists by index ("" for a scan, "labels", or "f:" and a field), the entries that they examined, and those that
    they returned."""

    __slots__ = ("fetched", "returned", "total")

    def __init__(self) -> None:
        self.total: dict[str, int] = {}
        self.fetched: dict[str, int] = {}
        self.returned = 0

    def add(self, page: Page, index: str) -> None:
        self.total[index] = self.total.get(index, 0) + 1
        self.fetched[index] = self.fetched.get(index, 0) + page.fetched
        self.returned += len(page.entries)


class _Shared:
    """Shares equal label sets of at most `_FEW` labels between entries, to save memory."""

    __slots__ = ("_shared",)

    def __init__(self) -> None:
        self._shared: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def __call__(self, strings: Mapping[str, str]) -> Mapping[str, str]:
        if not strings:
            return _EMPTY
        if len(strings) > _FEW:
            return strings
        key = tuple(strings.items())
        shared = self._shared.get(key)
        if shared is None:
            if len(self._shared) >= _SHARED:
                # Existing entries keep their sets; later ones share new copies.
                self._shared.clear()
            shared = self._shared[key] = {intern(k): intern(v) for k, v in key}
        return shared
