"""Informers on caches: their contents and notifications equal the store, without a copy of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import orjson
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from orchd.cache.caches import Caches
from orchd.cache.entries import Entry
from orchd.cache.resource import CacheLimits
from orchd.cache.stored_encoding import encode
from orchd.client.interfaces import ResourceRef
from orchd.kinds.jsonvalues import Object
from orchd.server.informing.informer import CachedInformer
from orchd.server.informing.informers import CachedInformers
from orchd.server.informing.late import LARGE
from orchd.store.interfaces import UnavailableError
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.server import run
from orchd.txkit.background import Background
from orchd.txkit.coroutines import start

PODS = ResourceRef("", "v1", "pods")


class _Others(MemoryInformers):
    """Stands for the informers of a client."""

    synced = True

    def start(self) -> None:
        """There is nothing to start."""

    async def stop(self) -> None:
        """There is nothing to stop."""

    async def wait_synced(self) -> None:
        """They are always synced."""


class Turns(Clock):
    """A clock whose time does not advance in `turn`."""

    def turn(self) -> None:
        """Run what is due now, but not what that schedules for the next turn."""
        for call in [call for call in self.calls if call.getTime() <= self.seconds()]:
            if call.active():
                self.calls.remove(call)
                call.called = 1
                call.func(*call.args, **call.kw)


class Bench:
    """A memory store, a cache of pods on it and an informer on that; `decoded` counts decoded objects, each of which takes
    `cost` seconds: 4 ms are the work of a turn."""

    def __init__(self, *, cost: float = 0.0, **more: Any) -> None:
        self.clock = Turns()
        self.store = MemoryStore(self.clock, compaction_interval=0)
        self.store.start()
        self.caches = Caches(self.store, clock=self.clock, limits=CacheLimits(**more))
        self.cache = self.caches.cache(
            "pods",
            lambda value: ((value if isinstance(value, dict) else orjson.loads(value))["metadata"]["labels"], {}),
        )
        self.decoded = 0
        self.revisions: dict[str, int] = {}
        self.others = _Others()

        def decode(entry: Entry) -> Object:
            self.decoded += 1
            self.clock.rightNow += cost
            obj: Object = orjson.loads(entry.json)
            return obj

        self.informers = CachedInformers(
            lambda ref: (self.cache, decode) if ref == PODS else None,
            self.clock,
            others=self.others,  # type: ignore[arg-type]  # as much of it as is used
        )
        self.informer = self.informers.informer(PODS)

    def start(self) -> None:
        self.caches.start()
        self.informers.start()

    def put(self, path: str, color: str = "") -> None:
        namespace, _, name = path.rpartition("/")
        value = encode({"metadata": {"namespace": namespace, "name": name, "labels": {"color": color}}})
        key, known = f"/pods/{path}", self.revisions.get(path)
        writing = self.store.update(key, value, expected=known) if known else self.store.create(key, value)
        self.revisions[path] = run(writing)

    def delete(self, path: str) -> None:
        run(self.store.delete(f"/pods/{path}", expected=self.revisions.pop(path)))

    def end_watch(self) -> None:
        """What an etcd does that has compacted the revision of a watch."""
        self.store._watches.end(UnavailableError("gone"))

    def pump(self) -> None:
        self.clock.pump([0.6] * 8)

    def find(self, value: str) -> list[str]:
        return sorted(path_of(obj) for obj in self.informer.by_index("color", value))


def path_of(obj: Object) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def color(obj: Object) -> Iterable[str]:
    return [obj["metadata"]["labels"]["color"]]


class Listening:
    """A listener that records events and the resulting state."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.state: dict[str, str] = {}

    def __call__(self, kind: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        assert obj is not None
        path = path_of(obj)
        self.heard.append(f"{kind} {path}")
        # No change is repeated, and the old object is the one of the previous notification.
        assert self.state.get(path) == (None if old is None else old["metadata"]["resourceVersion"])
        assert kind == ("ADDED" if old is None else "DELETED" if new is None else "MODIFIED")
        if new is None:
            del self.state[path]
        else:
            self.state[path] = new["metadata"]["resourceVersion"]


def test_objects_are_decoded_lazily() -> None:
    """An unused informer decodes nothing; a decoded object is not decoded again until it changes."""
    bench = Bench()
    for name in "abc":
        bench.put(f"n/{name}")
    bench.informer.add_index("color", color)
    bench.start()
    assert bench.informer.synced and bench.informers.synced
    bench.put("n/a", "red")
    assert bench.decoded == 0
    obj = bench.informer.get("n", "a")
    assert obj is not None and obj["metadata"]["resourceVersion"] == str(bench.revisions["n/a"])
    assert bench.informer.get("n", "a") is obj and bench.decoded == 1
    bench.put("n/a", "blue")
    assert bench.informer.get("n", "a") is not obj and bench.decoded == 2
    assert bench.informer.get("n", "x") is None and bench.informer.get("x", "a") is None


def test_large_changes_are_delivered_in_later_turns() -> None:
    """A large object is not decoded, indexed or handed to listeners in the turn of its writer; it is decoded in another
    turn than the first listener gets it, and each listener gets it in one of its own when the first takes long. Changes
    after it wait for it, so that all arrive in order."""
    bench, heard = Bench(), list[str]()

    def busy(name: str) -> Callable[[str, Object | None, Object | None], None]:
        def listen(kind: str, old: Object | None, new: Object | None) -> None:
            heard.append(f"{name} {path_of(new or old or {})} {kind}")
            bench.clock.rightNow += 0.01

        return listen

    bench.informer.add_index("color", color)
    for name in "ab":
        bench.informer.add_listener(busy(name))
    bench.start()
    assert bench.find("red") == []
    bench.put("n/small", "red")
    assert heard == ["a n/small ADDED", "b n/small ADDED"]
    heard.clear()
    decoded = bench.decoded
    bench.put("n/large", "x" * (LARGE + 1))
    bench.put("n/small", "blue")
    assert (heard, bench.decoded, bench.find("blue")) == ([], decoded, [])
    turns = []
    for _ in range(20):
        bench.clock.turn()
        turns.append(len(heard))
    assert heard == ["a n/large ADDED", "b n/large ADDED", "a n/small MODIFIED", "b n/small MODIFIED"]
    assert turns[0] == 0
    # No turn has more than one listener.
    assert sorted({*turns}) == [0, 1, 2, 3, 4]
    assert bench.find("blue") == ["n/small"] and bench.find("x" * (LARGE + 1)) == ["n/large"]


def test_new_listeners_get_large_objects_in_later_turns() -> None:
    """A large object that new listeners have to get is decoded in a turn without them, and each of them that is slow gets
    it in one of its own; small objects after it wait for it."""
    bench, heard = Bench(cost=0.005), list[str]()

    def busy(name: str) -> Callable[[str, Object | None, Object | None], None]:
        def listen(kind: str, old: Object | None, new: Object | None) -> None:
            heard.append(f"{name} {path_of(new or {})}")
            bench.clock.rightNow += 0.01

        return listen

    bench.put("n/large", "x" * (LARGE + 1))
    bench.put("n/small")
    bench.start()
    for name in "ab":
        bench.informer.add_listener(busy(name))
    delivered = start(bench.informer.wait_delivered())
    turns = []
    for _ in range(12):
        bench.clock.turn()
        turns.append((bench.decoded, len(heard)))
    assert list(dict.fromkeys(turns)) == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 4)]
    assert heard == ["a n/large", "b n/large", "a n/small", "b n/small"] and delivered.called


