"""The watch cache of one resource."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import orjson
import pytest
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent
from zope.interface.verify import verifyObject

from orchd.cache.entries import Change
from orchd.cache.interfaces import ICache, ICaches
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.objects.list_query import Selection, selection
from orchd.kinds.release import SPECIFICATION
from orchd.store.interfaces import DamagedValue, UnavailableError
from tests.cache.cache_support import Bench, RecordingSubscriber, index, now, stored

CATALOG = builtin_catalog(ORCH)


def paths(page: Any) -> list[str]:
    return [entry.path for entry in page.entries]


def test_classes_provide_their_interfaces() -> None:
    """The classes implement their interfaces."""
    bench = Bench()
    verifyObject(ICaches, bench.caches)
    verifyObject(ICache, bench.start())


def test_a_write_is_in_the_cache_when_it_is_acknowledged() -> None:
    """A write is in the cache when it is acknowledged: an entry has the stored JSON with the revision set."""
    bench = Bench()
    cache = bench.start()
    now(cache.ready())
    now(cache.fresh())
    revision = bench.put("a/x", "n1", app="web")
    entry = cache.get("a/x")
    assert entry is not None and now(cache.applied("a/x", revision)) is entry
    assert (entry.revision, entry.created, entry.labels, entry.fields) == (
        2,
        2,
        {"app": "web"},
        {"spec.nodeName": "n1"},
    )
    assert orjson.loads(entry.json)["metadata"]["resourceVersion"] == "2"
    bench.put("a/x", "n2", app="web")
    assert now(cache.applied("a/x", revision)) is entry, "the entry of that write, not of a later one"
    gone = bench.delete("a/x")
    assert cache.get("a/x") is None
    assert now(cache.applied("a/x", gone)) is None


def test_cache_loads_existing_entries_with_their_history() -> None:
    """A new cache has the current entries and, as far as the store has history, the changes before them."""
    bench = Bench()
    bench.put("a/x")
    bench.put("b/y")
    bench.delete("a/x")
    cache = bench.start()
    assert paths(cache.page()) == ["b/y"]
    assert (cache.revision, cache.oldest) == (4, 1)
    told = RecordingSubscriber()
    told.subscribe(cache, 2)
    assert told.lines() == [("ADDED", "b/y", 3), ("DELETED", "a/x", 4)]
    assert paths(cache.page(revision=3)) == ["a/x", "b/y"]


def test_a_quiet_resource_cannot_be_read_before_the_compacted_revision() -> None:
    """A page of a past revision ends with the store's history, also where nothing of the resource has changed since;
    watches do not."""
    bench = Bench()
    cache = bench.start()
    revision = bench.put("a/x")
    bench.put("n1", key="nodes")
    assert paths(cache.page(revision=revision)) == ["a/x"]
    bench.compact()
    with pytest.raises(ApiError) as raised:
        cache.page(revision=revision)
    assert raised.value.code == 410
    assert paths(cache.page()) == ["a/x"]
    told = RecordingSubscriber()
    told.subscribe(cache, revision)
    assert not told.ends


def test_loading_a_large_resource_yields_to_the_reactor() -> None:
    """A large resource is loaded in parts, and writes during the load are not lost."""
    bench = Bench()
    for i in range(1200):
        bench.put(f"a/{i:04}")
    now(bench.store.compact(bench.store.revision))
    cache = bench.start()
    waiting: Deferred[None] = Deferred.fromCoroutine(cache.ready())
    assert not waiting.called
    bench.put("a/0000", app="changed")
    bench.put("b/new")
    bench.delete("a/0001")
    bench.clock.pump([0, 0, 0])
    assert waiting.called
    assert len(cache) == 1200
    assert cache.get("a/0000").labels == {"app": "changed"}
    told = RecordingSubscriber()
    told.subscribe(cache, 1201)
    assert told.lines() == [("MODIFIED", "a/0000", 1202), ("ADDED", "b/new", 1203), ("DELETED", "a/0001", 1204)]


def test_a_small_resource_can_be_read_while_a_large_one_is_loaded() -> None:
    """Caches are loaded by size, with events of the meantime; reads of the others wait, and then have all objects."""
    bench = Bench()
    for i in range(1200):
        bench.put(f"a/{i:04}")
    bench.put("n1", key="nodes")
    bench.compact()
    large, small = bench.cache(), bench.caches.cache("nodes", index)
    bench.caches.start()
    now(small.ready())
    reading: Deferred[None] = Deferred.fromCoroutine(large.fresh())
    bench.put("n2", key="nodes")
    bench.delete("a/0001")
    assert paths(small.page()) == ["n1", "n2"]
    assert not reading.called
    bench.clock.pump([0, 0, 0])
    assert reading.called
    assert len(large.page().entries) == 1199
    told = RecordingSubscriber()
    told.subscribe(large, 1202)
    assert told.lines() == [("DELETED", "a/0001", 1204)]


def test_caches_may_stop_when_the_first_one_is_loaded() -> None:
    """Who waited for a small resource stops the server: the load of the others ends."""
    bench = Bench()
    for i in range(1200):
        bench.put(f"a/{i:04}")
    bench.put("n1", key="nodes")
    bench.compact()
    large, small = bench.cache(), bench.caches.cache("nodes", index)
    stopping = Deferred.fromCoroutine(small.ready())
    stopping.addCallback(lambda _: bench.caches.stop())
    waiting = Deferred.fromCoroutine(large.ready())
    bench.caches.start()
    assert stopping.called
    assert waiting.called
    waiting.addErrback(lambda failure: failure.trap(ApiError))
    assert bench.clock.getDelayedCalls() == []


@pytest.mark.parametrize("name", ["plain", "<escaped>"])
def test_bytes_are_held_once(name: str) -> None:
    """A memory store keeps no values that the cache has, loaded or written later; it returns them unchanged. What is
    served escaped is not what is stored."""
    bench = Bench()
    bench.put("a/loaded", app=name)
    bench.start()
    bench.put("a/written", app=name)
    for path in ("a/loaded", "a/written"):
        item = now(bench.store.get(f"/pods/{path}"))
        assert item.value == stored(path, app=name)
        assert (item.value is item.value) == (name == "<escaped>")
    bench.put("a/written", app="again")
    assert now(bench.store.get("/pods/a/written")).value == stored("a/written", app="again")


def test_selectors_choose_the_subscribers_of_a_change() -> None:
    """A subscriber with selectors hears once of objects that meet them before or after a change, in its namespace, and
    of no others."""
    bench = Bench()
    cache, pods = bench.start(), CATALOG.resource("", "v1", "pods")
    assert pods is not None
    expected = {
        ("", "zone=z", ""): [],
        ("", "app=web", ""): [2, 3, 4, 5, 6],
        ("", "tier=front,app=web", ""): [2, 3],
        ("", "", "spec.nodeName=n1"): [2, 3],
        ("", "", "metadata.name=x"): [2, 3, 4],
        ("b/", "app=web", ""): [5, 6],
        ("a/x", "app=none", ""): [],
        ("", "app in (web,db)", ""): [2, 3, 4, 5, 6],
        ("a/", "app in (db,none)", ""): [4],
        ("", "app in (db,web),tier in (back,front)", ""): [2, 3, 4],
        ("", "tier", ""): [2, 3, 4],
        ("b/", "tier", ""): [],
        ("", "app notin (web,db)", ""): [],
        ("", "app!=web", ""): [4],
        ("", "!tier", ""): [4, 5, 6],
        ("", "!tier ", ""): [4, 5, 6],
    }
    told = [RecordingSubscriber() for _ in expected]
    running = [
        cache.subscribe(
            after=cache.revision,
            prefix=prefix,
            on_change=subscriber.changes.append,
            on_end=subscriber.ends.append,
            selection=selection(pods, labels, fields, SPECIFICATION),
        )
        for (prefix, labels, fields), subscriber in zip(expected, told, strict=True)
    ]
    bench.put("a/x", "n1", app="web", tier="front")
    bench.put("a/x", "n2", app="web", tier="back")
    bench.put("a/x", "n2", app="db")
    bench.put("b/y", "n2", app="web")
    bench.delete("b/y")
    assert [[change.revision for change in subscriber.changes] for subscriber in told] == list(expected.values())
    for subscription in running:
        subscription.cancel()
    bench.put("a/x", "n1", app="web", tier="front")
    assert cache.subscribers == 0
    assert [len(subscriber.changes) for subscriber in told] == [len(each) for each in expected.values()]


def test_subscribers_with_one_selector_cost_one_evaluation() -> None:
    """A selector that no index can serve is evaluated once for each state of a change, however many subscribers have
    it; sets of values are looked up."""
    bench = Bench()
    cache, pods = bench.start(), CATALOG.resource("", "v1", "pods")
    assert pods is not None
    evaluated: list[str] = []

    def counting(labels: str) -> Selection:
        chosen = selection(pods, labels, "", SPECIFICATION)

        def match(entry: Any) -> bool:
            evaluated.append(labels)
            return chosen.match is None or chosen.match(entry)

        return replace(chosen, match=match)

    for labels in ("app!=web", "tier notin (x,y)", "app in (db,none)", "app=db"):
        for _ in range(10):
            subscriber = RecordingSubscriber()
            cache.subscribe(
                after=cache.revision,
                prefix="",
                on_change=subscriber.changes.append,
                on_end=subscriber.ends.append,
                selection=counting(labels),
            )
    bench.put("a/x", app="web", tier="x")
    assert evaluated == ["app!=web", "tier notin (x,y)"]
    bench.put("a/x", app="web", tier="y")
    assert len(evaluated) == 6


def test_every_cache_follows_the_stores_revision() -> None:
    """A cache advances to the store's revision with every write, also to other resources."""
    bench = Bench()
    pods, nodes = bench.start(), bench.caches.cache("minions", index)
    assert bench.put("n1", key="minions") == 2
    assert (pods.revision, nodes.revision, bench.caches.lag) == (2, 2, 0)
    assert pods.page().revision == 2
    bench.put("a/s", key="services/specs")
    bench.put("a/s", key="services/endpoints")
    specs = bench.caches.cache("services/specs", index)
    assert paths(specs.page()) == ["a/s"]
    for key in ("services", "services/specs/more"):
        with pytest.raises(ValueError, match="overlap"):
            bench.caches.cache(key, index)
    short = bench.caches.cache("s", index)
    bench.put("a", key="s")
    assert paths(short.page()) == ["a"]


