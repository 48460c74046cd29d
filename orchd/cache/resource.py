"""The read model of one resource: current entries in order, recent changes, indexes, subscribers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from sys import intern
from typing import Any

from sortedcontainers import SortedList
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from orchd.cache.derived import Derived
from orchd.cache.fanout import Fanout, Subscription
from orchd.cache.indexes import Indexes
from orchd.cache.interfaces import Change, ChangeType, Damaged, Entry, ICache, Index, Match, Page, under
from orchd.cache.listing import NAME, NAMESPACE, listed
from orchd.cache.progress import Progress
from orchd.cache.stored import at_revision, with_revision
from orchd.cache.window import Window
from orchd.errors import ApiError, expired, resource_version_too_large, unavailable
from orchd.store.interfaces import DamagedValue, Event, EventType, IStore, KeyValue, StoreError

_EMPTY: Mapping[str, str] = {}
#: Different sets of labels or fields that are remembered in order to be shared.
_SHARED = 1000
_log = Logger()


@implementer(ICache)
class ResourceCache:
    """`Caches` makes it, feeds it (`begin`, `take`, `apply`, `loaded`) and ends it (`restart`, `close`).

    Figures for metrics: `applied_events`, `len()` entries, `subscribers`, `window_length`, `window_bytes`, `indexed`,
    `unreadable` values.
    """

    def __init__(
        self,
        key: str,
        index: Index,
        store: IStore,
        progress: Progress,
        clock: Any,
        *,
        limit: int,
        limit_bytes: int,
        derived: Derived,
    ) -> None:
        self.key = key
        self.prefix = f"/{key}/"
        self.applied_events = 0
        self._cut = len(self.prefix)
        self._index = index
        self._store = store
        self._progress = progress
        self._clock = clock
        self._derived = derived
        self._entries: dict[str, Entry] = {}
        self._paths: SortedList = SortedList()
        self._share = _Shared()
        self._window = Window(limit=limit, limit_bytes=limit_bytes)
        self._indexes = Indexes()
        self._fanout = Fanout()
        #: Events up to here are in the entries; `Progress` may be behind just after loading.
        self._floor = 0
        self._ready = False
        #: What is being loaded, and as of when.
        self._taken: dict[str, Entry] = {}
        self._taken_damaged: dict[str, Damaged] = {}
        #: Values that cannot be served, by path.
        self._damaged: dict[str, Damaged] = {}
        self._began = 0
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
        return len(self._fanout)

    @property
    def window_length(self) -> int:
        return len(self._window)

    @property
    def window_bytes(self) -> int:
        return self._window.bytes

    @property
    def forgotten_bytes(self) -> int:
        """Bytes of all changes that the window has forgotten."""
        return self._window.forgotten_bytes

    @property
    def indexed(self) -> int:
        return len(self._indexes)

    # Loading.

    def begin(self, revision: int) -> None:
        """Start from nothing, as of a revision; `take` brings what was there then. Not seen before `loaded`."""
        self._taken, self._taken_damaged = {}, {}
        self._began = revision

    def take(self, items: Iterable[KeyValue]) -> None:
        for item in items:
            path = item.key[self._cut :]
            entry = self._entry(path, item.value, item.revision, item.created, None)
            if isinstance(entry, Damaged):
                self._taken_damaged[path] = entry
            else:
                self._taken[path] = entry

    def loaded(self, events: Iterable[Event], upto: int) -> None:
        """`events` are what happened between `begin` and `upto`; with those that came meanwhile all is complete."""
        if self._closed is not None:
            return
        self._forget_forms()
        self._entries, self._taken = self._taken, {}
        self._damaged, self._taken_damaged = self._taken_damaged, {}
        self._paths = SortedList(self._entries)
        self._indexes.clear()
        self._window.restart(self._began)
        self._floor = self._began
        self._ready = True
        early, self._early = self._early, []
        for event in events:
            self._apply(event)
        self._floor = max(self._floor, upto)
        for event in early:
            if event.revision > self._floor:
                self._apply(event)
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            if not deferred.called:
                deferred.callback(None)

    def restart(self) -> None:
        """What the store says no longer connects with what is here: everybody has to list again."""
        self._ready = False
        self._early = []
        self._fanout.end(expired(f"too old resource version: the history of {self.key} has a gap"))

    def close(self, error: ApiError) -> None:
        """End for good."""
        self._closed = error
        self._ready = False
        self._early = []
        self._fanout.end(error)
        self._forget_forms()
        self._entries, self._taken = {}, {}
        self._damaged, self._taken_damaged = {}, {}
        self._paths = SortedList()
        self._indexes.clear()
        self._window.restart(self.revision)
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            if not deferred.called:
                deferred.errback(error)

    def expire(self, before: float) -> None:
        self._window.expire(before)

    def _forget_forms(self) -> None:
        """What is here now is over."""
        for entry in self._entries.values():
            if entry.forms:
                self._derived.forget(entry)

    # Events.

    def apply(self, event: Event) -> None:
        """The next event of this resource."""
        if not self._ready:
            if self._closed is None:
                self._early.append(event)
        elif event.revision > self._floor:
            self._apply(event)

    def _apply(self, event: Event) -> None:
        path = event.key[self._cut :]
        before = self._entries.get(path)
        if event.type is EventType.PUT:
            entry = self._entry(path, event.value, event.revision, event.created, before)
            if isinstance(entry, Damaged) or path in self._damaged:
                self._begin_again(path, entry, event.revision)
                return
            self._entries[path] = entry
            if before is None:
                self._paths.add(path)
                change = Change(ChangeType.ADDED, entry, None, self._derived)
            else:
                change = Change(ChangeType.MODIFIED, entry, before, self._derived)
            self._indexes.replace(path, before, entry)
        elif before is not None:
            json = at_revision(before.json, before.revision, event.revision)
            entry = Entry(path, event.revision, before.created, json, before.labels, before.fields, self._derived)
            del self._entries[path]
            self._paths.remove(path)
            self._indexes.replace(path, before, None)
            change = Change(ChangeType.DELETED, entry, before, self._derived)
        elif path in self._damaged:
            self._begin_again(path, None, event.revision)
            return
        else:
            return
        self.applied_events += 1
        self._window.add(change, self._clock.seconds())
        self._fanout.tell(path, change)
        if before is not None:
            self._derived.forget(before)

    def _begin_again(self, path: str, now: Entry | Damaged | None, revision: int) -> None:
        """A value that cannot be read came or went: no change can tell it, so everybody has to list again."""
        before = self._entries.pop(path, None)
        self._damaged.pop(path, None)
        if isinstance(now, Damaged):
            self._damaged[path] = now
        elif now is not None:
            self._entries[path] = now
        after = self._entries.get(path)
        if before is None and after is not None:
            self._paths.add(path)
        elif before is not None and after is None:
            self._paths.remove(path)
        self._indexes.replace(path, before, after)
        if before is not None:
            self._derived.forget(before)
        self.applied_events += 1
        self._window.restart(revision)
        self._fanout.end(expired(f"too old resource version: a value of {self.key} cannot be read, or could not"))

    def _entry(self, path: str, value: bytes, revision: int, created: int, before: Entry | None) -> Entry | Damaged:
        try:
            if value.__class__ is DamagedValue:
                raise ValueError("its checksum differs")
            json = with_revision(value, revision)
            labels, fields = self._index(value)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            damaged = Damaged(self.prefix + path, revision, str(error))
            _log.error("{why}", why=damaged.error().message)
            return damaged
        if before is not None:
            labels = before.labels if labels == before.labels else self._share(labels)
            fields = before.fields if fields == before.fields else self._share(fields)
        else:
            labels, fields = self._share(labels), self._share(fields)
        return Entry(path, revision, created, json, labels, fields, self._derived)

    # Waiting.

    async def ready(self) -> None:
        while not self._ready:
            if self._closed is not None:
                raise self._closed
            deferred: Deferred[None] = Deferred()
            self._waiting.append(deferred)
            await deferred

    async def fresh(self) -> None:
        if not self._ready:
            await self.ready()
        if not self._store.exclusive:
            try:
                newest = await self._store.current_revision()
            except StoreError as error:
                # Rather no answer than one that may be old.
                raise unavailable(f"the store does not answer: {error}") from error
            await self.at_least(newest)

    async def at_least(self, revision: int) -> None:
        if not self._ready:
            await self.ready()
        while revision > self.revision:
            await self._progress.reached(revision)
            # Following may have begun anew meanwhile.
            await self.ready()

    async def applied(self, path: str, revision: int) -> Entry | None:
        await self.at_least(revision)
        current = self._entries.get(path)
        if current is not None and current.revision == revision:
            return current
        change = self._window.at(revision)
        if change is None:
            # So many changes since that the window has forgotten it: what is there now is the best answer.
            return current
        return None if change.type is ChangeType.DELETED else change.entry

    # Reading.

    def get(self, path: str) -> Entry | None:
        return self._entries.get(path)

    def damaged(self, path: str) -> Damaged | None:
        return self._damaged.get(path)

    def check_readable(self, prefix: str = "", *, start: str = "", end: str = "") -> None:
        # As a rule there are none.
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
            if revision < self._window.oldest:
                raise expired("The resourceVersion for the provided list is too old.")
            differs = self._window.past(revision)
        candidates: Collection[str] | None = None
        # The name and namespace are in the path: no index of them.
        indexed = {k: v for k, v in fields.items() if k not in (NAME, NAMESPACE)} if fields else _EMPTY
        if labels or indexed:
            candidates = self._indexes.paths(self._entries.values(), labels or _EMPTY, indexed)
        return listed(
            self._entries,
            self._paths,
            differs,
            revision=revision or current,
            prefix=prefix,
            start=start,
            limit=limit,
            match=match,
            labels=labels or _EMPTY,
            fields=fields or _EMPTY,
            candidates=candidates,
        )

    def subscribe(
        self, *, after: int, prefix: str, on_change: Callable[[Change], None], on_end: Callable[[Exception], None]
    ) -> Subscription:
        self._must_cover(after)
        subscription = Subscription(self._fanout, prefix, after, on_change, on_end)
        self._fanout.add(subscription)
        for change in self._window.since(after):
            if under(change.entry.path, prefix):
                if not subscription.active:
                    break
                subscription.tell(change)
        return subscription

    def past(self, *, after: int, most: int) -> Sequence[Change]:
        self._must_cover(after)
        return self._window.since(after, most)

    def _must_cover(self, after: int) -> None:
        if self._closed is not None:
            raise self._closed
        if after < self._window.oldest or not self._ready:
            raise expired(f"too old resource version: {after} ({self._window.oldest})")


class _Shared:
    """Equal labels (or fields) of many entries, once in memory."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}

    def __call__(self, strings: Mapping[str, str]) -> Mapping[str, str]:
        if not strings:
            return _EMPTY
        key = tuple(strings.items())
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _SHARED:
                # Entries keep what they have; only later ones no longer share with them.
                self._known.clear()
            found = self._known[key] = {intern(k): intern(v) for k, v in key}
        return found
