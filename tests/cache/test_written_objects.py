"""Objects that this process writes are not decoded again."""

from __future__ import annotations

import orjson

from orchd.cache import stored_encoding
from orchd.cache.entries import Change
from orchd.cache.written_objects import Announced
from tests.cache.cache_support import Bench, now, stored


def test_an_announced_object_reaches_subscribers_without_decoding() -> None:
    """During the delivery of the change the entry has the announced object with its revision; afterwards it holds no
    object."""
    bench = Bench()
    cache = bench.start()
    now(cache.ready())
    seen: list[object] = []

    def note(change: Change) -> None:
        seen.append(change.entry.fresh)

    cache.subscribe(after=cache.revision, prefix="", on_change=note, on_end=lambda error: None)
    obj = orjson.loads(stored("a/x", "n1", app="web"))
    bench.caches.announced.announce("/pods/a/x", stored("a/x", "n1", app="web"), obj)
    revision = bench.put("a/x", "n1", app="web")
    assert seen == [{**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}]
    entry = cache.get("a/x")
    assert entry is not None and entry.fresh is None and entry.own
    assert (entry.labels, entry.fields) == ({"app": "web"}, {"spec.nodeName": "n1"})
    assert obj["metadata"]["resourceVersion"] == "", "the announced object is not changed"


def test_announced_object_is_not_used_for_other_bytes() -> None:
    """The object of a write that lost a race is not used for the write that won."""
    bench = Bench()
    cache = bench.start()
    now(cache.ready())
    bench.caches.announced.announce("/pods/a/x", stored("a/x", "loser"), orjson.loads(stored("a/x", "loser")))
    bench.put("a/x", "winner")
    entry = cache.get("a/x")
    assert entry is not None and entry.fields == {"spec.nodeName": "winner"} and not entry.own


def test_concurrent_announcements_are_kept() -> None:
    """Of two writes of a key, either may win; nothing is left after both."""
    announced = Announced()
    announced.announce("/pods/a", b"1", {"n": 1})
    announced.announce("/pods/a", second := b"22", {"n": 2})
    assert announced.find("/pods/a", b"1") == {"n": 1}
    announced.withdraw("/pods/a", b"1")
    assert announced.find("/pods/a", b"2" + b"2") == {"n": 2}
    announced.withdraw("/pods/a", second)
    assert announced.find("/pods/a", second) is None and not len(announced)


def test_change_of_another_process_is_decoded_once() -> None:
    """During the delivery of the change the entry has the object that was decoded for the index, as its JSON has it."""
    bench = Bench()
    cache = bench.start()
    now(cache.ready())
    seen: list[tuple[object, bytes]] = []

    def note(change: Change) -> None:
        seen.append((change.entry.fresh, change.entry.json))

    cache.subscribe(after=cache.revision, prefix="", on_change=note, on_end=lambda error: None)
    bench.put("a/x", "n<1>", app="web")
    ((fresh, json),) = seen
    assert fresh == orjson.loads(json)
    entry = cache.get("a/x")
    assert entry is not None and entry.fresh is None and not entry.own


def test_loaded_entries_hold_no_objects() -> None:
    """Entries that are loaded at the start are delivered to nobody."""
    bench = Bench()
    bench.put("a/x", "n1")
    cache = bench.start()
    now(cache.ready())
    entry = cache.get("a/x")
    assert entry is not None and entry.fresh is None and not entry.own


def test_objects_of_other_processes_of_the_server_are_its_own() -> None:
    """Those that the processes of one server write have its canonical form; not those of custom kinds, whose schema
    another process may not know yet, and not those from before the start."""
    bench = Bench(one_server=True)
    bench.put("a/early", "n1")
    cache = bench.start()
    now(cache.ready())
    bench.put("a/x", "n1")
    custom = stored_encoding.encode(orjson.loads(stored("a/y")), custom=True)
    now(bench.store.create("/pods/a/y", custom))
    own = {path: entry.own for path in ("a/early", "a/x", "a/y") if (entry := cache.get(path)) is not None}
    assert own == {"a/early": False, "a/x": True, "a/y": False}