def test_pages_continue_at_the_first_pages_revision() -> None:
    """Pages continue where the last one ended, at its revision, and have the number of remaining items."""
    bench = Bench()
    cache = bench.start()
    for name in ("b/1", "a/1", "a/2", "a-b/1", "ab/1", "a/3"):
        bench.put(name)
    assert paths(cache.page()) == ["a-b/1", "a/1", "a/2", "a/3", "ab/1", "b/1"]
    assert paths(cache.page(prefix="a/")) == ["a/1", "a/2", "a/3"]
    assert paths(cache.page(prefix="a/2")) == ["a/2"]
    assert paths(cache.page(prefix="a/4")) == []
    first = cache.page(limit=2)
    assert (paths(first), first.next_path, first.remaining, first.revision) == (["a-b/1", "a/1"], "a/2", 4, 7)
    bench.delete("a/2")
    bench.put("a/2x")
    second = cache.page(limit=3, start=first.next_path, revision=first.revision)
    assert (paths(second), second.next_path, second.remaining) == (["a/2", "a/3", "ab/1"], "b/1", 1)
    last = cache.page(limit=3, start=second.next_path, revision=first.revision)
    assert (paths(last), last.next_path, last.remaining) == (["b/1"], "", 0)


def test_exact_selectors_are_served_from_an_index() -> None:
    """Label and field selectors are served from an index that follows changes and deletions."""
    bench = Bench()
    cache = bench.start()
    bench.put("a/1", "n1", app="web", tier="x")
    bench.put("a/2", "n2", app="web")
    bench.put("b/1", "n1", app="db")
    bench.put("b/2")

    def paths_of(**more: Any) -> list[str]:
        return paths(cache.page(**more))

    assert paths_of(labels={"app": "web"}) == ["a/1", "a/2"]
    assert paths_of(labels={"app": "web", "tier": "x"}) == ["a/1"]
    assert paths_of(labels={"app": "none"}) == []
    assert paths_of(fields={"spec.nodeName": "n1"}) == ["a/1", "b/1"]
    assert paths_of(fields={"spec.nodeName": ""}) == ["b/2"]
    assert paths_of(fields={"spec.nodeName": "n1"}, labels={"app": "db"}) == ["b/1"]
    assert paths_of(fields={"spec.nodeName": "n1"}, prefix="a/") == ["a/1"]
    assert paths_of(fields={"metadata.name": "1"}) == ["a/1", "b/1"]
    assert paths_of(fields={"metadata.name": "1"}, prefix="a/") == ["a/1"]
    assert paths_of(fields={"metadata.namespace": "b"}) == ["b/1", "b/2"]
    assert paths_of(fields={"metadata.namespace": "b"}, prefix="a/") == []
    assert paths_of(fields={"metadata.name": "2", "metadata.namespace": "a"}) == ["a/2"]
    assert paths_of(labels={"app": "web"}, match=lambda entry: entry.path == "a/2") == ["a/2"]
    assert paths_of(labels={"app": "web"}, match=lambda entry: entry.path == "b/2") == []
    assert paths_of(fields={"spec.nodeName": "n1"}, match=lambda entry: entry.path != "a/1") == ["b/1"]
    assert paths_of(fields={"metadata.namespace": "", "metadata.name": "1"}) == []
    bench.put("a/1", "n2", app="db")
    bench.put("b/2", "n1", app="web")
    bench.delete("a/2")
    assert paths_of(labels={"app": "web"}) == ["b/2"]
    assert paths_of(labels={"app": "db"}) == ["a/1", "b/1"]
    assert paths_of(fields={"spec.nodeName": "n2"}) == ["a/1"]
    assert paths_of(labels={"app": "web"}, revision=5) == ["a/1", "a/2"]
    assert paths_of(labels={"app": "web"}, revision=5, prefix="b/") == []
    page = cache.page(labels={"app": "db"}, limit=1)
    assert (paths(page), page.remaining, page.next_path) == (["a/1"], None, "b/1")
    assert cache.indexed == 3