def test_waiting_large_changes_precede_a_gap() -> None:
    """When the cache loses its watch, what waits is delivered before the differences; a removed listener hears nothing
    more."""
    bench, heard, removed = Bench(), Listening(), Listening()
    for listener in (heard, removed):
        bench.informer.add_listener(listener)
    bench.start()
    bench.put("n/large", "x" * (LARGE + 1))
    bench.informer.remove_listener(removed)
    bench.end_watch()
    assert heard.heard == ["ADDED n/large"]
    bench.put("n/other")
    bench.pump()
    assert heard.heard == ["ADDED n/large", "ADDED n/other"] and removed.heard == []


def test_waiting_changes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More changes than the limit are delivered at once."""
    monkeypatch.setattr("orchd.server.informing.late._MOST_WAITING", 3)
    bench, heard = Bench(), Listening()
    bench.informer.add_listener(heard)
    bench.start()
    bench.put("n/large", "x" * (LARGE + 1))
    for name in "abc":
        assert heard.heard == []
        bench.put(f"n/{name}")
    assert len(heard.heard) == 4
    bench.pump()
    assert len(heard.heard) == 4


def test_lists_of_all_or_one_namespace() -> None:
    """Lists are of all objects or of a namespace; listing all objects caches nothing."""
    bench = Bench()
    for path in ("m/a", "n/a", "n/b", "n-/a"):
        bench.put(path)
    bench.start()
    assert [path_of(o) for o in bench.informer.list()] == ["m/a", "n-/a", "n/a", "n/b"]
    assert bench.caches.derived_budget.bytes == 0
    assert [path_of(o) for o in bench.informer.list("n")] == ["n/a", "n/b"] and not list(bench.informer.list("x"))
    assert bench.caches.derived_budget.bytes > 0


def test_lists_by_label_decode_matches_only() -> None:
    """A selective list decodes only the matching objects of a namespace."""
    bench = Bench()
    for path, color in (("m/a", "red"), ("n/a", "red"), ("n/b", "blue"), ("n/c", "red")):
        bench.put(path, color)
    bench.start()
    assert [path_of(o) for o in bench.informer.list("n", labels={"color": "red"})] == ["n/a", "n/c"]
    assert bench.decoded == 2
    assert [path_of(o) for o in bench.informer.list(labels={"color": "red"})] == ["m/a", "n/a", "n/c"]
    assert not list(bench.informer.list(labels={"color": "red", "size": "big"}))


def test_index_is_built_on_first_use() -> None:
    """An index costs nothing before its first use; afterwards it follows every change. An unknown one raises
    KeyError."""
    bench = Bench()
    bench.put("n/a", "red")
    bench.put("n/b", "red")
    bench.informer.add_index("color", color)
    assert not bench.informer.holds("color", "red")
    bench.start()
    assert bench.decoded == 0
    assert bench.find("red") == ["n/a", "n/b"] and bench.informer.holds("color", "red")
    bench.put("n/a", "blue")
    bench.delete("n/b")
    bench.put("n/c", "blue")
    assert bench.find("blue") == ["n/a", "n/c"] and not bench.informer.holds("color", "red")
    with pytest.raises(KeyError):
        bench.informer.by_index("none", "red")
    with pytest.raises(KeyError):
        run(bench.informer.wait_indexed("none"))


def test_index_is_built_in_pieces() -> None:
    """Building an index does not block; concurrent waiters share the build, which includes changes meanwhile."""
    bench = Bench(cost=0.002)
    for name in "abcde":
        bench.put(f"n/{name}", "red")
    bench.informer.add_index("color", color)
    first = start(bench.informer.wait_indexed("color"))
    bench.start()
    second = start(bench.informer.wait_indexed("color"))
    assert not first.called and bench.decoded == 2
    bench.put("n/a", "blue")
    bench.put("n/e", "blue")
    bench.delete("n/d")
    bench.put("n/f", "red")
    bench.pump()
    assert first.called and second.called
    decoded = bench.decoded
    assert bench.informer.holds("color", "red") and bench.decoded == decoded
    assert bench.find("red") == ["n/b", "n/c", "n/f"] and bench.find("blue") == ["n/a", "n/e"]
    run(bench.informer.wait_indexed("color"))


def test_index_of_an_empty_informer_is_complete() -> None:
    """The index is complete at once, without a wait."""
    bench = Bench()
    bench.informer.add_index("color", color)
    bench.start()
    run(bench.informer.wait_indexed("color"))
    bench.put("n/a", "red")
    assert bench.find("red") == ["n/a"]


def test_synchronous_reader_completes_the_index() -> None:
    """A synchronous read completes a build for which others wait, and they continue."""
    bench = Bench(cost=0.002)
    for name in "abcde":
        bench.put(f"n/{name}", "red")
    bench.informer.add_index("color", color)
    bench.start()
    waiting = start(bench.informer.wait_indexed("color"))
    assert len(bench.find("red")) == 5 and not waiting.called
    bench.pump()
    assert waiting.called


def test_early_listeners_are_complete_when_synced() -> None:
    """When an informer is synced, its earlier listeners have all objects."""
    bench = Bench()
    bench.put("n/a")
    early = Listening()
    bench.informer.add_listener(early)
    waiting = start(bench.informer.wait_synced())
    assert not waiting.called
    bench.start()
    assert waiting.called and early.heard == ["ADDED n/a"]
    bench.put("n/a", "red")
    bench.delete("n/a")
    assert early.heard == ["ADDED n/a", "MODIFIED n/a", "DELETED n/a"]


def test_late_listeners_share_the_replay() -> None:
    """Each object is decoded once for all late listeners, and changes meanwhile are delivered once."""
    bench = Bench(cost=0.002)
    for name in "abcdef":
        bench.put(f"n/{name}")
    bench.start()
    one, two = Listening(), Listening()
    bench.informer.add_listener(one)
    bench.informer.add_listener(two)
    assert not one.heard
    bench.clock.turn()
    assert one.heard == two.heard == ["ADDED n/a", "ADDED n/b"] and bench.decoded == 2
    bench.put("n/a", "red")
    bench.put("n/c", "red")
    bench.delete("n/d")
    bench.put("n/aa")
    bench.put("n/x")
    bench.delete("n/e")
    bench.put("n/e")
    bench.pump()
    assert one.heard[2:] == [
        "MODIFIED n/a", "ADDED n/aa", "ADDED n/x", "ADDED n/e", "ADDED n/c", "ADDED n/f",
    ]  # fmt: skip
    assert two.heard == one.heard
    assert one.state == {path: str(revision) for path, revision in bench.revisions.items()}


def test_wait_delivered_ends_with_the_replay() -> None:
    """The wait ends with the last piece, and at once when no replay is running."""
    bench = Bench(cost=0.002)
    for name in "abc":
        bench.put(f"n/{name}")
    bench.start()
    assert start(bench.informer.wait_delivered()).called
    heard = Listening()
    bench.informer.add_listener(heard)
    waiting = start(bench.informer.wait_delivered())
    bench.clock.turn()
    assert len(heard.heard) == 2 and not waiting.called
    bench.pump()
    assert len(heard.heard) == 3 and waiting.called


def test_failing_listener_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    """The other listeners are called, and the write succeeds."""
    bench = Bench()
    good = Listening()

    def bad(kind: str, old: Object | None, new: Object | None) -> None:
        raise RuntimeError("of a listener")

    bench.informer.add_listener(bad)
    bench.informer.add_listener(good)
    bench.start()
    bench.put("n/a")
    bench.put("n/a", "red")
    assert good.heard == ["ADDED n/a", "MODIFIED n/a"]


def test_readability_changes_are_reported() -> None:
    """An object that becomes readable again is in the indexes and is delivered to listeners; one that becomes
    unreadable is deleted for them."""
    bench = Bench()
    bench.put("n/a", "red")
    bad = run(bench.store.create("/pods/n/b", b"no json"))
    bench.informer.add_index("color", color)
    bench.start()
    listening = Listening()
    bench.informer.add_listener(listening)
    bench.pump()
    assert bench.find("blue") == []
    bench.revisions["n/b"] = bad
    bench.put("n/b", "blue")
    bench.pump()
    assert bench.informer.holds("color", "blue") and bench.find("blue") == ["n/b"]
    assert listening.heard == ["ADDED n/a", "ADDED n/b"]
    run(bench.store.update("/pods/n/a", b"no json", expected=bench.revisions["n/a"]))
    bench.pump()
    assert not bench.informer.holds("color", "red")
    assert listening.heard == ["ADDED n/a", "ADDED n/b", "DELETED n/a"]
    bench.put("n/c", "red")
    assert bench.find("red") == ["n/c"] and listening.heard[-1] == "ADDED n/c"


def test_reload_reports_the_differences() -> None:
    """After a reload of the cache, listeners and indexes get the differences; readers see the old state until then."""
    bench = Bench()
    for path in ("n/same", "n/changed", "n/gone"):
        bench.put(path, "red")
    bench.informer.add_index("color", color)
    heard = Listening()
    bench.informer.add_listener(heard)
    bench.start()
    assert bench.find("red") == ["n/changed", "n/gone", "n/same"]
    heard.heard.clear()
    bench.end_watch()
    bench.put("n/changed", "blue")
    bench.put("n/new", "red")
    bench.delete("n/gone")
    late = Listening()
    bench.informer.add_listener(late)
    assert bench.informer.synced and bench.find("red") == ["n/changed", "n/gone", "n/same"]
    bench.pump()
    assert sorted(heard.heard) == ["ADDED n/new", "DELETED n/gone", "MODIFIED n/changed"]
    assert bench.find("red") == ["n/new", "n/same"] and bench.find("blue") == ["n/changed"]
    assert late.state == heard.state == {path: str(revision) for path, revision in bench.revisions.items()}


def test_uncached_kinds_use_a_client_informer() -> None:
    """A resource that may be added and removed uses a client's informer."""
    bench = Bench()
    ref = ResourceRef("example.com", "v1", "widgets")
    assert bench.informers.informer(ref) is bench.others.informer(ref)
    assert bench.informers.informer(PODS) is bench.informer


