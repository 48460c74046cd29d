"""Loads of a cache: events of the meantime, values that cannot be read, waiters, and a store that fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from orchd.cache.caches import Caches
from orchd.cache.derived import DerivedBudget
from orchd.cache.progress import Progress
from orchd.cache.resource import READ_WAITS, CacheEnvironment, CacheLimits, ResourceCache
from orchd.cache.written_objects import Announced
from orchd.errors import ApiError
from orchd.store.interfaces import CompactedError, DamagedValue, Event, EventType, KeyValue, Lent, UnavailableError
from orchd.store.memory import MemoryStore
from tests.cache.cache_support import Bench, RecordingSubscriber, index, now, stored


class _Store:
    """The part of a store that a single cache uses."""

    exclusive = True
    compacted = 0

    def lend(self, key: str, revision: int, lent: Lent) -> None:
        """Keep nothing."""


class Loader:
    """A cache of pods that is loaded by hand."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.advance(100)
        store: Any = _Store()
        self.progress = Progress(self.clock, patience=3)
        self.budget = DerivedBudget(1000)
        self.cache = ResourceCache(
            "pods",
            index,
            CacheEnvironment(
                store=store,
                clock=self.clock,
                progress=self.progress,
                budget=self.budget,
                announced=Announced(),
                limits=CacheLimits(),
            ),
        )

    def load(self, revision: int, *names: str, events: tuple[Event, ...] = (), upto: int = 0) -> None:
        self.cache.begin_load(revision)
        self.cache.add_loaded(KeyValue(f"/pods/{name}", stored(name), 1, 1) for name in names)
        self.cache.finish_load(events, upto or revision)

    def paths(self) -> list[tuple[str, int]]:
        return [(entry.path, entry.revision) for entry in self.cache.page().entries]


def put(revision: int, name: str, value: bytes | None = None) -> Event:
    value = stored(name) if value is None else value
    return Event(EventType.PUT, f"/pods/{name}", value, revision, revision, None)


def delete(revision: int, name: str) -> Event:
    return Event(EventType.DELETE, f"/pods/{name}", b"", revision, 1, None)


def test_events_of_a_load_are_applied_once() -> None:
    """An event that the load has read already does not count again when the watch delivers it, before or after."""
    loader = Loader()
    cache = loader.cache
    assert (cache.revision, cache.oldest, cache.entry_bytes, len(cache)) == (0, 0, 0, 0)
    for revision in (6, 7, 8):
        cache.apply(put(revision, f"e{revision}"))
    loader.load(5, "a", events=(put(6, "e6"), put(7, "e7")), upto=7)
    assert loader.paths() == [("a", 1), ("e6", 6), ("e7", 7), ("e8", 8)]
    assert (cache.applied_events, cache.initializations, cache.revision, cache.oldest) == (3, 1, 7, 5)
    cache.apply(put(7, "late"))
    cache.apply(delete(9, "never"))
    assert cache.applied_events == 3 and cache.get("late") is None
    cache.apply(put(9, "e9"))
    assert cache.applied_events == 4
    loader.progress.advance(9)
    assert cache.revision == 9
    told = RecordingSubscriber()
    told.subscribe(cache, 5)
    assert [revision for _, _, revision in told.lines()] == [6, 7, 8, 9]


def test_load_replaces_what_was_there() -> None:
    """After a gap the watches end, and the next load brings new entries, sizes, indexes and a new window."""
    loader = Loader()
    cache = loader.cache
    loader.load(5, "a", "b")
    cache.page().entries[0].keep("row", "A", 30)
    assert len(cache.page(fields={"spec.nodeName": ""}).entries) == 2
    cache.apply(put(6, "c"))
    told = RecordingSubscriber()
    told.subscribe(cache, 5)
    cache.restart()
    assert len(told.ends) == 1 and len(cache) == 3
    with pytest.raises(ApiError, match="too old resource version: 6"):
        told.subscribe(cache, 6)
    cache.apply(put(8, "d"))
    loader.load(7, "b", upto=7)
    assert loader.paths() == [("b", 1), ("d", 8)]
    assert [entry.path for entry in cache.page(fields={"spec.nodeName": ""}).entries] == ["b", "d"]
    assert cache.entry_bytes == sum(len(entry.json) for entry in cache.page().entries)
    assert (cache.oldest, cache.window_length, cache.initializations, cache.subscribers) == (7, 1, 2, 0)
    assert loader.budget.bytes == 0


