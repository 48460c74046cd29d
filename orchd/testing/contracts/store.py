"""The contract of `IStore` as checks that any implementation can be put through.

Each check is a coroutine function with a `Subject` argument; `CHECKS` lists them all. Run them under the real reactor:
implementations use threads and sockets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import deferLater

from orchd.store.interfaces import (
    CompactedError,
    Event,
    EventType,
    FutureRevisionError,
    IStore,
    KeyExistsError,
    KeyValue,
    Lent,
    RevisionConflictError,
    StoreError,
    UnavailableError,
)


@dataclass(kw_only=True)
class Subject:
    """A started, fresh store under test. `many` is the number of keys in the check with many keys.

    `shared`: several stores use the same data. Then writes to one key are still decided in submission order, but writes
    to different keys may be reordered; an acknowledgement comes after the event, but possibly in a later turn; and the
    store may report progress more often. `largest` is the size of a value that it must accept.
    """

    store: IStore
    reactor: Any
    many: int = 100_000
    shared: bool = False
    largest: int = 3 * 1024 * 1024

    def in_order(self, revisions: Sequence[int]) -> list[int]:
        """Revisions of writes to different keys, in submission order where the store guarantees that."""
        return sorted(revisions) if self.shared else list(revisions)

    async def until(self, true: Callable[[], bool], *, seconds: float = 600.0) -> None:
        """Let the reactor turn until something holds."""
        end = self.reactor.seconds() + seconds
        while not true():
            if self.reactor.seconds() > end:
                raise AssertionError("waited in vain")
            await deferLater(self.reactor, 0.005)


@dataclass
class Seen:
    """A watch consumer that records what it receives."""

    events: list[Event] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    ends: list[StoreError] = field(default_factory=list)
    progress: list[int] = field(default_factory=list)

    def on_events(self, events: Sequence[Event]) -> None:
        assert events, "an empty batch"
        self.events.extend(events)
        self.batches.append(len(events))

    def revisions(self) -> list[int]:
        return [event.revision for event in self.events]

    def watch(self, store: IStore, prefix: str, after: int) -> Any:
        return store.watch(
            prefix, after=after, on_events=self.on_events, on_end=self.ends.append, on_progress=self.progress.append
        )


async def raises(kind: type[Exception], awaited: Awaitable[object]) -> Any:
    """The error of type `kind` that `awaited` raises."""
    try:
        await awaited
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


async def present(store: IStore, key: str, *, revision: int = 0) -> KeyValue:
    """Read a key that must exist."""
    item: KeyValue | None = await store.get(key, revision=revision)
    assert item is not None, key
    return item


async def outcomes(coroutines: Sequence[Any]) -> list[Any]:
    """Start all in order, without waiting in between; their results or errors."""
    started: list[Deferred[Any]] = [ensureDeferred(each) for each in coroutines]
    results: list[Any] = []
    for deferred in started:
        try:
            results.append(await deferred)
        except StoreError as error:
            results.append(error)
    return results


async def check_fresh_store(subject: Subject) -> None:
    """A fresh store is empty, healthy and at revision 1."""
    store = subject.store
    assert (store.revision, store.healthy()) == (1, "")
    assert await store.current_revision() == 1
    page = await store.range("/")
    assert (page.items, page.revision, page.remaining) == ((), 1, 0)
    assert await store.get("/a") is None


async def check_life_of_a_key(subject: Subject) -> None:
    """Each write raises the revision by one; the creation revision is kept by updates and ends with the deletion."""
    store = subject.store
    assert await store.create("/a", b"1") == 2
    assert await store.get("/a") == KeyValue("/a", b"1", 2, 2)
    assert await store.update("/a", b"2", expected=2) == 3
    assert await store.get("/a") == KeyValue("/a", b"2", 3, 2)
    assert await store.delete("/a", expected=3) == 4
    assert await store.get("/a") is None
    assert await store.create("/a", b"") == 5
    assert await store.get("/a") == KeyValue("/a", b"", 5, 5)
    assert store.revision == 5


async def check_guards(subject: Subject) -> None:
    """A write whose guard fails changes nothing, and its error has the current item."""
    store = subject.store
    await store.create("/a", b"1")
    assert (await raises(KeyExistsError, store.create("/a", b"2"))).key == "/a"
    there = await store.get("/a")
    assert (await raises(RevisionConflictError, store.update("/a", b"2", expected=1))).current == there
    assert (await raises(RevisionConflictError, store.delete("/a", expected=9))).current == there
    assert (await raises(RevisionConflictError, store.update("/b", b"2", expected=2))).current is None
    assert (await raises(RevisionConflictError, store.delete("/b", expected=2))).current is None
    assert store.revision == 2


async def check_races(subject: Subject) -> None:
    """Of concurrent writes with the same guard the first wins; the others fail without affecting their batch."""
    store = subject.store
    got = await outcomes(
        [
            store.create("/a", b"first"),
            store.create("/a", b"second"),
            store.create("/b", b"b"),
            store.delete("/c", expected=2),
            store.create("/c", b"c"),
        ]
    )
    assert isinstance(got[1], KeyExistsError)
    assert isinstance(got[3], RevisionConflictError)
    assert subject.in_order([got[0], got[2], got[4]]) == [2, 3, 4]
    assert [item.value for item in (await store.range("/")).items] == [b"first", b"b", b"c"]
    there = got[0]
    got = await outcomes([store.update("/a", b"%d" % i, expected=there) for i in range(50)])
    assert got[0] == 5
    assert {type(each) for each in got[1:]} == {RevisionConflictError}
    assert {each.current.revision for each in got[1:]} == {5}
    assert (await present(store, "/a")).value == b"0"


async def check_dependent_writes_in_flight(subject: Subject) -> None:
    """Guards are decided in submission order, against pending earlier writes."""
    store = subject.store
    got = await outcomes(
        [
            store.create("/a", b"1"),
            store.update("/a", b"2", expected=2),
            store.delete("/a", expected=3),
            store.update("/a", b"x", expected=3),
            store.create("/a", b"3"),
            store.delete("/a", expected=5),
            store.create("/a", b"4"),
        ]
    )
    assert [got[i] for i in (0, 1, 2, 4, 5, 6)] == [2, 3, 4, 5, 6, 7]
    assert isinstance(got[3], RevisionConflictError)
    assert await store.get("/a") == KeyValue("/a", b"4", 7, 7)


async def check_counters(subject: Subject) -> None:
    """Concurrent increments lose no step: guarded updates are linearizable."""
    store, seen = subject.store, Seen()
    keys = ["/counter/a", "/counter/b"]
    for key in keys:
        await store.create(key, b"0")
    seen.watch(store, "/counter/", store.revision)

    async def count(key: str) -> list[int]:
        revisions: list[int] = []
        while len(revisions) < 25:
            there = await present(store, key)
            try:
                revisions.append(await store.update(key, b"%d" % (int(there.value) + 1), expected=there.revision))
            except RevisionConflictError as conflict:
                assert conflict.current is not None
                assert conflict.current.revision > there.revision
                await deferLater(subject.reactor, 0)
                continue
            assert (await present(store, key)).revision >= revisions[-1], "an acknowledged write is visible"
        return revisions

    revisions = await outcomes([count(key) for key in keys * 4])
    assert sorted(revision for each in revisions for revision in each) == seen.revisions()
    for key in keys:
        steps = [int(event.value) for event in seen.events if event.key == key]
        assert steps == list(range(1, 101))


async def check_events_come_before_the_acknowledgement(subject: Subject) -> None:
    """When a write's Deferred fires, watches have received its event, in the same turn of the reactor."""
    store, seen = subject.store, Seen()
    turns: list[str] = []

    def on_events(events: Sequence[Event]) -> None:
        seen.on_events(events)
        turns.append("events")
        subject.reactor.callLater(0, turns.append, "next turn")

    store.watch("/", after=1, on_events=on_events, on_end=seen.ends.append)

    def acknowledged(revision: int) -> int:
        assert revision in seen.revisions()
        turns.append("acknowledged")
        return revision

    assert await ensureDeferred(store.create("/a", b"1")).addCallback(acknowledged) == 2
    assert [turn for turn in turns if turn != "next turn" or not subject.shared][:2] == ["events", "acknowledged"]
    await outcomes([ensureDeferred(store.create(f"/{i}", b"")).addCallback(acknowledged) for i in range(20)])
    assert seen.revisions() == list(range(2, 23))