def test_range_of_a_past_page() -> None:
    """A page of the past begins at the wanted path and ends with the namespace, also where these have changed since."""
    bench = Bench()
    cache = bench.start()
    for path in ("a/0", "a/1", "a/2", "a0"):
        bench.put(path, app="old")
    for path in ("a/0", "a/1", "a0"):
        bench.put(path, app="new")

    def page(**more: Any) -> list[tuple[str, str]]:
        entries = cache.page(revision=5, **more).entries
        return [(entry.path, entry.labels["app"]) for entry in entries]

    assert page(prefix="a/", start="a/1") == page(prefix="a/", start="a/1", labels={"app": "old"})
    assert page(prefix="a/", start="a/1") == [("a/1", "old"), ("a/2", "old")]
    assert page(prefix="a/1") == [("a/1", "old")]
    assert (
        page(prefix="a/", start="a/9") == page(prefix="a/", start="b") == page(prefix="a/", labels={"app": "new"}) == []
    )


@pytest.mark.parametrize("every", [1, 3, 40], ids=["all", "many", "few"])
def test_entries_come_in_order_for_any_number_of_matches(every: int) -> None:
    """Entries are in order, within the requested range and as of the version, whether many match or few."""
    bench = Bench()
    cache = bench.start()
    names = [f"{namespace}/{number:03}" for number in range(60) for namespace in ("b", "a", "a-")]
    for position, name in enumerate(names):
        bench.put(name, app="web" if position % every == 0 else "db", tier="x")
    wanted = sorted(name for position, name in enumerate(names) if position % every == 0)
    then = cache.revision

    def check(revision: int) -> None:
        for prefix in ("", "a/", "a-/", "b/"):
            expected = [name for name in wanted if name.startswith(prefix)]
            for labels in ({"app": "web"}, {"app": "web", "tier": "x"}):
                assert paths(cache.page(prefix=prefix, labels=labels, revision=revision)) == expected
                page = cache.page(prefix=prefix, labels=labels, revision=revision, limit=2)
                assert paths(page) == expected[:2]
                rest = cache.page(prefix=prefix, labels=labels, revision=revision, start=page.next_path)
                assert not page.next_path or paths(rest) == expected[2:]

    check(0)
    bench.delete(wanted[0])
    bench.put(wanted[1], app="db")
    bench.put("a/new", app="web")
    check(then)