def test_values_of_a_load_that_cannot_be_read() -> None:
    """They are left out, counted, and kept apart until an event replaces them."""
    loader = Loader()
    cache = loader.cache
    cache.begin_load(5)
    cache.add_loaded([KeyValue("/pods/bad", DamagedValue(stored("bad")), 4, 3), KeyValue("/pods/a", stored("a"), 2, 2)])
    with capturedLogs() as events:
        cache.finish_load([put(6, "a", b"no json")], 6)
        cache.apply(put(7, "c", b"no json"))
        cache.apply(delete(7, "c"))
    texts = [formatEvent(event).partition(" cannot be read")[0].partition(": ")[2] for event in events]
    assert texts == [
        f"the stored value of /pods/{name}" for name in ("bad at revision 4", "a at revision 6", "c at revision 7")
    ]
    assert (loader.paths(), cache.unreadable, cache.decode_errors) == ([], 2, 3)
    damaged = cache.damaged("bad")
    assert damaged is not None and (damaged.key, damaged.revision, damaged.why) == (
        "/pods/bad",
        4,
        "its checksum differs",
    )
    cache.apply(put(7, "bad"))
    cache.apply(delete(8, "a"))
    assert (loader.paths(), cache.unreadable) == ([("bad", 7)], 0)
    assert (cache.entry_bytes, cache.applied_events, cache.oldest) == (len(cache.page().entries[0].json), 5, 8)
    loader.load(9, "a")
    assert cache.unreadable == 0


def test_unreadable_value_takes_the_place_of_an_entry() -> None:
    """The entry leaves the pages, the indexes, the sizes and the budget; a readable value brings it back."""
    loader = Loader()
    cache = loader.cache
    loader.load(5, "a", "b")
    first = cache.page().entries[0]
    first.keep("row", "A", 30)
    size = cache.entry_bytes
    assert len(cache.page(fields={"spec.nodeName": ""}).entries) == 2
    cache.apply(put(6, "a", b"no json"))
    assert (loader.paths(), len(cache)) == ([("b", 1)], 1)
    assert len(cache.page(fields={"spec.nodeName": ""}).entries) == 1
    assert cache.entry_bytes < size and not first.derived
    cache.apply(put(7, "a", b"again"))
    assert (loader.paths(), cache.unreadable) == ([("b", 1)], 1)
    cache.apply(put(8, "a"))
    assert (loader.paths(), cache.entry_bytes, cache.unreadable) == ([("a", 8), ("b", 1)], size, 0)
    assert len(cache.page(fields={"spec.nodeName": ""}).entries) == 2
    assert (cache.oldest, cache.window_length, cache.applied_events) == (8, 0, 3)


@pytest.mark.parametrize("first", ["bad", "good"])
def test_code_that_reads_again_while_watches_end(first: str) -> None:
    """Who reads again when an unreadable value ends its watch waits until the new state is complete, with the events
    that came meanwhile; a waiter that was cancelled is left out."""
    loader = Loader()
    cache = loader.cache
    loader.load(5, "a")
    if first == "good":
        cache.apply(put(6, "x", b"no json"))
    states: list[list[tuple[str, int]]] = []

    async def read() -> None:
        await cache.ready()
        states.append(loader.paths())

    def ended(error: Exception) -> None:
        Deferred.fromCoroutine(read()).addErrback(lambda failure: None).cancel()
        Deferred.fromCoroutine(read())
        cache.apply(put(8, "c"))
        assert not states

    cache.subscribe(after=6 if first == "good" else 5, prefix="", on_change=print, on_end=ended)
    cache.apply(put(7, "x", b"no json" if first == "bad" else None))
    expected = [("a", 1), ("c", 8), *([("x", 7)] if first == "good" else [])]
    assert states == [expected]
    assert loader.paths() == expected


