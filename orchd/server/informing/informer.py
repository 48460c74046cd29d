"""One informer on a cache: decodes objects on demand, and follows changes only for listeners.

Decoded objects are cached with their entries while there is space (cache.derived). So an unused informer of fifty
thousand pods costs nothing, and a used one costs what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from zope.interface import implementer

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.cache.interfaces import ICache, ISubscription
from orchd.client.interfaces import IInformer, ResourceRef
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.server.informing.feed import Feed
from orchd.server.informing.index import Function, ObjectIndex
from orchd.server.informing.late import LateChange, LateChanges, Listener, is_large
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.log import Logger
from orchd.txkit.turns import shared_budget

#: Decodes an entry to the informer's version. Raises ValueError for invalid bytes.
Decode = Callable[[Entry], Object]
#: Starts a named background task.
Spawn = Callable[[Coroutine[Deferred[Any], Any, object], str], None]

_Listeners = list[Listener]

#: Estimated memory of a decoded object per byte of its JSON.
_WEIGHT = 6


@implementer(IInformer)
class CachedInformer:
    """Made by `CachedInformers`, which starts `run`. `synced` when the cache is loaded and earlier listeners have
    received the initial objects. `compute` decodes large objects."""

    log = Logger()

    def __init__(
        self,
        ref: ResourceRef,
        cache: ICache,
        decode: Decode,
        clock: IReactorTime,
        spawn: Spawn,
        compute: ComputeThread | None = None,
    ) -> None:
        self.ref = ref
        self.synced = False
        self._cache = cache
        self._decode = decode
        self._clock = clock
        self._turns = shared_budget(clock)
        self._spawn = spawn
        self._form = ("object", ref.version)
        self._indexes: dict[str, ObjectIndex] = {}
        self._listeners: _Listeners = []
        #: Listeners whose initial delivery has not begun, and those in the middle of one.
        self._new: _Listeners = []
        self._feeds: dict[Feed, _Listeners] = {}
        self._sync_waiters: list[Deferred[None]] = []
        #: Waiters for the end of all deliveries.
        self._delivery_waiters: list[Deferred[None]] = []
        self._subscription: ISubscription | None = None
        #: Fires with the previous state after the cache lost its watch.
        self._gap: Deferred[Mapping[str, Entry]] = Deferred()
        self._compute = compute or ComputeThread()
        name = f"large changes of {ref.plural}"
        self._late = LateChanges(clock, lambda work: spawn(work, name), self._decode_late, self._deliver_late)

    # -- reading

    def get(self, namespace: str, name: str) -> Object | None:
        entry = self._cache.get(f"{namespace}/{name}" if namespace else name)
        return None if entry is None else self._object(entry)

    def list(self, namespace: str = "", labels: Mapping[str, str] | None = None) -> Iterator[Object]:
        entries = self._cache.page(prefix=f"{namespace}/" if namespace else "", labels=labels).entries
        # A full scan needs each object once: it must not evict frequently used ones.
        make, form = self._object if namespace or labels else self._decode, self._form
        return (entry.derived.get(form) or make(entry) for entry in entries)

    def by_index(self, index: str, *values: str) -> Iterable[Object]:
        paths = self._complete(index).paths(values)
        # Most changes of a pod ask for services and budgets that select it, and there are none.
        return list(map(self._object, self._entries_of(paths))) if paths else []

    def holds(self, index: str, value: str) -> bool:
        return any(True for _ in self._entries_of(self._complete(index).paths((value,))))

    def _entries_of(self, paths: Iterable[str]) -> Iterator[Entry]:
        for path in paths:
            entry = self._cache.get(path)
            # A listener that saw the deletion before this one may query already.
            if entry is not None:
                yield entry

    def _object(self, entry: Entry) -> Object:
        obj: Object | None = entry.derived.get(self._form)
        if obj is None:
            obj = self._decode(entry)
            entry.keep(self._form, obj, _WEIGHT * len(entry.json))
            if obj is entry.fresh:
                entry.decoded_form = self._form
        return obj

    def _decode_once(self, entry: Entry) -> Object:
        """The object, without keeping it."""
        obj: Object | None = entry.derived.get(self._form)
        return self._decode(entry) if obj is None else obj

    # -- indexes

    def add_index(self, index: str, function: Function) -> None:
        self._indexes[index] = ObjectIndex(function)

    async def wait_indexed(self, index: str) -> None:
        await self.wait_synced()
        index_ = self._indexes[index]
        if not index_.requested:
            self._spawn(self._fill(index_), f"index of {self.ref.plural}")
        if not index_.complete:
            waiting: Deferred[None] = Deferred()
            index_.waiting.append(waiting)
            await waiting

    def _complete(self, index: str) -> ObjectIndex:
        index_ = self._indexes[index]
        if not index_.complete and self.synced:
            for entry in self._begin_index(index_):
                self._put(index_, entry.path, self._cache.get(entry.path))
            index_.complete = True
        return index_

    async def _fill(self, index: ObjectIndex) -> None:
        """Build an index over several turns. Objects are put in their current state."""
        try:
            for entry in self._begin_index(index):
                await self._turns.wait()
                if index.complete:
                    break
                self._put(index, entry.path, self._cache.get(entry.path))
            index.complete = True
        finally:
            # On any error: waiters build the missing part synchronously.
            index.requested = index.complete
            waiting, index.waiting = index.waiting, []
            for each in waiting:
                if not each.called:
                    each.callback(None)

    def _begin_index(self, index: ObjectIndex) -> Iterator[Entry]:
        index.requested = True
        self._follow()
        return iter(self._cache.page().entries)

    def _put(self, index: ObjectIndex, path: str, entry: Entry | None) -> None:
        try:
            obj = None if entry is None else self._decode_once(entry)
        except ValueError:
            self.log.failure("cannot index {path} of {ref}", path=path, ref=self.ref.plural)
            obj = None
        self._put_object(index, path, obj)

    def _put_object(self, index: ObjectIndex, path: str, obj: Object | None) -> None:
        try:
            index.put(path, obj)
        except Exception:
            # One invalid object must not hide the others.
            self.log.failure("cannot index {path} of {ref}", path=path, ref=self.ref.plural)
            index.put(path, None)

    # -- listening

    def add_listener(self, listener: Listener) -> None:
        if not self.synced:
            self._listeners.append(listener)
            return
        # Controllers start one after another, and each needs all objects: deliver to all in one pass.
        if not self._new:
            self._spawn(self._feed_new(), f"listeners to {self.ref.plural}")
        self._new.append(listener)

    def remove_listener(self, listener: Listener) -> None:
        for listeners in (self._listeners, self._new, *self._feeds.values()):
            if listener in listeners:
                listeners.remove(listener)
                return
        raise ValueError("not a listener")

    async def _feed_new(self) -> None:
        await deferLater(self._clock, 0)
        listeners, self._new = self._new, []
        feed = Feed(self._cache.page().entries)
        self._feeds[feed] = listeners
        self._follow()
        for path in feed:
            await self._turns.wait()
            entry = self._cache.get(path)
            feed.mark_delivered(path)
            if entry is None:
                continue
            change = Change(ChangeType.ADDED, entry, None)
            if is_large(change):
                self._late.add(LateChange(change=change, new=entry, listeners=tuple(listeners)))
            else:
                self._notify(listeners, "ADDED", None, entry, self._decode_once)
            while self._late:
                await self._turns.wait_next()
        del self._feeds[feed]
        self._listeners += listeners
        waiting, self._delivery_waiters = self._delivery_waiters, []
        for each in waiting:
            each.callback(None)

    async def wait_delivered(self) -> None:
        await self.wait_synced()
        while self._new or self._feeds:
            delivered: Deferred[None] = Deferred(self._delivery_waiters.remove)
            self._delivery_waiters.append(delivered)
            await delivered

    def _notify(
        self, listeners: Iterable[Listener], kind: str, old: Entry | None, new: Entry | None, decode: Decode
    ) -> None:
        """Call listeners; `decode` decodes new objects."""
        try:
            before = None if old is None else self._decode_once(old)
            after = None if new is None else decode(new)
        except ValueError:
            self.log.failure("{ref} has an invalid object", ref=self.ref.plural)
            return
        for listener in tuple(listeners):
            self._call(listener, kind, before, after)

    def _call(self, listener: Listener, kind: str, before: Object | None, after: Object | None) -> None:
        try:
            listener(kind, before, after)
        except Exception:
            # Other listeners, and the writer in whose reactor turn this runs, must not be affected.
            self.log.failure("listener of {ref} failed", ref=self.ref.plural)

    # -- following

    async def wait_synced(self) -> None:
        if not self.synced:
            waiting: Deferred[None] = Deferred()
            self._sync_waiters.append(waiting)
            await waiting

    async def run(self) -> None:
        """Follow the cache until it is closed. After a gap in its history, deliver the differences and continue."""
        before: Mapping[str, Entry] = {}
        while True:
            try:
                await self._cache.ready()
            except ApiError:
                # The kind was removed, or the server stops.
                return
            self._gap = Deferred()
            if self._followed:
                self._catch_up(before)
                self._follow()
            self.synced = True
            waiting, self._sync_waiters = self._sync_waiters, []
            for each in waiting:
                if not each.called:
                    each.callback(None)
            before = await self._gap

    def close(self) -> None:
        """Release the cache; waiters fail."""
        if self._subscription is not None:
            self._subscription.cancel()
        self._late.clear()
        for each in list(self._delivery_waiters):
            each.cancel()
        for waiting in (self._sync_waiters, *(index.waiting for index in self._indexes.values())):
            while waiting:
                waiting.pop().cancel()

    @property
    def _followed(self) -> bool:
        """True if there are listeners or indexes."""
        return bool(self._listeners or self._feeds) or any(index.requested for index in self._indexes.values())

    def _follow(self) -> None:
        """Follow changes from now on."""
        if self._subscription is not None:
            return
        try:
            self._subscription = self._cache.subscribe(
                after=self._cache.revision, prefix="", on_change=self._changed, on_end=self._ended
            )
        except ApiError as error:
            # The cache is reloading: `run` continues from its new state afterwards.
            self._ended(error)

    def _changed(self, change: Change) -> None:
        new = None if change.type is ChangeType.DELETED else change.entry
        if self._late or is_large(change):
            self._late.add(LateChange(change=change, new=new, listeners=tuple(self._concerned(change))))
        else:
            self._apply(change, new)

    def _ended(self, error: Exception) -> None:
        self._late.flush()
        self._subscription = None
        if not self._gap.called:
            self._gap.callback({entry.path: entry for entry in self._cache.page().entries})

    def _catch_up(self, before: Mapping[str, Entry]) -> None:
        """Deliver the differences from `before`."""
        now = {entry.path: entry for entry in self._cache.page().entries}
        for path, old in before.items():
            if path not in now:
                self._apply(Change(ChangeType.DELETED, old, old), None)
        for path, new in now.items():
            was = before.get(path)
            if was is None:
                self._apply(Change(ChangeType.ADDED, new, None), new)
            elif was.revision != new.revision:
                self._apply(Change(ChangeType.MODIFIED, new, was), new)

    def _apply(self, change: Change, new: Entry | None) -> None:
        path = change.entry.path
        for index in self._indexes.values():
            if index.requested:
                self._put(index, path, new)
        if concerned := self._concerned(change):
            self._notify(concerned, change.type.value, change.previous, new, self._object)

    def _concerned(self, change: Change) -> _Listeners:
        """The listeners that a change is to be delivered to."""
        concerned = self._listeners
        for feed, listeners in self._feeds.items():
            if feed.includes(change):
                concerned = concerned + listeners
        return concerned

    # -- large changes

    async def _decode_late(self, late: LateChange) -> None:
        """Decode the objects of a change away from the reactor. What cannot be decoded is reported at delivery."""
        for entry in (late.change.previous, late.new):
            if entry is None or entry in late.objects:
                continue
            obj: Object | None = entry.derived.get(self._form)
            if obj is None:
                try:
                    obj = await self._compute(len(entry.json), self._decode, entry)
                except ValueError:
                    return
                if entry is late.new:
                    entry.keep(self._form, obj, _WEIGHT * len(entry.json))
            late.objects[entry] = obj

    def _deliver_late(self, late: LateChange) -> Iterator[None]:
        """Update one index or call one listener in each step."""
        path, old, new = late.change.entry.path, late.change.previous, late.new
        try:
            before = None if old is None else late.objects.get(old) or self._decode_once(old)
            after = None if new is None else late.objects.get(new) or self._object(new)
        except ValueError:
            self.log.failure("{ref} has an invalid object", ref=self.ref.plural)
            for index in self._indexes.values():
                index.put(path, None)
            return
        for index in tuple(self._indexes.values()):
            if index.requested:
                self._put_object(index, path, after)
                yield
        for listener in late.listeners:
            # One that was removed meanwhile is not called any more.
            if self._is_listening(listener):
                self._call(listener, late.change.type.value, before, after)
                yield

    def _is_listening(self, listener: Listener) -> bool:
        return listener in self._listeners or any(listener in listeners for listeners in self._feeds.values())