async def check_event_contents(subject: Subject) -> None:
    """An event has the new value, the creation revision and the previous value."""
    store, seen = subject.store, Seen()
    seen.watch(store, "/", 1)
    await store.create("/a", b"1")
    await store.update("/a", b"2", expected=2)
    await store.delete("/a", expected=3)
    first, second = KeyValue("/a", b"1", 2, 2), KeyValue("/a", b"2", 3, 2)
    assert seen.events == [
        Event(EventType.PUT, "/a", b"1", 2, 2, None),
        Event(EventType.PUT, "/a", b"2", 3, 2, first),
        Event(EventType.DELETE, "/a", b"", 4, 2, second),
    ]


async def check_writes_from_a_watch(subject: Subject) -> None:
    """A watch callback may write; every watch still sees all events in order."""
    store, first, last = subject.store, Seen(), Seen()
    writes: list[Deferred[int]] = []

    def on_events(events: Sequence[Event]) -> None:
        first.on_events(events)
        if len(writes) < 5:
            writes.append(ensureDeferred(store.create(f"/more/{len(writes)}", b"")))

    store.watch("/", after=1, on_events=on_events, on_end=first.ends.append)
    last.watch(store, "/", 1)
    await store.create("/a", b"")
    await subject.until(lambda: len(last.events) == 6)
    assert subject.in_order([await each for each in writes]) == [3, 4, 5, 6, 7]
    assert first.revisions() == last.revisions() == list(range(2, 8))


