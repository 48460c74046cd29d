"""Memory and connections that slow or many watchers may take, and the metrics of both."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from orchd.server.pipeline.interfaces import ISink, IStream
from orchd.server.pipeline.verbs.watch.stream import MOST_BUFFERED, PAUSE_ABOVE
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run
from orchd.testing.processes.daemon import DaemonProcess
from tests.cache.cache_support import Bench
from tests.processes import resident_memory
from tests.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"
LARGE = "x" * 100_000


@implementer(ISink)
class Client:
    """The client of a watch, which reads nothing until the test asks it to."""

    def __init__(self, *, takes: bool = False) -> None:
        self.takes = takes
        self.frames: list[bytes] = []
        self.end = ""
        self.most = 0
        self.buffered = 0
        self._waiting: list[Deferred[None]] = []

    def write(self, data: bytes) -> None:
        assert not self.end
        self.frames.append(data)
        if not self.takes:
            self.buffered += len(data)
            self.most = max(self.most, self.buffered)

    def writable(self) -> Deferred[None]:
        if self.takes:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        return waiting

    def take(self) -> None:
        """Read the pending data once."""
        self.buffered = 0
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)

    def finish(self) -> None:
        self.end = "finished"

    def abort(self) -> None:
        self.end = "aborted"

    def events(self) -> list[str]:
        """Type and name, or code, of each event."""
        found = []
        for frame in self.frames:
            event = json.loads(frame)
            obj = event["object"]
            found.append(f"{event['type']} {obj.get('code') or obj['metadata'].get('name', '')}".rstrip())
        return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path)
    yield server
    server.stop()


def write(server: InProcessServer, name: str, value: str = LARGE, *, verb: str = "POST") -> int:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"a": "b"}},
        "data": {"v": value},
    }
    response = run(server.request(verb, MAPS if verb == "POST" else f"{MAPS}/{name}", body=body))
    assert response.code in (200, 201), response.body
    return int(response.json["metadata"]["resourceVersion"])


def stream_of(response: JsonResponse) -> IStream:
    stream = response.response.stream
    assert stream is not None
    return stream


def watch(server: InProcessServer, query: str, *, takes: bool = False) -> Client:
    response = run(server.request("GET", f"{MAPS}?watch=1&{query}"))
    assert response.code == 200
    client = Client(takes=takes)
    stream_of(response).start(client)
    return client


@pytest.mark.parametrize("selector", ["", "&labelSelector=a%3Db"])
def test_a_client_that_does_not_read_is_dropped(server: InProcessServer, selector: str) -> None:
    """The connection of a client is closed when 4 MiB wait for it; other clients are not affected."""
    revision = write(server, "first", "")
    reading = watch(server, f"resourceVersion={revision}{selector}", takes=True)
    asleep = watch(server, f"resourceVersion={revision}{selector}")
    for number in range(60):
        write(server, f"n{number}")
    assert asleep.end == "aborted"
    assert MOST_BUFFERED < asleep.most < MOST_BUFFERED + 2 * len(LARGE)
    assert (len(reading.frames), reading.end) == (60, "")
    assert server.server.api.watches.metrics.dropped.values == {("configmaps",): 1}


@pytest.mark.parametrize("begin", ["the state", "the past"])
def test_initial_state_and_history_are_sent_as_the_client_reads(server: InProcessServer, begin: str) -> None:
    """A client that reads slowly gets the initial state and the history in order, without a copy of it being queued for
    the client."""
    revision = write(server, "n0")
    for number in range(1, 80):
        write(server, f"n{number}")
    client = watch(server, f"resourceVersion={revision}" if begin == "the past" else "")
    assert client.most <= PAUSE_ABOVE + 2 * len(LARGE)
    first = len(client.frames)
    for number in range(80, 90):
        write(server, f"n{number}")
    assert len(client.frames) == first
    for _ in range(200):
        client.take()
    assert client.most <= PAUSE_ABOVE + 2 * len(LARGE)
    skipped = 1 if begin == "the past" else 0
    names = [f"n{number}" for number in range(skipped, 90)]
    # The initial state is ordered by name.
    told = client.events()
    expected = [f"ADDED {name}" for name in names]
    assert told == expected if skipped else sorted(told) == sorted(expected)
    write(server, "last", "")
    assert client.events()[-1] == "ADDED last"
    assert client.end == ""


def test_watch_slower_than_the_window_ends_with_410(server: InProcessServer) -> None:
    """When events that a client has not read yet leave the history, it gets 410 and the watch ends orderly."""
    revision = write(server, "first", "")
    for number in range(10):
        write(server, f"n{number}")
    for number in range(200):
        write(server, "first", str(number), verb="PUT")
    client = watch(server, f"resourceVersion={revision}")
    assert len(client.frames) < 10
    server.clock.advance(200)
    write(server, "first", "now", verb="PUT")
    server.clock.pump([30] * 5)
    for _ in range(300):
        client.take()
    assert client.end == "finished"
    assert client.events()[-1] == "ERROR 410"


def test_disconnect_during_history_leaves_nothing_behind(server: InProcessServer) -> None:
    """A watch that is disconnected while it waits for its client releases everything."""
    revision = write(server, "first", "")
    for number in range(10):
        write(server, f"n{number}")
    cache = server.server.storage.caches.caches["configmaps"]
    before, running = cache.subscribers, len(server.server.api.watches.running)
    response = run(server.request("GET", f"{MAPS}?watch=1&resourceVersion={revision}"))
    client = Client()
    stream_of(response).start(client)
    stream_of(response).stop()
    client.take()
    assert (cache.subscribers, len(server.server.api.watches.running)) == (before, running)
    assert client.end == ""


def test_bookmarks_are_sent_every_minute_and_before_the_end(server: InProcessServer) -> None:
    """Bookmarks are sent about once a minute and shortly before the watch ends; their version is one up to which no
    event is missing."""
    revision = write(server, "first", "")
    client = watch(server, f"resourceVersion={revision}&allowWatchBookmarks=1&timeoutSeconds=150", takes=True)
    plain = watch(server, f"resourceVersion={revision}&timeoutSeconds=150", takes=True)
    marks: list[tuple[float, int]] = []
    began = server.clock.seconds()
    for _ in range(1510):
        before = len(client.frames)
        server.clock.advance(0.1)
        for frame in client.frames[before:]:
            told = json.loads(frame)["object"]["metadata"]["resourceVersion"]
            marks.append((server.clock.seconds() - began, int(told)))
        if client.end:
            break
    times = [round(moment) for moment, _ in marks]
    assert times == [60, 120, 148]
    latest = run(server.server.storage.store.current_revision())
    assert revision <= marks[0][1] <= marks[1][1] <= marks[2][1] <= latest
    assert (client.end, plain.end) == ("finished", "finished")
    assert set(client.events()) == {"BOOKMARK"}
    assert plain.frames == []
    mark = json.loads(client.frames[0])["object"]
    assert mark["kind"] == "ConfigMap"


def test_compaction_expires_tokens_and_old_watches(server: InProcessServer) -> None:
    """Beyond the window a continue token is answered by 410 with a token for an inconsistent continuation; a list or
    watch at that version by 410."""
    for name in "abc":
        write(server, name, "")
    page = run(server.request("GET", f"{MAPS}?limit=1")).json
    revision, token = page["metadata"]["resourceVersion"], page["metadata"]["continue"]
    write(server, "aa", "")
    server.clock.pump([30] * 12)
    write(server, "d", "")
    expired = run(server.request("GET", f"{MAPS}?limit=10&continue={token}"))
    assert expired.code == 410
    body = expired.json
    assert (body["status"], body["reason"], body["code"]) == ("Failure", "Expired", 410)
    assert body["message"].startswith("The provided continue parameter is too old to display a consistent list result.")
    rest = run(server.request("GET", f"{MAPS}?limit=10&continue={body['metadata']['continue']}"))
    assert rest.code == 200
    assert [item["metadata"]["name"] for item in rest.json["items"]][:2] == ["aa", "b"]
    exact = run(server.request("GET", f"{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact"))
    assert (exact.code, exact.json["reason"]) == (410, "Expired")
    late = watch(server, f"resourceVersion={revision}", takes=True)
    assert (late.events(), late.end) == (["ERROR 410"], "finished")


def test_cache_metrics_are_served(server: InProcessServer) -> None:
    """/metrics has the cache's size, window and lag, and the watchers and those that were dropped."""
    revision = write(server, "first", "")
    watch(server, f"resourceVersion={revision}", takes=True)
    for number in range(45):
        write(server, f"n{number}")
    text = run(server.request("GET", "/metrics")).body.decode()
    shown = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    # The namespace has one of its own.
    assert float(shown['apiserver_storage_objects{resource="configmaps"}']) >= 46
    assert float(shown['orchd_cache_window_events{resource="configmaps"}']) >= 46
    assert float(shown['orchd_cache_window_bytes{resource="configmaps"}']) > 45 * len(LARGE)
    assert float(shown['orchd_cache_watchers{resource="configmaps"}']) >= 1
    assert float(shown['orchd_cache_applied_events{resource="configmaps"}']) >= 46
    # The watcher's frames.
    assert 0 < float(shown["orchd_cache_derived_bytes"]) <= 32 * 1024 * 1024
    for name in ("orchd_cache_lag", "orchd_cache_waiting_reads", "orchd_cache_restarts_total"):
        assert float(shown[name]) == 0
    # Labelled by resource, so there are no samples before a watch is closed.
    assert not [name for name in shown if name.startswith("apiserver_terminated_watchers_total")]