def test_index_of_few_entries_follows_changes() -> None:
    """Where few of many entries match, an index has them: after creations, changes, deletions, unreadable values and a
    reload."""
    bench = Bench()
    for number in range(100):
        bench.put(f"a/{number:02}", app="db")
    bench.put("a0", app="web")
    cache = bench.start()

    def web(**more: Any) -> list[str]:
        page = cache.page(labels={"app": "web"}, **more)
        assert page.fetched <= 5
        return paths(page)

    assert web() == ["a0"]
    bench.put("a/new", app="web")
    bench.put("a/10", app="web")
    bench.put("a/20", app="web")
    assert web() == ["a/10", "a/20", "a/new", "a0"]
    assert web(prefix="a/") == ["a/10", "a/20", "a/new"]
    assert web(start="a/20", limit=2) == ["a/20", "a/new"]
    past = cache.revision
    bench.put("a/10", app="db")
    bench.delete("a/new")
    assert web() == ["a/20", "a0"]
    assert web(revision=past, prefix="a/", start="a/10") == ["a/10", "a/20", "a/new"]
    now(bench.store.update("/pods/a/20", b"no json", expected=past))
    assert web() == ["a0"]
    bench.put("a/20", app="web")
    assert web() == ["a/20", "a0"]
    bench.store._watches.end(UnavailableError("lost"))
    bench.delete("a0")
    bench.put("a/30", app="web")
    bench.clock.advance(1)
    assert web() == ["a/20", "a/30"]