async def check_range(subject: Subject) -> None:
    """Ranges are in byte order, begin at `start`, and count the items beyond the limit."""
    store = subject.store
    for name in ("b", "a", "c/x", "c", "ca", "d"):
        await store.create(f"/p/{name}", name.encode())
    await store.create("/pa", b"")
    await store.create("/o", b"")

    async def names(prefix: str, **more: Any) -> tuple[list[str], int]:
        page = await store.range(prefix, **more)
        assert page.revision == 9
        return [item.key for item in page.items], page.remaining

    assert await names("/p/") == (["/p/a", "/p/b", "/p/c", "/p/c/x", "/p/ca", "/p/d"], 0)
    assert await names("/p/", limit=2) == (["/p/a", "/p/b"], 4)
    assert await names("/p/", limit=2, start="/p/c") == (["/p/c", "/p/c/x"], 2)
    assert await names("/p/", limit=6) == (["/p/a", "/p/b", "/p/c", "/p/c/x", "/p/ca", "/p/d"], 0)
    assert await names("/p/", start="/p/bb", limit=1) == (["/p/c"], 3)
    assert await names("/p/", start="/q") == ([], 0)
    assert await names("/p/", start="/a", limit=1) == (["/p/a"], 5)
    assert await names("/p/c/") == (["/p/c/x"], 0)
    assert len((await names("/p"))[0]) == 7
    assert len((await names(""))[0]) == 8
    assert await names("/none/") == ([], 0)