def test_clients_that_never_read_are_dropped_over_tls(tmp_path: Path) -> None:
    """Fifty TLS clients that never read are disconnected, a client that reads gets everything, and the server's memory
    stays within the bound."""
    changes, size, sleepers = 150, 100_000, 50
    with DaemonProcess(tmp_path, "--controllers=-*") as server:
        _, listed = server.request("GET", MAPS)
        path = f"{MAPS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}"
        context, held = server.context(), []
        for _ in range(sleepers):
            raw = socket.create_connection(("127.0.0.1", server.port))
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            one = context.wrap_socket(raw, server_hostname="127.0.0.1")
            one.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            held.append(one)
        reading = server.connect()
        reading.request("GET", path)
        response = reading.getresponse()
        before = resident_memory(server.pid)
        connection = server.connect()
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"v": "x" * size}}
        seen = 0
        for number in range(changes):
            named = {**body, "metadata": {"name": f"n{number}"}}
            connection.request("POST", MAPS, json.dumps(named), {"Content-Type": "application/json"})
            written = connection.getresponse()
            assert (written.read() and written.status) == 201
            seen += json.loads(response.readline())["type"] == "ADDED"
        assert seen == changes

        def dropped() -> bool:
            text: str = server.request("GET", "/metrics")[1]
            return f'\napiserver_terminated_watchers_total{{resource="configmaps"}} {float(sleepers)}\n' in text

        until(dropped)
        grown = resident_memory(server.pid) - before
        # The objects are in the store, the cache and the history, and once as frames; not once per client.
        assert grown < 8 * changes * size + sleepers * 256 * 1024
        for one in held:
            one.close()
        reading.close()
        connection.close()


def test_memory_is_trimmed_after_mass_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    """After much history was dropped, the C library is asked once to return free memory; not for small amounts."""
    given: list[bool] = []
    monkeypatch.setattr("orchd.cache.caches.release_free_memory", lambda: given.append(True))
    monkeypatch.setattr("orchd.cache.caches._RELEASE_THRESHOLD", 10_000)
    bench = Bench(window_seconds=100)
    bench.start()
    bench.put("a/small")
    bench.clock.pump([11] * 12)
    assert not given
    for number in range(30):
        bench.put(f"a/{number}", x="y" * 1000)
    for number in range(30):
        bench.delete(f"a/{number}")
    bench.clock.pump([11] * 30)
    assert len(given) == 1