def test_stop_fails_pending_waits() -> None:
    """Stopping an informer fails pending waits and leaves no task."""
    bench = Bench()
    ends: list[Any] = []
    bench.informer.add_index("color", color)
    for waiting in (start(bench.informer.wait_synced()), start(bench.informer.wait_indexed("color"))):
        waiting.addErrback(lambda failure: ends.append(failure.check(CancelledError)))
    bench.informers.start()
    run(bench.informers.stop())
    assert ends == [CancelledError] * 2 and not bench.clock.getDelayedCalls()


def test_stop_ends_feeds_and_index_builds() -> None:
    """Replays and index builds end with the informer, and the cache notifies nothing more."""
    bench = Bench(cost=0.004)
    for name in "abc":
        bench.put(f"n/{name}")
    bench.start()
    before = len(bench.clock.getDelayedCalls())
    heard = Listening()
    bench.informer.add_index("color", color)
    bench.informer.add_listener(heard)
    waiting = start(bench.informer.wait_indexed("color"))
    waiting.addErrback(lambda failure: failure.trap(CancelledError))
    bench.clock.turn()
    told = len(heard.heard)
    run(bench.informers.stop())
    bench.put("n/d")
    bench.pump()
    assert told == len(heard.heard) < 3 and bench.cache.subscribers == 0
    assert len(bench.clock.getDelayedCalls()) <= before