async def check_reads_at_a_revision(subject: Subject) -> None:
    """Every revision since the compacted one can be read, regardless of later writes."""
    store = subject.store
    states: dict[int, dict[str, bytes]] = {1: {}}
    state: dict[str, bytes] = {}
    for i in range(60):
        key = f"/k/{i * 7 % 11}"
        there = await store.get(key)
        if there is None:
            state[key] = b"%d" % i
            revision = await store.create(key, state[key])
        elif i % 3 == 0:
            del state[key]
            revision = await store.delete(key, expected=there.revision)
        else:
            state[key] = b"%d" % i
            revision = await store.update(key, state[key], expected=there.revision)
        states[revision] = dict(state)
    for revision, expected in states.items():
        page = await store.range("/k/", revision=revision)
        assert {item.key: item.value for item in page.items} == expected
        assert (page.revision, page.remaining) == (revision, 0)
        assert [item.key for item in page.items] == sorted(expected)
        part = await store.range("/k/", revision=revision, limit=3, start="/k/2")
        rest = [key for key in sorted(expected) if key >= "/k/2"]
        assert [item.key for item in part.items] == rest[:3]
        assert part.remaining == max(0, len(rest) - 3)
        one = await store.get("/k/7", revision=revision)
        assert (one and one.value) == expected.get("/k/7")


async def check_future_revisions(subject: Subject) -> None:
    """A read at a future revision fails; a watch from there receives only later events."""
    store, seen = subject.store, Seen()
    error = await raises(FutureRevisionError, store.range("/", revision=5))
    assert (error.revision, error.current) == (5, 1)
    await raises(FutureRevisionError, store.get("/a", revision=2))
    await raises(FutureRevisionError, store.compact(2))
    seen.watch(store, "/", 3)
    for i in range(4):
        await store.create(f"/{i}", b"")
    assert seen.revisions() == [4, 5]


async def check_watch_from_every_revision(subject: Subject) -> None:
    """Past events, then live ones, exactly once each, from any start revision."""
    store = subject.store
    for i in range(30):
        await store.create(f"/{'ab'[i % 2]}/{i}", b"")
    watches = {after: Seen() for after in range(1, 32)}
    for after, seen in watches.items():
        seen.watch(store, "/", after)
    only = Seen()
    only.watch(store, "/b/", 1)
    for i in range(30, 40):
        await store.create(f"/{'ab'[i % 2]}/{i}", b"")
    await subject.until(lambda: all(seen.progress for seen in watches.values()) and bool(only.progress))
    for after, seen in watches.items():
        assert seen.revisions() == list(range(after + 1, 42))
        assert not seen.ends
        assert seen.progress == sorted(seen.progress)
        assert len(seen.progress) == 1 or subject.shared
    assert [event.key for event in only.events] == [f"/b/{i}" for i in range(1, 40, 2)]


async def check_watch_begun_under_load(subject: Subject) -> None:
    """Watches that begin during writes miss nothing and repeat nothing."""
    store = subject.store
    writes: list[Deferred[int]] = []
    watches: list[tuple[int, Seen]] = []
    for i in range(400):
        writes.append(ensureDeferred(store.create(f"/k/{i}", b"x")))
        if i % 20 == 0:
            after = max(1, store.revision - i % 7)
            seen = Seen()
            seen.watch(store, "/k/", after)
            watches.append((after, seen))
            await deferLater(subject.reactor, 0)
    for write in writes:
        await write
    await subject.until(lambda: all(seen.events and seen.events[-1].revision == 401 for _, seen in watches))
    for after, seen in watches:
        assert seen.revisions() == list(range(after + 1, 402))


async def check_cancelled_watch(subject: Subject) -> None:
    """No callback after `cancel`, which may be called twice and from inside a callback."""
    store, seen = subject.store, Seen()
    watch = seen.watch(store, "/", 1)
    other: list[Any] = []

    def on_events(events: Sequence[Event]) -> None:
        other.extend(events)
        inner.cancel()

    inner = store.watch("/", after=1, on_events=on_events, on_end=other.append)
    await store.create("/a", b"")
    watch.cancel()
    watch.cancel()
    await store.create("/b", b"")
    assert seen.revisions() == [2]
    assert len(other) == 1