def test_changes_up_to_the_start_of_a_subscription_are_not_delivered() -> None:
    """A subscription after a revision that is still to come gets the changes after it alone."""
    bench = Bench()
    cache = bench.start()
    later = RecordingSubscriber()
    revision = bench.put("a/1")
    later.subscribe(cache, revision + 2)
    for _ in range(4):
        bench.put("a/1")
    assert [line[2] for line in later.lines()] == [revision + 3, revision + 4]


def test_shared_label_sets_are_bounded() -> None:
    """After a thousand different sets, later entries share new ones."""
    bench = Bench()
    cache = bench.start()
    for number in range(1000):
        bench.put(f"a/{number}", number=str(number))

    def labels(path: str) -> Any:
        bench.put(path, number="0")
        entry = cache.get(path)
        assert entry is not None
        return entry.labels

    first = labels("b/1")
    assert labels("b/2") is first
    bench.put("b/3", number="1000")
    later = labels("b/4")
    assert later == first and later is not first and labels("b/5") is later


def test_past_changes() -> None:
    """The changes above a revision, at most a number of them; 410 before the window and after the end."""
    bench = Bench()
    cache = bench.start()
    for name in "abc":
        bench.put(name)
    assert [change.revision for change in cache.past(after=1, most=2)] == [2, 3]
    assert [change.revision for change in cache.past(after=3, most=2)] == [4]
    cache.expire(bench.clock.seconds())
    with pytest.raises(ApiError, match="too old resource version: 3"):
        cache.past(after=3, most=1)
    assert cache.past(after=4, most=1) == []
    bench.caches.stop()
    with pytest.raises(ApiError, match="the server is stopping"):
        cache.past(after=4, most=1)


def test_entries_share_equal_labels_and_fields() -> None:
    """Equal label sets of a few labels are one object, and a change that leaves labels and fields keeps both."""
    bench = Bench()
    cache = bench.start()

    def put(path: str, **labels: str) -> Any:
        bench.put(path, "n1", **labels)
        return cache.get(path)

    few, many = ({f"l{number}": "x" for number in range(count)} for count in (64, 65))
    first, second = put("a/1", **few), put("a/2", **few)
    assert first.labels is second.labels and first.labels == few
    assert put("a/3", **many).labels is not put("a/4", **many).labels
    assert put("a/5").labels is put("a/6").labels
    again = put("a/4", **many)
    changed = put("a/4", **many)
    assert changed.labels is again.labels and changed.fields is again.fields and changed is not again
    assert put("a/4", **few).labels == few


def test_unused_indexes_are_forgotten() -> None:
    """The number of indexes is bounded, however many labels are selected by."""
    bench = Bench()
    cache = bench.start()
    bench.put("a/1", **{f"l{i}": "x" for i in range(50)})
    for i in range(50):
        assert paths(cache.page(labels={f"l{i}": "x"})) == ["a/1"]
    assert cache.indexed <= 16


def test_selectors_with_many_labels_make_few_indexes() -> None:
    """Of many required labels the first ones choose the candidates; all of them count."""
    bench = Bench()
    cache = bench.start()
    required = {f"l{number}": "x" for number in range(50)}
    bench.put("a/1", **required)
    bench.put("a/2", **{**required, "l49": "y"})
    assert paths(cache.page(labels=required)) == ["a/1"]
    assert cache.indexed == 8
    assert paths(cache.page(labels={"none": "x", **required})) == []
    assert cache.indexed == 9


