"""All caches of a server, fed by one watch of the whole store.

The watch delivers the events of all resources, so its progress is that of all caches: a write to one resource advances
the revision of the others as well. Loading is separate from the watch: it reads the state at the oldest revision that
the store still serves and the events since then, so that watches from before a restart can continue. All caches that
exist when the watch starts are loaded together, because reading history costs the store the same for one as for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall, deferLater
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.cache.derived import DerivedBudget
from orchd.cache.entries import Index
from orchd.cache.interfaces import ICaches
from orchd.cache.progress import Progress
from orchd.cache.resource import DEFAULT_LIMITS, CacheEnvironment, CacheLimits, ResourceCache
from orchd.cache.written_objects import Announced
from orchd.errors import ApiError, unavailable
from orchd.store.interfaces import CompactedError, Event, IStore, IWatch, KeyValue, Range, StoreError
from orchd.txkit.background import Background
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.memory import release_free_memory

_log = Logger()
_T = TypeVar("_T", Event, KeyValue)
#: Number of entries created in one reactor turn while loading.
_PORTION = 500
#: Seconds between attempts to reach an unavailable store.
_RETRY = 1.0
#: Bytes of dropped history after which free memory is returned to the operating system.
_RELEASE_THRESHOLD = 16 * 1024 * 1024


@implementer(ICaches)
class Caches:
    """The caches of all resources.

    With `one_server` all writers of the store are processes of this server.

    For metrics: `caches` (by key), `restarts` (of the watch), `lag` (revisions), `waiting` (reads), `derived_budget`.
    """

    def __init__(
        self, store: IStore, *, clock: IReactorTime, limits: CacheLimits = DEFAULT_LIMITS, one_server: bool = False
    ) -> None:
        self.caches: dict[str, ResourceCache] = {}
        self.restarts = 0
        self.derived_budget = DerivedBudget(limits.derived_bytes)
        self.announced = Announced()
        self._store = store
        self._clock = clock
        self._limits = limits
        self._progress = Progress(clock, patience=limits.patience)
        self._environment = CacheEnvironment(
            store=store,
            clock=clock,
            progress=self._progress,
            budget=self.derived_budget,
            announced=self.announced,
            limits=limits,
            one_server=one_server,
        )
        self._loads = Background()
        self._watch: IWatch | None = None
        self._retry: Any = None
        #: Bytes of dropped history when free memory was last returned to the operating system.
        self._released = 0
        self._expiry = LoopingCall(self._expire)
        self._expiry.clock = clock

    @property
    def lag(self) -> int:
        return max(0, self._store.revision - self._progress.revision)

    @property
    def waiting(self) -> int:
        return len(self._progress)

    # Start and stop.

    def start(self) -> Deferred[None]:
        """Start to watch the store, which must be started. Wait for `ICache.ready` before reading a cache."""
        self._expiry.start(max(1.0, self._limits.window_seconds / 10), now=False).addErrback(self._log_expiry_failure)
        self._follow()
        return succeed(None)

    def stop(self) -> Deferred[None]:
        """Stop watching the store and close all caches. They cannot be read afterwards."""
        if self._expiry.running:
            self._expiry.stop()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._stop_loading()
        for key in list(self.caches):
            self._close(key, unavailable("the server is stopping"))
        return succeed(None)

    def cache(self, key: str, index: Index) -> ResourceCache:
        cache = self.caches.get(key)
        if cache is None:
            for other in self.caches:
                if key.startswith(other + "/") or other.startswith(key + "/"):
                    raise ValueError(f"the keys /{key}/ and /{other}/ overlap")
            cache = self.caches[key] = ResourceCache(key, index, self._environment)
            if self._watch is not None:
                self._load([cache])
        return cache

    def drop(self, key: str) -> None:
        if key in self.caches:
            self._close(key, ApiError(410, "Gone", "the resource is no longer served"))

    def _close(self, key: str, error: ApiError) -> None:
        self.caches.pop(key).close(error)

    # Watching.

    def _follow(self) -> None:
        """Watch the store from its current revision, and load all caches."""
        self._retry = None
        self._progress.advance(self._store.revision)
        try:
            self._watch = self._store.watch(
                "/",
                after=self._store.revision,
                on_events=self._dispatch,
                on_end=self._ended,
                on_progress=self._progress.advance,
            )
        except StoreError as error:
            self._schedule_retry(error)
            return
        if self.caches:
            self._load(list(self.caches.values()))

    def _ended(self, error: StoreError) -> None:
        """Restart after the store ended the watch: events until the next watch are lost."""
        self._watch = None
        self.restarts += 1
        self._stop_loading()
        for cache in list(self.caches.values()):
            cache.restart()
        self._schedule_retry(error)

    def _schedule_retry(self, error: StoreError) -> None:
        _log.warn("the store ended the watch, retrying: {why}", why=str(error))
        self._retry = self._clock.callLater(_RETRY, self._follow)

    def _dispatch(self, events: Sequence[Event]) -> None:
        progress = self._progress
        for event in events:
            cache = self._find(event.key)
            progress.revision = event.revision
            if cache is not None:
                cache.apply(event)
        progress.wake()

    def _find(self, key: str) -> ResourceCache | None:
        """The cache of a store key. Resource keys have one or several segments; none is a prefix of another
        (`cache`)."""
        slash = key.find("/", 1)
        while slash != -1:
            cache = self.caches.get(key[1:slash])
            if cache is not None:
                return cache
            slash = key.find("/", slash + 1)
        return None

    # Loading.

    def _load(self, caches: list[ResourceCache]) -> None:
        self._loads.add(self._load_with_retries(caches), "loading caches")

    def _stop_loading(self) -> None:
        loads, self._loads = self._loads, Background()
        start(loads.stop())

    async def _load_with_retries(self, caches: list[ResourceCache]) -> None:
        while True:
            try:
                await self._load_once(caches, past=True)
                return
            except StoreError as error:
                why = str(error)
            try:
                await self._load_once(caches, past=False)
            except StoreError as error:
                _log.warn("cannot load caches, retrying: {why}", why=str(error))
                await deferLater(self._clock, _RETRY)
            else:
                _log.warn(
                    "cannot read the history of the store: caches start at its current revision, and earlier resource "
                    "versions are refused with 410 (Expired): {why}",
                    why=why,
                )
                return

    async def _load_once(self, caches: list[ResourceCache], *, past: bool) -> None:
        """Load the oldest useful state and the events since, or (not `past`) the current state. Raises StoreError.

        The caches with few objects are loaded first, and each can be read as soon as it is."""
        prefix = caches[0].prefix if len(caches) == 1 else "/"
        page = await (self._oldest(prefix) if past else self._store.range(prefix))
        begun = page.revision
        for cache in caches:
            cache.begin_load(begun)
        items = self._by_cache(page.items, caches)
        # The values of the objects that have been loaded need not be kept.
        del page
        events, reached = await self._events_since(prefix, begun)
        parts = self._by_cache(events, caches)
        watching, room = self._watch, _PORTION
        for cache in sorted(caches, key=lambda each: len(items[each])):
            rest = items.pop(cache)
            while rest:
                if not room:
                    await deferLater(self._clock, 0)
                    room = _PORTION
                portion = rest[-room:]
                del rest[-room:]
                room -= len(portion)
                cache.add_loaded(portion)
            cache.finish_load(parts[cache], reached)
            if self._watch is not watching:
                # Code that waited for the cache has resumed, and stopped or restarted all of them.
                return

    async def _events_since(self, prefix: str, after: int) -> tuple[list[Event], int]:
        """The events after a revision, and the revision up to which they are complete. Raises StoreError."""
        events: list[Event] = []
        done: Deferred[int] = Deferred()

        def on_events(more: Sequence[Event]) -> None:
            if not done.called:
                events.extend(more)

        def on_progress(revision: int) -> None:
            if not done.called:
                done.callback(revision)

        def on_end(error: StoreError) -> None:
            if not done.called:
                done.errback(error)

        watch = self._store.watch(prefix, after=after, on_events=on_events, on_end=on_end, on_progress=on_progress)
        try:
            return events, await done
        finally:
            watch.cancel()

    def _by_cache(self, keyed: Iterable[_T], caches: Collection[ResourceCache]) -> dict[ResourceCache, list[_T]]:
        """Group keyed values by cache, in order. Values of other caches, and of none, are omitted."""
        parts: dict[ResourceCache, list[_T]] = {cache: [] for cache in caches}
        for each in keyed:
            cache = self._find(each.key)
            if cache is not None and cache in parts:
                parts[cache].append(each)
        return parts

    async def _oldest(self, prefix: str) -> Range:
        """The state at the oldest revision that the store serves and the window can hold, else the current state."""
        store = self._store
        try:
            return await store.range(prefix, revision=max(store.compacted, store.revision - self._limits.window_events))
        except CompactedError:
            return await store.range(prefix)

    def _expire(self) -> None:
        before = self._clock.seconds() - self._limits.window_seconds
        for cache in self.caches.values():
            cache.expire(before)
        forgotten = sum(cache.forgotten_bytes for cache in self.caches.values())
        if forgotten - self._released > _RELEASE_THRESHOLD:
            release_free_memory()
        elif forgotten >= self._released:
            return
        # Also reset when caches with much dropped history were closed.
        self._released = forgotten

    def _log_expiry_failure(self, failure: Failure) -> None:
        _log.failure("the expiry of old changes stopped with an error", failure)