def test_waiters_of_a_load() -> None:
    """Readers wait for the load; one that was cancelled is left out, and a close refuses the others."""
    loader, other = Loader(), Loader()
    ended: list[Any] = []
    for each in (loader, other):
        Deferred.fromCoroutine(each.cache.ready()).addErrback(lambda failure: ended.append("cancelled")).cancel()
        Deferred.fromCoroutine(each.cache.ready()).addBoth(ended.append)
    loader.load(5)
    other.cache.close(ApiError(503, "ServiceUnavailable", "closed"))
    assert ended[:3] == ["cancelled", "cancelled", None]
    assert ended[3].value.message == "closed"
    other.load(5, "a")
    assert len(other.cache) == 0 and other.cache.initializations == 0


def test_reads_wait_for_load_and_revision() -> None:
    """A read at a revision, and that of an applied write, wait for the load and then for the revision."""
    loader = Loader()
    cache = loader.cache
    loader.progress.advance(6)
    results: list[Any] = []
    Deferred.fromCoroutine(cache.at_least(5)).addBoth(results.append)
    assert results == []
    loader.load(5, "a")
    assert results == [None]
    Deferred.fromCoroutine(cache.applied("b", 7)).addBoth(results.append)
    assert results == [None]
    cache.apply(put(7, "b"))
    loader.progress.advance(7)
    assert results[1] is cache.get("b")
    Deferred.fromCoroutine(cache.at_least(9)).addBoth(results.append)
    cache.restart()
    loader.progress.advance(9)
    assert len(results) == 2
    loader.load(8)
    assert results[2] is None


def test_waits_are_observed() -> None:
    """Reads that need not wait and those that do are counted with their seconds, and consistent reads."""
    loader = Loader()
    loader.load(5)
    cache = loader.cache
    now(cache.at_least(5))
    waiting: Deferred[None] = Deferred.fromCoroutine(cache.at_least(7))
    loader.clock.advance(2)
    loader.progress.advance(6)
    assert not waiting.called
    loader.progress.advance(7)
    assert waiting.called
    assert (cache.read_waits.count, cache.read_waits.sum, cache.read_waits.counts[0]) == (2, 2.0, 1)
    assert cache.read_waits.counts[READ_WAITS.index(2.0)] == 1
    now(cache.fresh())
    now(cache.fresh())
    assert cache.consistent_reads == 2 and cache.read_waits.count == 2


class Shared(MemoryStore):
    """A store with other writers, which fails while a test says so."""

    exclusive = False
    failing: frozenset[str] = frozenset()
    reported = 0

    def __init__(self, clock: Clock, **more: Any) -> None:
        super().__init__(clock, **more)
        #: Watches that were not cancelled.
        self.running: list[object] = []

    async def current_revision(self) -> int:
        if "read" in self.failing:
            raise UnavailableError("no route")
        return max(self.reported, self.revision)

    def watch(self, *arguments: Any, **more: Any) -> Any:
        if "watch" in self.failing:
            raise UnavailableError("no route")
        watch = super().watch(*arguments, **more)
        self.running.append(watch)

        def cancel() -> None:
            watch.cancel()
            self.running.remove(watch)

        return SimpleNamespace(cancel=cancel)

    async def range(self, *arguments: Any, **more: Any) -> Any:
        if "range" in self.failing:
            raise UnavailableError("no route")
        if "past" in self.failing and more.get("revision"):
            raise CompactedError(1, 2)
        return await super().range(*arguments, **more)


def shared(*failing: str) -> tuple[Shared, Caches, ResourceCache]:
    clock = Clock()
    store = Shared(clock, compaction_interval=0)
    store.start()
    now(store.create("/pods/a", stored("a")))
    store.failing = frozenset(failing)
    caches = Caches(store, clock=clock)
    return store, caches, caches.cache("pods", index)