async def check_compaction(subject: Subject) -> None:
    """Compaction discards unreachable history, and nothing else."""
    store = subject.store
    await store.create("/a", b"1")
    await store.create("/b", b"1")
    await store.update("/a", b"2", expected=2)
    await store.delete("/b", expected=3)
    await store.update("/a", b"3", expected=4)
    await store.compact(4)
    await store.compact(4)
    await store.compact(2)
    assert store.compacted == 4
    error = await raises(CompactedError, store.range("/", revision=3))
    assert (error.revision, error.compacted) == (3, 4)
    await raises(CompactedError, store.get("/a", revision=1))
    assert [item.value for item in (await store.range("/", revision=4)).items] == [b"2", b"1"]
    assert [item.value for item in (await store.range("/", revision=5)).items] == [b"2"]
    assert (await present(store, "/a")).value == b"3"
    late, seen = Seen(), Seen()
    late.watch(store, "/", 3)
    assert not late.ends, "a watch must not end before the call returns"
    seen.watch(store, "/", 4)
    await subject.until(lambda: len(seen.events) == 2 and bool(late.ends))
    assert isinstance(late.ends[0], CompactedError)
    assert (len(late.ends), late.events) == (1, [])
    assert [event.previous and event.previous.revision for event in seen.events] == [3, 4]
    await store.compact(store.revision)
    assert [item.value for item in (await store.range("/")).items] == [b"3"]