def test_subscriptions_get_only_their_own_changes() -> None:
    """Subscribers to all objects, a namespace or one object get only matching changes, past and live."""
    bench = Bench()
    cache = bench.start()
    start = bench.put("a/1")
    everything, namespace, one = RecordingSubscriber(), RecordingSubscriber(), RecordingSubscriber()
    bench.put("a/2")
    everything.subscribe(cache, start)
    namespace.subscribe(cache, start, "a/")
    one.subscribe(cache, 1, "a/1")
    bench.put("a/1")
    bench.put("a/11")
    bench.put("b/1")
    bench.delete("a/1")
    assert [line[2] for line in everything.lines()] == [3, 4, 5, 6, 7]
    assert [line[2] for line in namespace.lines()] == [3, 4, 5, 7]
    assert one.lines() == [("ADDED", "a/1", 2), ("MODIFIED", "a/1", 4), ("DELETED", "a/1", 7)]
    last = one.changes[-1]
    assert orjson.loads(last.entry.json)["metadata"]["resourceVersion"] == "7"
    assert last.previous is one.changes[1].entry
    assert everything.changes[1] is one.changes[1], "one change for all, so that frames are shared"


def test_cancelled_subscriptions_get_no_changes() -> None:
    """A subscription that is cancelled in a callback, its own or another's, gets no more changes, past or live."""
    bench = Bench()
    cache = bench.start()
    bench.put("a/1")
    bench.put("a/2")
    heard: list[Change] = []
    subscriptions: list[Any] = []

    def once(change: Change) -> None:
        heard.append(change)
        for subscription in subscriptions:
            subscription.cancel()

    for _ in range(2):
        subscriptions.append(cache.subscribe(after=3, prefix="", on_change=once, on_end=lambda error: None))
    bench.put("a/3")
    bench.put("a/4")
    assert [change.revision for change in heard] == [4]
    assert cache.subscribers == 0


def test_cancelled_subscriptions_are_released() -> None:
    """The cache keeps nothing of a subscription that was cancelled, nor of its subscriber."""
    bench = Bench()
    cache = bench.start()
    changes: list[Change] = []

    def hear(change: Change) -> None:
        changes.append(change)

    pods = CATALOG.resource("", "v1", "pods")
    assert pods is not None
    for prefix in ("", "a/", "a/1"):
        for labels in ("", "a=b", "a in (b,c)", "a", "a!=b"):
            chosen = selection(pods, labels, "", SPECIFICATION)
            cache.subscribe(
                after=1, prefix=prefix, on_change=hear, on_end=lambda error: None, selection=chosen
            ).cancel()
    bench.put("a/1", a="b")
    assert changes == []
    released = weakref.ref(hear)
    del hear
    gc.collect()
    assert released() is None


def test_failing_subscriber_is_removed() -> None:
    """The failing subscriber is removed; the write and other subscribers are not affected."""
    bench = Bench()
    cache = bench.start()
    ended, told = RecordingSubscriber(), RecordingSubscriber()

    def fail(change: Change) -> None:
        raise RuntimeError

    cache.subscribe(after=1, prefix="", on_change=fail, on_end=ended.ends.append)
    told.subscribe(cache, 1)
    with capturedLogs() as events:
        bench.put("a/1")
    assert isinstance(ended.ends[0], RuntimeError)
    assert [formatEvent(event).partition("\n")[0] for event in events] == ["a subscriber to everything failed"]
    assert told.lines() == [("ADDED", "a/1", 2)]


def test_subscribing_inside_a_callback() -> None:
    """A subscription that starts during the delivery of a change receives it once."""
    bench = Bench()
    cache = bench.start()
    inner = RecordingSubscriber()
    cache.subscribe(
        after=1,
        prefix="",
        on_end=print,
        on_change=lambda change: None if inner.changes else inner.subscribe(cache, 1, "a/1"),
    )
    bench.put("a/1")
    assert inner.lines() == [("ADDED", "a/1", 2)]


def test_forgotten_revisions_are_expired() -> None:
    """Revisions that left the window cannot be watched or listed: 410, Expired."""
    bench = Bench(window_events=8)
    cache = bench.start()
    for i in range(20):
        bench.put(f"a/{i}")
    assert cache.window_length <= 8
    assert cache.oldest > 10
    with pytest.raises(ApiError) as watch:
        RecordingSubscriber().subscribe(cache, cache.oldest - 1)
    with pytest.raises(ApiError) as page:
        cache.page(revision=cache.oldest - 1)
    assert (watch.value.code, watch.value.reason) == (page.value.code, page.value.reason) == (410, "Expired")
    assert len(cache.page(revision=cache.oldest).entries) == cache.oldest - 1
    RecordingSubscriber().subscribe(cache, cache.oldest)