def test_consistent_reads_of_a_shared_store() -> None:
    """They wait for the revision that the store had, and are refused if it does not respond."""
    store, caches, cache = shared()
    caches.start()
    store.reported = 3
    reading: Deferred[None] = Deferred.fromCoroutine(cache.fresh())
    assert not reading.called
    now(store.create("/other", stored("b")))
    assert reading.called
    store.failing = frozenset(("read",))
    with pytest.raises(ApiError, match="the store does not respond: no route") as refused:
        now(cache.fresh())
    assert refused.value.code == 503


@pytest.mark.parametrize(("failing", "oldest"), [("", 1), ("past", 2)])
def test_load_of_the_past(failing: str, oldest: int) -> None:
    """The past is loaded too, unless the store has dropped it meanwhile; loads leave no watch behind."""
    store, caches, cache = shared(failing)
    caches.start()
    assert (cache.oldest, [entry.path for entry in cache.page().entries]) == (oldest, ["a"])
    assert len(store.running) == 1
    caches.stop()
    assert store.running == []


@pytest.mark.parametrize("failing", ["watch", "range"])
def test_caches_are_loaded_when_the_store_responds(failing: str) -> None:
    """The caches try again each second until the store can be watched and read."""
    store, caches, cache = shared(failing)
    clock: Any = caches._clock
    caches.start()
    reading: Deferred[None] = Deferred.fromCoroutine(cache.ready())
    clock.advance(1)
    assert not reading.called
    store.failing = frozenset()
    clock.advance(0.9)
    assert not reading.called
    clock.advance(0.1)
    assert reading.called and [entry.path for entry in cache.page().entries] == ["a"]
    now(store.create("/pods/b", stored("b")))
    assert cache.get("b") is not None and caches.lag == 0


@pytest.mark.parametrize("failing", ["watch", "range"])
def test_caches_stop_while_the_store_does_not_respond(failing: str) -> None:
    """Nothing remains of a retry, and a second stop does nothing."""
    _, caches, cache = shared(failing)
    clock: Any = caches._clock
    caches.start()
    reading: Deferred[None] = Deferred.fromCoroutine(cache.ready())
    refused: list[Any] = []
    reading.addErrback(refused.append)
    caches.stop()
    caches.stop()
    assert len(refused) == 1
    assert [call for call in clock.getDelayedCalls() if call.active()] == []


def test_load_ends_with_the_watch_of_the_store() -> None:
    """A load that is under way when the store ends the watch does not complete; the next one does."""
    bench = Bench()
    for number in range(1200):
        bench.put(f"a/{number:04}")
    bench.compact()
    cache = bench.start()
    reading: Deferred[None] = Deferred.fromCoroutine(cache.ready())
    bench.store._watches.end(UnavailableError("lost"))
    bench.clock.pump([0, 0, 0])
    assert not reading.called
    bench.clock.pump([1, 0, 0])
    assert reading.called and len(cache) == 1200


@pytest.mark.parametrize("stopped", [False, True])
def test_failure_of_a_load_is_logged(stopped: bool) -> None:
    """A defect that ends a load is reported, its end with the caches is not."""

    def fail(value: Any) -> Any:
        raise ZeroDivisionError

    bench = Bench()
    for number in range(1200):
        bench.put(f"a/{number}")
    bench.compact()
    bench.caches.cache("pods", index if stopped else fail)
    with capturedLogs() as events:
        bench.caches.start()
        bench.caches.stop()
    assert [formatEvent(event).partition("\n")[0] for event in events] == ([] if stopped else ["loading caches failed"])


def test_stopped_caches_follow_the_store_no_longer() -> None:
    bench = Bench(window_seconds=100)
    cache = bench.start()
    bench.put("a")
    bench.clock.pump([10] * 9)
    assert cache.window_length == 1
    bench.clock.pump([10])
    assert cache.window_length == 0
    bench.caches.stop()
    bench.put("b")
    assert bench.caches.lag == 1 and bench.caches.caches == {}
