"""All caches of a server, fed by one watch of the whole store.

The watch has every event of every resource, so its progress is that of all caches: a write to one resource makes the
others newer too, in no time. Loading (`_load`) is apart from it: the state at the oldest revision that the store still
serves and what happened since, so that watches from before a restart can go on. All caches that are there when
following begins load together, because looking back costs the store the same for one as for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.cache.derived import Derived
from orchd.cache.interfaces import ICaches, Index
from orchd.cache.progress import Progress
from orchd.cache.resource import ResourceCache
from orchd.errors import ApiError, unavailable
from orchd.store.interfaces import CompactedError, Event, IStore, IWatch, KeyValue, Range, StoreError
from orchd.txkit.memory import give_back

_log = Logger()
_T = TypeVar("_T", Event, KeyValue)
#: Entries that are made in one reactor turn while loading.
_PIECE = 500
#: Seconds between attempts to reach a store that does not answer.
_RETRY = 1.0
#: Bytes of forgotten history after which it is worth the time to give free memory back.
_WORTH_GIVING_BACK = 16 * 1024 * 1024


@implementer(ICaches)
class Caches:
    """`window_seconds`, `window_events` and `window_bytes` bound the history of each cache, `derived_bytes` what is kept
    beside the entries of all of them (rows of tables, other encodings, decoded objects); `patience` is how many seconds a
    read waits for a revision.

    Figures for metrics: `caches` (by key), `restarts` (of the watch), `lag` (revisions), `waiting` (reads), `derived`.
    """

    def __init__(
        self,
        store: IStore,
        *,
        clock: Any,
        window_seconds: float = 300.0,
        window_events: int = 10_000,
        window_bytes: int = 64 * 1024 * 1024,
        derived_bytes: int = 32 * 1024 * 1024,
        patience: float = 3.0,
    ) -> None:
        self.caches: dict[str, ResourceCache] = {}
        self.restarts = 0
        self.derived = Derived(derived_bytes)
        self._store = store
        self._clock = clock
        self._window_seconds = window_seconds
        self._window_events = window_events
        self._window_bytes = window_bytes
        self._progress = Progress(clock, patience=patience)
        self._loading: set[Deferred[None]] = set()
        self._watch: IWatch | None = None
        self._retry: Any = None
        self._running = False
        #: Bytes that had been forgotten when free memory was last given back to the system.
        self._given_back = 0
        self._expiry = LoopingCall(self._expire)
        self._expiry.clock = clock

    @property
    def lag(self) -> int:
        return max(0, self._store.revision - self._progress.revision)

    @property
    def waiting(self) -> int:
        return len(self._progress)

    # Life.

    def start(self) -> Deferred[None]:
        """Begin to follow the store, which must be started. `ICache.ready` says when a cache can be read."""
        self._running = True
        self._expiry.start(max(1.0, self._window_seconds / 10), now=False).addErrback(self._broken)
        self._follow()
        return succeed(None)

    def stop(self) -> Deferred[None]:
        """End every watch and stop following. Nothing can be read afterwards."""
        self._running = False
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
        found = self.caches.get(key)
        if found is None:
            for other in self.caches:
                if key.startswith(other + "/") or other.startswith(key + "/"):
                    raise ValueError(f"objects under /{key}/ would be mixed up with those under /{other}/")
            found = self.caches[key] = ResourceCache(
                key,
                index,
                self._store,
                self._progress,
                self._clock,
                limit=self._window_events,
                limit_bytes=self._window_bytes,
                derived=self.derived,
            )
            if self._watch is not None:
                self._load([found])
        return found

    def drop(self, key: str) -> None:
        if key in self.caches:
            self._close(key, ApiError(410, "Gone", "the resource is no longer served"))

    def _close(self, key: str, error: ApiError) -> None:
        self.caches.pop(key).close(error)

    # Following.

    def _follow(self) -> None:
        """Watch everything from now on, and have all caches loaded anew."""
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
            self._later(error)
            return
        if self.caches:
            self._load(list(self.caches.values()))

    def _ended(self, error: StoreError) -> None:
        """The store ended the watch: what happens until the next one begins is not known here."""
        self._watch = None
        self.restarts += 1
        self._stop_loading()
        for cache in list(self.caches.values()):
            cache.restart()
        self._later(error)

    def _later(self, error: StoreError) -> None:
        if self._running:
            _log.warn("the store ended its watch, trying again: {why}", why=str(error))
            self._retry = self._clock.callLater(_RETRY, self._follow)

    def _dispatch(self, events: Sequence[Event]) -> None:
        progress = self._progress
        for event in events:
            cache = self._of(event.key)
            progress.revision = event.revision
            if cache is not None:
                cache.apply(event)
        progress.wake()

    def _of(self, key: str) -> ResourceCache | None:
        """Whose a store key is. Keys of resources have one segment or a few, and no such key begins another (`cache`)."""
        slash = key.find("/", 1)
        while slash > 0:
            cache = self.caches.get(key[1:slash])
            if cache is not None:
                return cache
            slash = key.find("/", slash + 1)
        return None

    # Loading.

    def _load(self, caches: list[ResourceCache]) -> None:
        loading = Deferred.fromCoroutine(self._load_patiently(caches))
        if not loading.called:
            self._loading.add(loading)
        loading.addBoth(self._load_ended, loading)

    def _load_ended(self, result: Any, loading: Deferred[None]) -> None:
        self._loading.discard(loading)
        if isinstance(result, Failure) and not isinstance(result.value, CancelledError):
            _log.failure("loading failed", result)

    def _stop_loading(self) -> None:
        for loading in list(self._loading):
            loading.cancel()

    async def _load_patiently(self, caches: list[ResourceCache]) -> None:
        while True:
            try:
                await self._load_once(caches, past=True)
                return
            except StoreError as error:
                why = str(error)
            try:
                await self._load_once(caches, past=False)
            except StoreError as error:
                _log.warn("cannot load yet: {why}", why=str(error))
                await deferLater(self._clock, _RETRY)
            else:
                _log.warn(
                    "cannot read the history of the store, so the caches begin at its current state and versions from before "
                    "are answered with 410 (Expired): {why}",
                    why=why,
                )
                return

    async def _load_once(self, caches: list[ResourceCache], *, past: bool) -> None:
        """Load from the oldest state that is worth having, or (not `past`) from the current one. Raises StoreError."""
        prefix = caches[0].prefix if len(caches) == 1 else "/"
        found = await (self._oldest(prefix) if past else self._store.range(prefix))
        for cache in caches:
            cache.begin(found.revision)
        items = found.items
        for first in range(0, len(items), _PIECE):
            if first:
                # Between two pieces the server answers others.
                await deferLater(self._clock, 0)
            for cache, some in self._by_cache(items[first : first + _PIECE], caches):
                cache.take(some)
        events: list[Event] = []
        done: Deferred[None] = Deferred()

        complete = False

        def on_progress(revision: int) -> None:
            nonlocal complete
            if complete or done.called:
                return
            # Whoever waited for a cache goes on inside `loaded`, and may even stop everything.
            complete = True
            parts = dict(self._by_cache(events, caches))
            for cache in caches:
                cache.loaded(parts.get(cache, ()), revision)
            if not done.called:
                done.callback(None)

        def on_end(error: StoreError) -> None:
            if not complete and not done.called:
                done.errback(error)

        watch = self._store.watch(
            prefix, after=found.revision, on_events=events.extend, on_end=on_end, on_progress=on_progress
        )
        try:
            await done
        finally:
            watch.cancel()

    def _by_cache(
        self, keyed: Iterable[_T], caches: Collection[ResourceCache]
    ) -> list[tuple[ResourceCache, list[_T]]]:
        """What belongs to each of `caches`, in order; what belongs to others (or nobody) is left out."""
        parts: dict[ResourceCache | None, list[_T]] = {cache: [] for cache in caches}
        for each in keyed:
            cache = self._of(each.key)
            if cache in parts:
                parts[cache].append(each)
        return [(cache, part) for cache, part in parts.items() if part and cache is not None]

    async def _oldest(self, prefix: str) -> Range:
        """The state as of the oldest revision that is served and worth having, else the current one."""
        store = self._store
        oldest = max(store.compacted, store.revision - self._window_events)
        if oldest < store.revision:
            try:
                return await store.range(prefix, revision=oldest)
            except CompactedError:
                pass
        return await store.range(prefix)

    def _expire(self) -> None:
        before = self._clock.seconds() - self._window_seconds
        for cache in self.caches.values():
            cache.expire(before)
        forgotten = sum(cache.forgotten_bytes for cache in self.caches.values())
        if forgotten - self._given_back > _WORTH_GIVING_BACK:
            give_back()
        elif forgotten >= self._given_back:
            return
        # Also when caches that had forgotten much are gone.
        self._given_back = forgotten

    def _broken(self, failure: Failure) -> None:
        _log.failure("forgetting old changes ended", failure)

    def figures(self) -> Mapping[str, tuple[int, int, int, int]]:
        """By key: entries, changes in the window, subscribers, events applied so far."""
        return {k: (len(c), c.window_length, c.subscribers, c.applied_events) for k, c in self.caches.items()}