def test_the_window_is_bounded_by_age_and_bytes() -> None:
    """Changes leave the window by age, also without new ones, and by size."""
    bench = Bench(window_seconds=300, window_bytes=10_000)
    cache = bench.start()
    bench.put("a/1")
    bench.clock.pump([30] * 9)
    bench.put("a/2")
    assert cache.oldest == 1
    bench.clock.pump([30] * 2)
    assert (cache.oldest, cache.window_length) == (2, 1)
    for _ in range(100):
        bench.put("a/2", app="x" * 500)
    assert cache.window_bytes <= 10_000
    bench.clock.pump([30] * 12)
    assert (cache.oldest, cache.window_length, cache.window_bytes) == (cache.revision, 0, 0)


def test_waiting_for_a_revision() -> None:
    """A read "not older than" a future revision waits for it; after three seconds the answer is 504 with a retry
    hint."""
    bench = Bench()
    cache = bench.start()
    early: Deferred[None] = Deferred.fromCoroutine(cache.at_least(3))
    bench.put("a/1")
    assert not early.called
    bench.put("x", key="other")
    assert early.called
    late: list[Any] = []
    Deferred.fromCoroutine(cache.at_least(9)).addErrback(late.append)
    bench.clock.advance(3)
    assert late[0].value.message == "Timeout: Too large resource version: 9, current: 3"
    assert late[0].value.code == 504
    assert bench.caches.waiting == 0
    cancelled: Deferred[None] = Deferred.fromCoroutine(cache.at_least(9))
    cancelled.addErrback(lambda failure: None)
    cancelled.cancel()
    assert bench.caches.waiting == 0
    with pytest.raises(ApiError):
        cache.page(revision=9)


def test_ended_store_watch_ends_watches_and_reloads() -> None:
    """Watches end with 410, and the cache reloads when the store is available again."""
    bench = Bench()
    cache = bench.start()
    bench.put("a/1")
    told = RecordingSubscriber()
    told.subscribe(cache, 2)
    bench.store._watches.end(UnavailableError("lost"))
    assert [error.code for error in told.ends] == [410]  # type: ignore[attr-defined]
    waiting: Deferred[None] = Deferred.fromCoroutine(cache.ready())
    bench.put("a/2")
    now(bench.store.compact(3))
    assert not waiting.called
    assert paths(cache.page()) == ["a/1"], "what was there stays until there is better"
    bench.clock.advance(1)
    assert waiting.called
    assert paths(cache.page()) == ["a/1", "a/2"]
    assert cache.oldest == 3
    bench.put("a/3")
    assert cache.get("a/3")
    assert bench.caches.restarts == 1


def test_dropped_resource_frees_its_memory() -> None:
    """The watches of a dropped resource end and its memory is freed; the resource may be added again with another
    schema."""
    bench = Bench()
    cache = bench.start()
    bench.put("a/1", app="web")
    assert len(cache.page(labels={"app": "web"}).entries) == 1
    cache.page().entries[0].keep("row", "A", 30)
    told = RecordingSubscriber()
    told.subscribe(cache, 1)
    bench.caches.drop("pods")
    bench.caches.drop("pods")
    assert [error.code for error in told.ends] == [410]  # type: ignore[attr-defined]
    assert (len(cache), cache.entry_bytes, cache.window_length, cache.indexed) == (0, 0, 0, 0)
    assert cache.get("a/1") is None and bench.caches.derived_budget.bytes == 0
    with pytest.raises(ApiError):
        RecordingSubscriber().subscribe(cache, 2)
    with pytest.raises(ApiError):
        now(cache.ready())
    assert paths(bench.caches.cache("pods", index).page()) == ["a/1"]


def test_stop_ends_watches_and_leaves_no_timers() -> None:
    """Stopping ends every watch and leaves no delayed calls."""
    bench = Bench()
    cache = bench.start()
    told, pods = RecordingSubscriber(), CATALOG.resource("", "v1", "pods")
    assert pods is not None
    told.subscribe(cache, 1)
    for labels in ("a=b", "a in (b,c)", "a!=b"):
        chosen = selection(pods, labels, "", SPECIFICATION)
        cache.subscribe(after=1, prefix="", on_change=print, on_end=told.ends.append, selection=chosen)
    bench.caches.stop()
    bench.store.stop()
    assert [error.code for error in told.ends] == [503] * 4  # type: ignore[attr-defined]
    assert bench.clock.getDelayedCalls() == []