class ModelOfFollowers(RuleBasedStateMachine):
    """Listeners and indexes end up with the store's state, whenever they were added and whatever events were lost."""

    paths = st.sampled_from([f"{namespace}/{name}" for namespace in "mn" for name in "abc"])
    colors = st.sampled_from(["red", "blue"])

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(cost=0.002, derived_bytes=2000)
        self.colors_now: dict[str, str] = {}
        self.listeners: list[Listening] = []
        self.waiting: list[Deferred[None]] = []
        self.bench.informer.add_index("color", color)

    def teardown(self) -> None:
        for waiting in self.waiting:
            waiting.addErrback(lambda failure: failure.trap(CancelledError))
        run(self.bench.informers.stop())
        self.bench.caches.stop()

    @rule(path=paths, wanted=colors)
    def put(self, path: str, wanted: str) -> None:
        self.bench.put(path, wanted)
        self.colors_now[path] = wanted

    @rule(path=paths)
    def delete(self, path: str) -> None:
        if path in self.colors_now:
            self.bench.delete(path)
            del self.colors_now[path]

    @rule()
    def begin(self) -> None:
        if not self.bench.caches._expiry.running:
            self.bench.start()

    @rule()
    def listen(self) -> None:
        self.listeners.append(Listening())
        self.bench.informer.add_listener(self.listeners[-1])

    @rule()
    def ask_the_index(self) -> None:
        self.bench.informer.holds("color", "red")

    @rule()
    def wait_for_the_index(self) -> None:
        self.waiting.append(start(self.bench.informer.wait_indexed("color")))

    @rule()
    def end_watch(self) -> None:
        self.bench.end_watch()

    @rule()
    def one_turn(self) -> None:
        self.bench.clock.turn()

    @rule()
    def everything_settles(self) -> None:
        if not self.bench.caches._expiry.running:
            return
        self.bench.pump()
        expected = {path: str(revision) for path, revision in self.bench.revisions.items()}
        assert all(listener.state == expected for listener in self.listeners)
        assert all(waiting.called for waiting in self.waiting)
        for each in ("red", "blue"):
            assert self.bench.find(each) == sorted(p for p, c in self.colors_now.items() if c == each)

    @invariant()
    def little_is_kept(self) -> None:
        assert self.bench.caches.derived_budget.bytes <= 2000


TestFollows = ModelOfFollowers.TestCase
TestFollows.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize("converted", [False, True])
def test_a_delivered_object_is_not_decoded_again(converted: bool) -> None:
    """What was delivered to listeners is also the object of the entry, as long as it is kept and has the stored
    version."""
    bench = Bench()
    decode: Any = (lambda entry: {**entry.decoded()}) if converted else Entry.decoded
    informer = CachedInformer(PODS, bench.cache, decode, bench.clock, Background().add)
    informer.add_listener(lambda kind, old, new: None)
    bench.start()
    bench.pump()
    start(informer.run())
    bench.put("a/x", "red")
    entry = bench.cache.get("a/x")
    assert entry is not None and entry.fresh is None
    assert (entry.decoded() is informer.get("a", "x")) is not converted
    assert entry.decoded() == orjson.loads(entry.json)
    bench.caches.derived_budget.forget(entry)
    assert entry.decoded() == orjson.loads(entry.json)