async def check_awkward_keys_and_values(subject: Subject) -> None:
    """Any valid text is a key, ordered by UTF-8 bytes; values are any bytes, including megabytes."""
    store = subject.store
    names = ["\x00", "a", "a\x00b", "a\x01", "z", "é", "日本", "\ud7ff", "\ue000", "\uffff", "\U0001f600", "\U0010ffff"]
    value = bytes(range(256)) * (subject.largest // 256)
    for name in reversed(names):
        await store.create(f"/u/{name}", name.encode())
    keys = [item.key for item in (await store.range("/u/")).items]
    assert keys == sorted((f"/u/{name}" for name in names), key=str.encode)
    for name in names:
        assert (await present(store, f"/u/{name}")).value == name.encode()
        assert f"/u/{name}" in [item.key for item in (await store.range(f"/u/{name}")).items]
    await raises(ValueError, store.create("/u/\ud800", b""))
    await raises(ValueError, store.create("", b""))
    revision = await store.create("/large", value)
    await store.update("/large", value[::-1], expected=revision)
    assert (await present(store, "/large")).value == value[::-1]
    assert (await present(store, "/large", revision=revision)).value == value


async def check_many_keys(subject: Subject) -> None:
    """A hundred thousand keys work like a few."""
    store, many = subject.store, subject.many
    for begin in range(0, many, 2000):
        writes = [
            ensureDeferred(store.create(f"/n{i % 10}/{i:06}", b"x" * 100))
            for i in range(begin, min(many, begin + 2000))
        ]
        for write in writes:
            await write
    page = await store.range("/n3/", limit=10)
    assert [item.key for item in page.items] == [f"/n3/{i:06}" for i in range(3, 100, 10)]
    assert page.remaining == many // 10 - 10
    assert len((await store.range("/")).items) == many
    last = await present(store, f"/n9/{many - 1:06}")
    assert last.revision == many + 1 or (subject.shared and last.revision <= many + 1)


async def check_ttl(subject: Subject) -> None:
    """A key with a time to live is deleted by the store; a later write replaces its deadline."""
    store, seen = subject.store, Seen()
    seen.watch(store, "/", 1)
    await store.create("/gone", b"1", ttl=1)
    kept = await store.create("/kept", b"1", ttl=1)
    again = await store.create("/again", b"1", ttl=1)
    await store.update("/kept", b"2", expected=kept)
    await store.update("/again", b"2", expected=again, ttl=3600)
    await subject.until(lambda: len(seen.events) == 6)
    await deferLater(subject.reactor, 0.1)
    assert [(event.type, event.key) for event in seen.events[5:]] == [(EventType.DELETE, "/gone")]
    assert [item.key for item in (await store.range("/")).items] == ["/again", "/kept"]


async def check_cancelled_write(subject: Subject) -> None:
    """Cancelling the waiter of a write does not undo the write."""
    store, seen = subject.store, Seen()
    seen.watch(store, "/", 1)
    write = ensureDeferred(store.create("/a", b"1"))
    write.addErrback(lambda failure: None)
    write.cancel()
    await subject.until(lambda: len(seen.events) == 1)
    assert (await present(store, "/a")).value == b"1"


async def check_failing_consumer(subject: Subject) -> None:
    """A watch whose callback raises ends; the write and other watches are unaffected."""
    store, seen, ends = subject.store, Seen(), Seen()

    def on_events(events: Sequence[Event]) -> None:
        raise ZeroDivisionError

    store.watch("/", after=1, on_events=on_events, on_end=ends.ends.append)
    seen.watch(store, "/", 1)
    assert await store.create("/a", b"") == 2
    assert seen.revisions() == [2]
    assert [type(each) for each in ends.ends] == [UnavailableError]


async def check_lend(subject: Subject) -> None:
    """A value that is kept elsewhere is read, replaced and deleted like others; an offer for another revision has no
    effect."""
    store, seen = subject.store, Seen()
    first = await store.create("/a", b"before<>after")
    store.lend("/a", first, Lent(b"before<inserted>after", 7, 15, b""))
    store.lend("/a", first + 1, Lent(b"of a later write", 0, 0, b""))
    store.lend("/none", first, Lent(b"of no key", 0, 0, b""))
    assert (await present(store, "/a")) == await present(store, "/a")
    item = await present(store, "/a")
    assert (item.key, item.value, item.revision, item.created) == ("/a", b"before<>after", first, first)
    assert [each.value for each in (await store.range("/")).items] == [b"before<>after"]
    conflict = await raises(RevisionConflictError, store.update("/a", b"2", expected=first + 1))
    assert conflict.current.value == b"before<>after"
    seen.watch(store, "/", 1)
    second = await store.update("/a", b"[once]", expected=first)
    store.lend("/a", second, Lent(b"[once more]", 5, 10, b""))
    assert (await present(store, "/a")).value == b"[once]"
    assert (await present(store, "/a", revision=first)).value == b"before<>after"
    await store.delete("/a", expected=second)
    await subject.until(lambda: len(seen.events) == 3)
    assert [event.value for event in seen.events] == [b"before<>after", b"[once]", b""]
    assert [each.previous and each.previous.value for each in seen.events] == [None, b"before<>after", b"[once]"]


async def check_stop(subject: Subject) -> None:
    """Stop completes pending writes, ends watches, and rejects later calls."""
    store, seen = subject.store, Seen()
    seen.watch(store, "/", 1)
    writes = [ensureDeferred(store.create(f"/{i}", b"")) for i in range(10)]
    await store.stop()
    assert subject.in_order([await write for write in writes]) == list(range(2, 12))
    assert seen.revisions() == list(range(2, 12))
    assert [type(each) for each in seen.ends] == [UnavailableError]
    await raises(UnavailableError, store.create("/late", b""))
    await raises(UnavailableError, store.get("/0"))
    await raises(UnavailableError, store.range("/"))
    await raises(UnavailableError, store.current_revision())
    assert store.healthy()
    await store.stop()


CHECKS: tuple[Callable[[Subject], Awaitable[None]], ...] = tuple(
    value for name, value in sorted(globals().items()) if name.startswith("check_")
)