def test_unreadable_values_are_left_out_and_reported() -> None:
    """A value that cannot be decoded is left out of pages and reported to readers that need complete results; others
    are not affected. When it appears or is deleted, watchers have to list again."""
    bench = Bench()
    cache = bench.start()
    bench.put("b/good", app="x")
    told = RecordingSubscriber()
    told.subscribe(cache, cache.revision)
    bad = now(bench.store.create("/pods/a/bad", b"no json"))
    assert [error.code for error in told.ends] == [410]  # type: ignore[attr-defined]
    assert paths(cache.page()) == ["b/good"]
    assert cache.get("a/bad") is None and cache.unreadable == 1
    entry = cache.damaged("a/bad")
    assert entry is not None and (entry.key, entry.revision) == ("/pods/a/bad", bad)
    for wrong in ({}, {"prefix": "a/"}, {"prefix": "a/bad"}, {"start": "a/bad", "end": "a/c"}):
        with pytest.raises(ApiError) as refused:
            cache.check_readable(**wrong)
        assert refused.value.code == 500 and "/pods/a/bad" in refused.value.message
    for right in ({"prefix": "b/"}, {"start": "a/c"}, {"end": "a/b"}, {"end": "a/bad"}):
        cache.check_readable(**right)
    again = RecordingSubscriber()
    again.subscribe(cache, cache.revision)
    now(bench.store.update("/pods/a/bad", DamagedValue(stored("a/bad")), expected=bad))
    assert cache.unreadable == 1 and again.ends
    bench.put("a/bad")
    assert paths(cache.page()) == ["a/bad", "b/good"] and cache.unreadable == 0
    cache.check_readable()
    now(bench.store.update("/pods/a/bad", b"[]", expected=bench.store.revision))
    bench.delete("a/bad")
    assert paths(cache.page()) == ["b/good"] and cache.unreadable == 0
    bench.compact()


def test_bytes_of_entries() -> None:
    """The size of a cache is that of the objects that it has: loaded, created, replaced, deleted and loaded again."""
    bench = Bench()
    bench.put("a/early", "n1")
    cache = bench.start()
    now(cache.ready())

    def assert_size(*paths: str) -> None:
        entries = [entry for path in paths if (entry := cache.get(path)) is not None]
        assert len(entries) == len(paths) == len(cache)
        assert cache.entry_bytes == sum(len(entry.json) for entry in entries)

    assert_size("a/early")
    bench.put("a/x", "n1")
    assert_size("a/early", "a/x")
    bench.put("a/x", "a-much-longer-name-of-a-node", label="value")
    assert_size("a/early", "a/x")
    bench.delete("a/early")
    assert_size("a/x")


def test_entries_that_a_list_looks_at() -> None:
    """A page looks no further than its last entry; a whole list looks at all entries, or at those of an index."""
    bench = Bench()
    cache = bench.start()
    for number in range(1, 6):
        bench.put(f"a/{number}", "n1" if number < 3 else "n2", app="web" if number % 2 else "db")

    def fetched(**more: Any) -> tuple[list[str], int]:
        page = cache.page(**more)
        return paths(page), page.fetched

    def odd(entry: Any) -> bool:
        return entry.path in ("a/1", "a/3", "a/5")

    assert fetched(limit=2) == (["a/1", "a/2"], 2)
    assert fetched() == (["a/1", "a/2", "a/3", "a/4", "a/5"], 5)
    assert fetched(match=odd, limit=1) == (["a/1"], 1)
    assert fetched(match=odd, limit=2) == (["a/1", "a/3"], 3)
    assert fetched(match=odd) == (["a/1", "a/3", "a/5"], 5)
    assert fetched(fields={"spec.nodeName": "n2"}) == (["a/3", "a/4", "a/5"], 3)
    bench.put("b/1", "n2", app="web")
    assert fetched(fields={"metadata.namespace": "b"}) == (["b/1"], 1)
    assert fetched(fields={"metadata.name": "1"}) == (["a/1", "b/1"], 6)
    assert fetched(fields={"metadata.name": "1", "metadata.namespace": "b"}) == (["b/1"], 1)
    assert fetched(fields={"metadata.name": "1"}, prefix="b/") == (["b/1"], 1)
    assert fetched(labels={"app": "web"}, prefix="b/") == (["b/1"], 1)
    assert fetched(labels={"app": "web"}, limit=1) == (["a/1"], 1)
    lists = cache.lists
    assert lists.total == {"": 9, "f:spec.nodeName": 1, "labels": 2}
    assert lists.fetched == {"": 2 + 5 + 1 + 3 + 5 + 1 + 6 + 1 + 1, "f:spec.nodeName": 3, "labels": 2}
    assert lists.returned == 2 + 5 + 1 + 2 + 3 + 3 + 1 + 2 + 1 + 1 + 1 + 1
