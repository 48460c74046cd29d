"""Base of single-process stores: current values, guards, recent events, watches.

All current values are held in memory, here or by who has lent them (`lend`), so that reads at the latest revision,
guards, the `previous` of an event and the conflicting value of an error cost no disk access and continue when the disk
fails. Subclasses add durability (`_start_commit`) and history older than the recent events (`_older`, `_undone_since`).

A write is decided and assigned its revision when it is submitted, against the durable state plus pending writes; it
becomes visible when durable. If making it durable fails, all pending writes fail with it (`_discard_pending`).
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from sortedcontainers import SortedList
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime

from orchd.store.grants import Grants
from orchd.store.interfaces import (
    CompactedError,
    Event,
    EventType,
    FutureRevisionError,
    KeyExistsError,
    KeyValue,
    Lent,
    OnEnd,
    OnEvents,
    OnProgress,
    Range,
    RevisionConflictError,
    StoreError,
    UnavailableError,
)
from orchd.store.keys import check_key, prefix_end, span
from orchd.store.leases import Leases
from orchd.store.metrics import revision_gauge, watchers_gauge
from orchd.store.records import (
    Change,
    Record,
    Recorded,
    borrowing,
    event_row,
    item_of,
    lease_of,
    value_size,
    version_of,
)
from orchd.store.watching import Flush, Watch, Watches
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Instrument

_DELETE = EventType.DELETE
_PUT = EventType.PUT


class Write:
    """A decided write: its result (`event`, leaving `item`), or why it failed (`error`, because of pending writes
    before it). Without either it is a barrier, which only waits for the writes before it.

    `expires` is on the reactor's clock, 0 for never; `forwarded` is True if another process waits for it. `rest` are
    further writes of its transaction: they follow it in its batch, and their results are not awaited.
    """

    __slots__ = ("deferred", "error", "event", "expires", "forwarded", "item", "rest")

    def __init__(
        self, event: Event | None, item: KeyValue | None, error: StoreError | None = None, expires: float = 0.0
    ) -> None:
        self.event = event
        self.item = item
        self.error = error
        self.expires = expires
        self.forwarded = False
        self.rest: tuple[Write, ...] = ()
        self.deferred: Deferred[int] = Deferred()


class SingleProcessStore:
    """The part of a store that runs in the reactor's thread. Abstract."""

    exclusive = True
    _log = Logger()

    def __init__(self, reactor: IReactorTime, *, recent_events: int, recent_bytes: int) -> None:
        self.revision = 1
        self.compacted = 1
        #: Called with each new revision before its writes are acknowledged. Must not raise.
        self.on_revision: Callable[[int], None] | None = None
        self._reactor = reactor
        self._refusal = "the store is not started"
        self._items: dict[str, KeyValue] = {}
        self._keys: SortedList = SortedList()
        #: The last pending write by key.
        self._pending: dict[str, Write] = {}
        self._queue: deque[Write] = deque()
        self._next = 2
        #: Every event above `_recent_start`, bounded in number and bytes.
        self._recent: deque[Event] = deque()
        self._recent_start = 1
        self._recent_size = 0
        self._recent_events = recent_events
        self._recent_bytes = recent_bytes
        self._watches = Watches(self)
        #: First row and revision of every transaction with several rows that history has, in order: revisions from the
        #: first row up to the last but one are used by nothing.
        self._joint: list[tuple[int, int]] = []
        self._leases = Leases(reactor, self._expire)
        self.grants = Grants(reactor, self._end_lease)
        self.instruments: tuple[Instrument, ...] = (
            revision_gauge(lambda: self.revision), watchers_gauge(lambda: self.watchers)
        )  # fmt: skip

    # Implemented by subclasses.

    def _start_commit(self) -> None:
        """Called when `_queue` is not empty: make its writes durable and then call `_committed`, in order."""
        raise NotImplementedError

    def _trim(self) -> None:
        """Too many recent events: drop the oldest."""
        raise NotImplementedError

    def _older(self, prefix: str, after: int, upto: int) -> Deferred[tuple[list[Event], int]]:
        """Events before the recent ones: those above `after`, and the revision up to which they are complete."""
        raise NotImplementedError

    def _undone_since(self, low: str, high: str | None, revision: int, upto: int) -> Deferred[list[KeyValue]]:
        """Values as of `revision` of the keys from `low` to `high` that existed then and were written before `upto`."""
        raise NotImplementedError

    def _forget(self, revision: int) -> Deferred[None]:
        """Delete history before `revision` from persistent storage."""
        return succeed(None)

    def _keep_lease(self, lease: int, ttl: int) -> Deferred[None]:
        """Make a lease durable. Fails with StoreError."""
        return succeed(None)

    def _drop_lease(self, lease: int) -> Deferred[None]:
        """Undo `_keep_lease`. Fails with StoreError."""
        return succeed(None)

    # Writes.

    async def create(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        return await self._submit(key, value, 0, ttl)

    async def update(self, key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        return await self._submit(key, value, expected, ttl)

    async def delete(self, key: str, *, expected: int) -> int:
        return await self._submit(key, None, expected, None)

    def _submit(self, key: str, value: bytes | None, expected: int, ttl: int | None) -> Deferred[int]:
        """Decide a write and queue it. `value` None deletes; `expected` 0 creates."""
        if self._refusal:
            raise UnavailableError(self._refusal)
        before = self._pending.get(key)
        current = self._items.get(key) if before is None else before.item
        error: StoreError | None = None
        if value is not None and expected == 0:
            check_key(key)
            if current is not None:
                error = KeyExistsError(key)
        elif current is None or current.revision != expected:
            error = RevisionConflictError(key, current)
        if error is not None:
            if before is None:
                raise error
            # The conflicting state is not durable yet, so the error must wait for that too.
            write = Write(None, None, error)
        else:
            revision = self._next
            self._next = revision + 1
            created = revision if current is None else current.created
            if value is None:
                write = Write(Event(_DELETE, key, b"", revision, created, current), None)
            else:
                item = KeyValue(key, value, revision, created)
                expires = 0.0 if ttl is None else self._reactor.seconds() + ttl
                write = Write(Event(_PUT, key, value, revision, created, current), item, None, expires)
            self._pending[key] = write
        self._queue.append(write)
        deferred = write.deferred
        self._start_commit()
        return deferred

    def _committed(self, batch: Sequence[Write]) -> None:
        """`batch` is durable: make it visible, deliver it to watches, then acknowledge. Other processes come first:
        what this one does with events and acknowledgements may take long."""
        events = [write.event for write in batch if write.event is not None]
        if events:
            items, pending, keys = self._items, self._pending, self._keys
            for write in batch:
                event = write.event
                if event is None:
                    continue
                key = event.key
                if event.__class__ is Recorded or isinstance(event.previous, Record):
                    self._note(event)
                if pending.get(key) is write:
                    del pending[key]
                if write.item is None:
                    del items[key]
                    keys.remove(key)
                else:
                    items[key] = write.item
                    if event.previous is None:
                        keys.add(key)
                    if write.expires:
                        self._leases.add(write.expires, key, event.revision)
                self._recent_size += _size(event)
            self.revision = events[-1].revision
            if self.on_revision is not None:
                self.on_revision(self.revision)
            self._recent.extend(events)
            if len(self._recent) > self._recent_events or self._recent_size > self._recent_bytes:
                self._trim()
        flushes = self._watches.forward(events)
        self._acknowledge([write for write in batch if write.forwarded])
        for flush in flushes:
            flush()
        if events:
            self._watches.dispatch(events)
        self._acknowledge([write for write in batch if not write.forwarded])

    def _acknowledge(self, batch: Sequence[Write]) -> None:
        for write in batch:
            if write.error is not None:
                write.deferred.errback(write.error)
            else:
                write.deferred.callback(self.revision if write.event is None else write.event.revision)

    def _discard_pending(self, batch: Iterable[Write]) -> list[Write]:
        """`batch` was not made durable: discard and return it with all writes decided after it."""
        failed = [*batch, *self._queue]
        self._queue.clear()
        self._pending.clear()
        self._next = self.revision + 1
        return failed

    def _expire(self, key: str, revision: int) -> Deferred[int]:
        return self._submit(key, None, revision, None)

    def _note(self, event: Event) -> None:
        """Follow the leases of keys, and transactions with several rows."""
        item, row = item_of(event), event_row(event)
        before, after = lease_of(event.previous), lease_of(item)
        if before != after:
            if before:
                self.grants.detach(before, event.key)
            if after:
                self.grants.attach(after, event.key)
        if row != event.revision and (not self._joint or self._joint[-1][1] != event.revision):
            self._joint.append((row, event.revision))

    # Transactions, which are decided by the caller: what it reads with `newest` holds until the end of the reactor
    # turn.

    def newest(self, key: str) -> KeyValue | None:
        """The state of a key after all submitted writes, which may not be durable yet."""
        before = self._pending.get(key)
        return self._items.get(key) if before is None else before.item

    def newest_span(self, low: str, high: str | None) -> list[KeyValue]:
        """As `newest`, of all keys from `low` on and before `high` (None: no bound), in order."""
        first, end = span(self._keys, low, high)
        items = {key: self._items[key] for key in self._keys.islice(first, end)}
        changed = False
        for key, write in self._pending.items():
            if low <= key and (high is None or key < high):
                changed = changed or key not in items
                if write.item is None:
                    items.pop(key, None)
                else:
                    items[key] = write.item
        return sorted(items.values(), key=_key) if changed else list(items.values())

    def apply(self, changes: Sequence[Change], *, forwarded: bool = False) -> Deferred[int]:
        """Write all of `changes`, of different keys, at one revision; fires with it when they are durable, and fails
        with UnavailableError if none is. `forwarded`: another process waits for it. Raises ValueError for an invalid
        key, UnavailableError."""
        if self._refusal:
            raise UnavailableError(self._refusal)
        for change in changes:
            check_key(change.key)
        row = self._next
        revision = row + len(changes) - 1
        self._next = revision + 1
        writes = []
        for change in changes:
            key, value, previous = change.key, change.value, self.newest(change.key)
            item = None
            created = revision if previous is None else previous.created
            if value is not None:
                version = version_of(previous) + 1
                item = Record(key, value, revision, created, version=version, lease=change.lease, row=row)
            event = Recorded(key, item, revision=revision, row=row, created=created, previous=previous)
            self._pending[key] = write = Write(event, item)
            writes.append(write)
            row += 1
        first, *rest = writes
        for write in rest:
            # The first one reports a failure.
            write.deferred.addErrback(lambda _: None)
        first.forwarded = forwarded
        first.rest = tuple(rest)
        self._queue.append(first)
        self._start_commit()
        return first.deferred

    @property
    def submitted(self) -> int:
        """The revision that `newest` reads at: that of the last submitted write."""
        return self._next - 1

    def barrier(self) -> Deferred[int]:
        """Fires with the newest revision when every write submitted so far is durable; fails with UnavailableError if
        one is not."""
        if self._refusal:
            raise UnavailableError(self._refusal)
        if not self._pending and not self._queue:
            return succeed(self.revision)
        write = Write(None, None)
        self._queue.append(write)
        self._start_commit()
        return write.deferred

    async def grant(self, lease: int, ttl: int) -> None:
        """Begin a lease, which must not be running, when it is durable. Raises UnavailableError."""
        if self._refusal:
            raise UnavailableError(self._refusal)
        await self._keep_lease(lease, ttl)
        if not self._refusal:
            self.grants.begin(lease, ttl)

    async def revoke(self, lease: int) -> None:
        """End a lease, with all keys attached to it. Raises StoreError, and continues in the background then."""
        if self._refusal:
            raise UnavailableError(self._refusal)
        self.grants.forget(lease)
        try:
            await self._end_lease(lease, self.grants.keys(lease))
        except StoreError:
            self.grants.end(lease)
            raise

    async def _end_lease(self, lease: int, keys: Sequence[str]) -> None:
        # A write of a key that takes it from the lease may be pending.
        changes = [Change(key, None) for key in keys if lease_of(self.newest(key)) == lease]
        if changes:
            await self.apply(changes)
        elif keys:
            await self.barrier()
        await self._drop_lease(lease)

    def visible_revision(self, revision: int) -> int:
        """The newest used revision up to `revision`: the rows of a transaction become visible together."""
        at = bisect_right(self._joint, (revision, sys.maxsize)) - 1
        if at >= 0 and revision < self._joint[at][1]:
            return self._joint[at][0] - 1
        return revision

    # Reads.

    def _check(self, revision: int) -> None:
        if self._refusal:
            raise UnavailableError(self._refusal)
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)
        if revision and revision < self.compacted:
            raise CompactedError(revision, self.compacted)

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        if self._joint:
            revision = self.visible_revision(revision)
        self._check(revision)
        item = self._items.get(key)
        if not revision or revision == self.revision or (item is not None and item.revision <= revision):
            return item
        for old in await self._undone(key, key + "\0", revision):
            return old
        return None

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Range:
        return await self.span(max(prefix, start), prefix_end(prefix), limit=limit, revision=revision)

    async def span(self, low: str, high: str | None, *, limit: int = 0, revision: int = 0) -> Range:
        """As `range`, of the keys from `low` on and before `high` (None: no bound)."""
        if self._joint:
            revision = self.visible_revision(revision)
        self._check(revision)
        first, end = span(self._keys, low, high)
        items = self._items
        if not revision or revision == self.revision:
            upto = min(end, first + limit) if limit else end
            selected = tuple(map(items.__getitem__, self._keys.islice(first, upto)))
            return Range(selected, self.revision, end - upto)
        # Captured now: reading history may take until after the next write.
        kept = [item for item in map(items.__getitem__, self._keys.islice(first, end)) if item.revision <= revision]
        undone = await self._undone(low, high, revision)
        if undone:
            kept = sorted(kept + undone, key=_key)
        taken = kept[:limit] if limit else kept
        return Range(tuple(taken), revision, len(kept) - len(taken))

    async def _undone(self, low: str, high: str | None, revision: int) -> list[KeyValue]:
        if revision < self._recent_start:
            undone = await self._undone_since(low, high, revision, self.revision)
            if revision < self.compacted:
                raise CompactedError(revision, self.compacted)
            return undone
        first: dict[str, KeyValue | None] = {}
        for event in islice(self._recent, revision - self._recent_start, None):
            if low <= event.key and (high is None or event.key < high):
                first.setdefault(event.key, event.previous)
        return [item for item in first.values() if item is not None]

    def lend(self, key: str, revision: int, lent: Lent) -> None:
        item = self._items.get(key)
        if item is not None and item.revision == revision:
            self._items[key] = borrowing(item, lent)

    async def current_revision(self) -> int:
        self._check(0)
        return self.revision

    # Watches and history.

    def watch(
        self, prefix: str, *, after: int, on_events: OnEvents, on_end: OnEnd, on_progress: OnProgress | None = None,
        flush: Flush | None = None,
    ) -> Watch:  # fmt: skip
        if self._refusal:
            raise UnavailableError(self._refusal)
        if self._joint:
            after = self.visible_revision(after)
        watch = Watch(self._watches, prefix, after, on_events, on_end, on_progress, flush)
        self._watches.add(watch)
        return watch

    def recent(self, after: int) -> Sequence[Event] | None:
        """Every event above `after`; None when it is older than the events in memory."""
        if after < self._recent_start:
            return None
        return tuple(islice(self._recent, after - self._recent_start, None))

    async def compact(self, revision: int) -> None:
        if revision <= self.compacted:
            return
        self._check(revision)
        revision = self.visible_revision(revision)
        if revision <= self.compacted:
            return
        self.compacted = revision
        self._drop_recent(lambda event: event.revision <= revision)
        await self._forget(revision)
        self._joint = [each for each in self._joint if each[1] > self.compacted]

    def _drop_recent(self, stale: Callable[[Event], bool]) -> None:
        recent = self._recent
        while recent and stale(recent[0]):
            event = recent.popleft()
            self._recent_size -= _size(event)
            self._recent_start = event.revision

    def _load(
        self, items: Iterable[KeyValue], revision: int, compacted: int, joint: Iterable[tuple[int, int]] = ()
    ) -> None:
        """Start from the loaded state; earlier history is only in persistent storage."""
        self._items = {item.key: item for item in items}
        self._joint = list(joint)
        self._keys = SortedList(self._items)
        self.revision = self._recent_start = revision
        self.compacted = compacted
        self._next = revision + 1

    def _close(self, why: str) -> None:
        """Reject calls from now on and end watches."""
        self._refusal = why
        self._leases.stop()
        self.grants.stop()
        self._watches.end(UnavailableError(why))

    @property
    def watchers(self) -> int:
        return len(self._watches)

    def __len__(self) -> int:
        return len(self._items)


def _key(item: KeyValue) -> str:
    return item.key


def _size(event: Event) -> int:
    """Memory that an event holds: of the new value and the replaced one, the larger. The other one is held anyway."""
    return max(len(event.value), 0 if event.previous is None else value_size(event.previous))
