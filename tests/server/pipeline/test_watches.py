"""WATCH: start versions, selectors, bookmarks, and clients that do not read."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import orjson
import pytest
from twisted.internet.defer import Deferred, succeed

from orchd.server.pipeline.representation import Presenter
from orchd.server.pipeline.verbs.watch import stream as watch
from orchd.testing.doubles.server import run
from orchd.txkit.compute_thread import ComputeThread, current_flow

MERGE = "application/merge-patch+json"


class Reader:
    """A sink. While `slow`, written data is buffered; `read` takes all of it."""

    def __init__(self, *, slow: bool = False) -> None:
        self.slow = slow
        self.buffered = 0
        self.data = b""
        self.ended = ""
        self.waiting: Deferred[None] | None = None

    def write(self, data: bytes) -> None:
        assert not self.ended
        self.data += data
        if self.slow:
            self.buffered += len(data)

    def writable(self) -> Deferred[None]:
        if not self.slow:
            return succeed(None)
        self.waiting = Deferred()
        return self.waiting

    def read(self) -> None:
        self.buffered = 0
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            waiting.callback(None)

    def finish(self) -> None:
        self.ended = "finished"

    def abort(self) -> None:
        self.ended = "aborted"

    def events(self) -> list[Any]:
        taken, self.data = self.data, b""
        return [orjson.loads(line) for line in taken.splitlines()]

    def seen(self) -> list[str]:
        return [f"{e['type']} {e['object']['metadata']['name']}" for e in self.events()]


class Watch:
    def __init__(self, space: Any, rest: str, *, slow: bool = False, **headers: str) -> None:
        response = space("GET", rest, **headers)
        assert response.code == 200 and response.response.stream is not None, response.body
        self.stream = response.response.stream
        self.reader = Reader(slow=slow)
        self.stream.start(self.reader)

    def __enter__(self) -> Reader:
        return self.reader

    def __exit__(self, *error: object) -> None:
        self.stream.stop()


def test_watch_without_a_version_starts_with_the_state(space: Any) -> None:
    """Without a version, or with 0, all current objects come first, as ADDED; then changes."""
    space.config("a")
    for query in ("", "&resourceVersion=0"):
        with Watch(space, f"configmaps?watch=1{query}") as reader:
            assert "ADDED a" in reader.seen()
            space.config("n" + str(len(query)))
            assert reader.seen() == [f"ADDED n{len(query)}"]


def test_watch_from_a_version_gets_later_changes(space: Any) -> None:
    """From a version come the changes after it, including those before the watch was opened, none twice."""
    config_map = space.config("a")
    space("PATCH", "configmaps/a", {"data": {"x": "1"}}, content_type=MERGE)
    with Watch(space, f"configmaps?watch=1&resourceVersion={config_map['metadata']['resourceVersion']}") as reader:
        space("DELETE", "configmaps/a")
        events = reader.events()
    assert [e["type"] for e in events] == ["MODIFIED", "DELETED"]
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
    assert versions == sorted(versions) and versions[0] > int(config_map["metadata"]["resourceVersion"])


def test_watch_from_a_lists_version_has_no_gap(space: Any) -> None:
    """A list and a watch from its version have no gap."""
    space.config("a")
    version = space("GET", "configmaps").json["metadata"]["resourceVersion"]
    space.config("b")
    with Watch(space, f"configmaps?watch=1&resourceVersion={version}") as reader:
        space.config("c")
        assert reader.seen() == ["ADDED b", "ADDED c"]


def test_selector_changes_become_added_and_deleted(space: Any) -> None:
    """An object that begins to match is ADDED; one that ceases to is DELETED, in its last matching state, at the new
    version."""
    space.config("a")
    with Watch(space, "configmaps?watch=1&labelSelector=in%3Dyes") as reader:
        for value in ("yes", "yes", "no"):
            change = {"metadata": {"labels": {"in": value}}, "data": {"n": str(len(reader.data))}}
            last = space("PATCH", "configmaps/a", change, content_type=MERGE).json
        space("DELETE", "configmaps/a")
        events = reader.events()
    assert [e["type"] for e in events] == ["ADDED", "MODIFIED", "DELETED"]
    gone = events[-1]["object"]["metadata"]
    assert gone["labels"] == {"in": "yes"} and gone["resourceVersion"] == last["metadata"]["resourceVersion"]


@pytest.mark.parametrize("query", ["configmaps?watch=1&fieldSelector=metadata.name%3Da", "watch"])
def test_watch_of_one_object(space: Any, query: str) -> None:
    """A single object is watched by a field selector or under the deprecated prefix, without its neighbours."""
    rest = query
    if query == "watch":
        space.url = lambda rest, group="": f"/api/v1/watch/namespaces/{space.name}/configmaps/a"
    for name in ("a", "ab"):
        run(
            space.server.request(
                "POST", f"/api/v1/namespaces/{space.name}/configmaps", body={"metadata": {"name": name}}
            )
        )
    with Watch(space, rest) as reader:
        assert reader.seen() == ["ADDED a"]
        run(space.server.request("DELETE", f"/api/v1/namespaces/{space.name}/configmaps/ab"))
        run(space.server.request("DELETE", f"/api/v1/namespaces/{space.name}/configmaps/a"))
        assert reader.seen() == ["DELETED a"]


def test_watch_of_one_namespace(space: Any) -> None:
    """A watch of one namespace gets no events of others."""
    with Watch(space, "configmaps?watch=1") as reader:
        elsewhere = {"metadata": {"name": f"w-{space.name}"}}
        assert run(space.server.request("POST", "/api/v1/namespaces/default/configmaps", body=elsewhere)).code == 201
        assert space.name not in str(reader.events())


def test_expired_version_is_an_error_event_with_410(space: Any) -> None:
    """A watch from an expired version gets an ERROR event with 410, and ends."""
    space.config("a")
    space.config("b")
    server = space.server.server
    server.registry.cache(server.catalog.resource("", "v1", "configmaps")).expire(space.server.clock.seconds() + 1)
    with Watch(space, "configmaps?watch=1&resourceVersion=1") as reader:
        (event,) = reader.events()
        assert event["type"] == "ERROR" and event["object"]["code"] == 410 and reader.ended == "finished"


def test_invalid_watches_are_refused(space: Any) -> None:
    """Invalid options are rejected before the watch begins."""
    assert space("GET", "configmaps?watch=1&resourceVersionMatch=Exact&resourceVersion=1").code == 422
    assert space("GET", "configmaps?watch=1&labelSelector=((").code == 400
    post = run(space.server.request("POST", f"/api/v1/watch/namespaces/{space.name}/configmaps", body={}))
    assert post.code == 405


class TestEnds:
    def test_watch_ends_after_its_timeout(self, space: Any) -> None:
        """A watch ends after its timeout and leaves no timer and no subscription."""
        server = space.server.server
        cache = server.registry.cache(server.catalog.resource("", "v1", "configmaps"))
        before, calls = cache.subscribers, len(space.server.clock.getDelayedCalls())
        running = len(server.api.watches.running)
        watched = Watch(space, "configmaps?watch=1&timeoutSeconds=5&allowWatchBookmarks=true")
        assert cache.subscribers == before + 1 and len(server.api.watches.running) == running + 1
        space.server.clock.advance(5)
        assert watched.reader.ended == "finished" and cache.subscribers == before
        assert len(space.server.clock.getDelayedCalls()) <= calls and len(server.api.watches.running) == running

    @pytest.mark.parametrize("seconds", ["-1", "0"])
    def test_zero_and_negative_timeouts(self, space: Any, seconds: str) -> None:
        """0 is no limit; a negative value ends the watch at once."""
        with Watch(space, f"configmaps?watch=1&timeoutSeconds={seconds}") as reader:
            space.server.clock.advance(0)
            assert reader.ended == ("finished" if seconds == "-1" else "")

    def test_bookmarks_are_sent_on_request(self, space: Any) -> None:
        """A client that allows bookmarks gets them periodically, with a version up to which no event is missing."""
        with Watch(space, "configmaps?watch=1&allowWatchBookmarks=true&timeoutSeconds=600") as reader:
            config_map = space.config("a")
            reader.events()
            space.server.clock.advance(61)
            (event,) = reader.events()
            assert event["type"] == "BOOKMARK" and event["object"]["kind"] == "ConfigMap"
            assert int(event["object"]["metadata"]["resourceVersion"]) >= int(config_map["metadata"]["resourceVersion"])

    @pytest.mark.parametrize("option", ["true", "x", ""])
    @pytest.mark.parametrize(("seconds", "marks"), [(1, 0), (2, 0), (4, 1)])
    def test_short_watches_get_no_bookmarks(self, space: Any, option: str, seconds: int, marks: int) -> None:
        """The last bookmark is sent two seconds before the end, so shorter watches have none. All values of the option
        but false and 0 allow bookmarks."""
        with Watch(space, f"configmaps?watch=1&allowWatchBookmarks={option}&timeoutSeconds={seconds}") as reader:
            for _ in range(10 * seconds + 1):
                space.server.clock.advance(0.1)
            assert [event["type"] for event in reader.events()] == ["BOOKMARK"] * marks
            assert reader.ended == "finished"


class TestSlowReaders:
    def test_unread_client_is_dropped(self, space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client with too many unread bytes is disconnected and counted, and its buffers are released."""
        monkeypatch.setattr(watch, "MOST_BUFFERED", 2000)
        server = space.server.server
        dropped = server.api.watches.metrics.dropped.values.get(("configmaps",), 0)
        with Watch(space, "configmaps?watch=1", slow=True) as reader:
            for number in range(20):
                space.config(f"c{number}")
            assert reader.ended == "aborted" and server.api.watches.metrics.dropped.values["configmaps",] == dropped + 1
            assert len(reader.data) < 4000

    def test_initial_state_is_sent_as_it_is_read(self, space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """However large the initial state, little of it is buffered; later changes follow it."""
        monkeypatch.setattr(watch, "MOST_BUFFERED", 4000)
        monkeypatch.setattr(watch, "PAUSE_ABOVE", 1000)
        for number in range(40):
            space.config(f"c{number:02}")
        with Watch(space, "configmaps?watch=1&resourceVersion=0&allowWatchBookmarks=true", slow=True) as reader:
            assert len(reader.data) < 2000
            space("DELETE", "configmaps/c00")
            space.server.clock.advance(61)
            rounds = 0
            while reader.waiting is not None:
                reader.read()
                rounds += 1
            seen = reader.seen()
            assert rounds > 5 and not reader.ended
            assert seen == [*(f"ADDED c{n:02}" for n in range(40)), "DELETED c00"]
            reader.read()
            space.config("later")
            assert reader.seen() == ["ADDED later"]

    def test_disconnect_during_the_initial_state(self, space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client that disconnects during the initial state leaves nothing behind."""
        monkeypatch.setattr(watch, "PAUSE_ABOVE", 1000)
        server = space.server.server
        cache = server.registry.cache(server.catalog.resource("", "v1", "configmaps"))
        before, running = cache.subscribers, len(server.api.watches.running)
        for number in range(10):
            space.config(f"c{number}")
        watched = Watch(space, "configmaps?watch=1", slow=True)
        watched.stream.stop()
        waiting = watched.reader.waiting
        assert waiting is not None and waiting.called
        assert cache.subscribers == before and len(server.api.watches.running) == running

    def test_history_is_sent_as_it_is_read(self, space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Missed changes of a reconnecting client are sent as it reads them: it is not disconnected for them."""
        config_map = space.config("a")
        for number in range(20):
            space.config(f"c{number}")
        monkeypatch.setattr(watch, "MOST_BUFFERED", 2000)
        monkeypatch.setattr(watch, "PAUSE_ABOVE", 1000)
        version = config_map["metadata"]["resourceVersion"]
        with Watch(space, f"configmaps?watch=1&resourceVersion={version}", slow=True) as reader:
            while reader.waiting is not None:
                reader.read()
            assert len(reader.events()) == 20 and not reader.ended


def test_table_and_metadata_events(space: Any) -> None:
    """A watch of tables has column definitions in its first event only; metadata-only events have no data."""
    meta = space.server.dialect.meta_group
    space.config("a")
    with Watch(space, "configmaps?watch=1", accept=f"application/json;as=Table;g={meta};v=v1") as reader:
        space.config("b")
        first, *_, last = reader.events()
        assert first["object"]["columnDefinitions"] and not last["object"].get("columnDefinitions")
        assert last["object"]["rows"][0]["cells"][0] == "b"
    accept = f"application/json;as=PartialObjectMetadata;g={meta};v=v1"
    with Watch(space, "configmaps?watch=1", accept=accept) as reader:
        assert all(
            e["object"]["kind"] == "PartialObjectMetadata" and "data" not in e["object"] for e in reader.events()
        )


class Held:
    """A computing thread that computes at `release`, and then at once."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Deferred[None]]] = []
        self.held = True

    async def __call__(self, thread: ComputeThread, size: int, function: Any, *arguments: Any) -> Any:
        if self.held and getattr(function, "func", function).__name__ == "frame":
            waiting: Deferred[None] = Deferred()
            self.calls.append((current_flow.get(), waiting))
            await waiting
        return function(*arguments)

    def release(self) -> None:
        self.held = False
        for _, waiting in self.calls:
            waiting.callback(None)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    held = Held()
    monkeypatch.setattr(ComputeThread, "__call__", lambda *arguments: held(*arguments))
    return held


TABLE = "application/json;as=Table;g=meta.orch.io;v=v1"
BIG = {"metadata": {"name": "big"}, "data": {"a": "x" * 100_000}}


class TestLargeObjects:
    """Frames of large objects that are not the stored bytes are encoded in another thread."""

    @pytest.mark.parametrize("accept", [TABLE, TABLE.replace("Table", "PartialObjectMetadata")])
    def test_changes_are_sent_in_order(self, space: Any, held: Held, accept: str) -> None:
        """Changes and bookmarks after a large one wait for it; watches of the same form wait for one encoding."""
        query = "configmaps?watch=1&allowWatchBookmarks=true"
        with Watch(space, query, accept=accept) as one, Watch(space, query, accept=accept) as other:
            first = len(other.events())
            assert first == len(one.events())
            space.make("configmaps", BIG)
            space.config("small")
            space.server.clock.advance(61)
            assert not one.data and not other.data
            assert [flow for flow, _ in held.calls] == ["admin"]
            held.release()
            for reader in (one, other):
                assert [e["type"] for e in reader.events()] == ["ADDED", "ADDED"]
            space.config("later")
            assert len(one.events()) == 1

    def test_initial_state(self, space: Any, held: Held) -> None:
        """The initial state waits for a large object; a client that has left meanwhile gets nothing."""
        space.make("configmaps", BIG)
        query = "configmaps?watch=1&fieldSelector=metadata.name=big"
        with Watch(space, query, accept=TABLE) as reader:
            gone = Watch(space, query, accept=TABLE)
            gone.stream.stop()
            assert not reader.data and held.calls
            held.release()
            assert len(reader.events()) == 1 and not gone.reader.data

    def test_client_far_behind_is_dropped(self, space: Any, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client for which too many changes wait is disconnected, and no more of them encoded."""
        monkeypatch.setattr(watch, "_MOST_BEHIND", 3)
        with Watch(space, "configmaps?watch=1", accept=TABLE) as reader:
            space.make("configmaps", BIG)
            space.make("configmaps", {**BIG, "metadata": {"name": "big2"}})
            space.config("c")
            ended = [reader.ended]
            space.config("last")
            assert [*ended, reader.ended] == ["", "aborted"]
            encoded: list[Any] = []
            monkeypatch.setattr(Presenter, "frame", lambda *arguments, **_: encoded.append(arguments))
            held.release()
            assert not encoded

    def test_stored_bytes_are_sent_at_once(self, space: Any, held: Held) -> None:
        """Events in the stored form need no encoding."""
        with Watch(space, "configmaps?watch=1") as reader:
            reader.events()
            space.make("configmaps", BIG)
            assert reader.seen() == ["ADDED big"] and not held.calls


@pytest.mark.parametrize("accept", ["application/json", "application/vnd.orch.protobuf;stream=watch"])
def test_initial_events_of_large_objects_share_their_bytes(space: Any, accept: str) -> None:
    """Watches of one representation write the same bytes object; other events of the object have their own."""
    space.make("configmaps", {"metadata": {"name": "big"}, "data": {"a": "x" * 100_000}})
    query = "configmaps?watch=1&fieldSelector=metadata.name=big&resourceVersion=0"
    with Watch(space, query, accept=accept) as one, Watch(space, query, accept=accept) as other:
        assert one.data is other.data
        first = one.data
        assert b"ADDED" in first
        one.data = b""
        assert space("DELETE", "configmaps/big").code == 200
        assert b"DELETED" in one.data


@pytest.mark.parametrize(("version", "code"), [("x", 500), ("-1", 500), ("5", 406), ("", 406)])
def test_versions_are_read_before_the_media_type_of_a_stream(space: Any, version: str, code: int) -> None:
    """A media type without streams is refused after a resourceVersion that is no number."""
    response = space("GET", f"configmaps?watch=1&resourceVersion={version}", accept="application/yaml")
    assert response.code == code


def test_a_watch_that_has_ended_by_its_time_is_freed(space: Any) -> None:
    """An ended watch is in no cycle: collections of old objects come hours later."""
    running = space.server.server.api.watches.running
    before = set(running)
    watched = Watch(space, "configmaps?watch=1&timeoutSeconds=5&allowWatchBookmarks=true")
    (freed,) = (weakref.ref(each) for each in running if each not in before)
    gc.disable()
    try:
        space.server.clock.advance(5)
        assert watched.reader.ended == "finished" and freed() is not None
        del watched
        assert freed() is None
    finally:
        gc.enable()
