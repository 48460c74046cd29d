"""The services Watch and Lease over a store in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from orchd.store.etcd import messages
from orchd.store.grpc.status import FAILED_PRECONDITION, NOT_FOUND, OUT_OF_RANGE, UNAVAILABLE, StatusError
from orchd.store.interfaces import Event
from orchd.store.records import Change
from orchd.store.serving import watcher, watches
from tests.store.serving.services import Connected, Streamed


@pytest.fixture
def kv() -> Connected:
    return Connected()


def watched(kv: Connected, key: str = "\0", end: str = "\0", **fields: Any) -> Streamed:
    stream = kv.stream(messages.WATCH, messages.WatchResponse)
    create(stream, key, end, **fields)
    return stream


def create(stream: Streamed, key: str = "\0", end: str = "\0", **fields: Any) -> None:
    stream.ask(messages.WatchRequest(create={"key": key.encode(), "range_end": end.encode(), **fields}))


def events(stream: Streamed) -> list[tuple[int, str, int]]:
    return [
        (event.type, event.kv.key.decode(), event.kv.mod_revision)
        for response in stream.taken()
        for event in response.events
    ]


def test_watch_has_its_range_from_its_revision(kv: Connected) -> None:
    """A watch is announced, then has the past and the present events of its range, with previous values if asked."""
    kv.put("/a/1", "x")
    kv.put("/b/1", "x")
    kv.put("/a/1", "y")
    stream = watched(kv, "/a/", "/a0", start_revision=3, prev_kv=True)
    kv.delete("/a/", "/z")
    created, past, gone = stream.taken()
    assert created.created and not created.events and created.watch_id == 0
    assert past.events[0].prev_kv.value == b"x" and past.events[0].kv.version == 2
    (deletion,) = gone.events
    assert (deletion.type, deletion.kv.key, deletion.prev_kv.value) == (messages.DELETED, b"/a/1", b"y")
    assert deletion.kv.mod_revision == gone.header.revision == kv.store.revision


def test_watches_of_a_stream_have_ids_and_filters(kv: Connected) -> None:
    """Each watch has the id that the client gave, or a free one, and none of the events that it does not want."""
    stream = watched(kv, filters=[0])
    create(stream, filters=[1], watch_id=7)
    create(stream, watch_id=7)
    create(stream, "/b", "/a")
    first, second, third, fourth = stream.taken()
    assert (first.watch_id, second.watch_id) == (0, 7)
    assert third.canceled and third.created and "duplicate" in third.cancel_reason
    assert fourth.canceled and fourth.watch_id == -1 and "empty" in fourth.cancel_reason
    kv.put("/a")
    kv.delete("/a")
    assert [(each.watch_id, each.events[0].type) for each in stream.taken()] == [(7, 0), (0, 1)]
    stream.ask(messages.WatchRequest(cancel={"watch_id": 7}))
    (cancelled,) = stream.taken()
    assert cancelled.canceled and cancelled.watch_id == 7
    kv.put("/a")
    assert not stream.taken()


def test_other_processes_learn_of_a_commit_first(kv: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has the revision before an event is sent; events and responses of other processes are sent before this
    process has its own."""
    order: list[str] = []

    def own(events: Sequence[Event]) -> None:
        order.extend(f"own event {event.key}" for event in events)
        if events[0].key == "/first":
            # Both wait for the end of this commit, and are in the next one.
            kv.store.apply([Change("/a", b"")]).addCallback(lambda revision: order.append(f"own response {revision}"))
            kv.store.apply([Change("/b", b"")], forwarded=True).addCallback(
                lambda revision: order.append(f"response {revision}")
            )

    kv.store.watch("", after=1, on_events=own, on_end=print)
    stream = watched(kv)
    stream.taken()
    monkeypatch.setattr(stream, "pump", lambda call: order.append("event"))
    monkeypatch.setattr(stream, "flush", lambda: order.append("flush"))
    kv.store.on_revision = lambda revision: order.append(f"page {revision}")
    kv.put("/first")
    assert order[:4] == ["page 2", "event", "flush", "own event /first"]
    assert order[4:] == [
        "page 4", "event", "response 4", "flush", "own event /a", "own event /b", "own response 3"
    ]  # fmt: skip


def test_only_streams_with_events_are_flushed(kv: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, however many of its watches have events: clients may have thousands that have none."""
    flushed: list[str] = []
    for name, ranges in {"a": (("/a", "/b"), ("/a", "/b"), ("/x", "/y")), "b": (("/x", "/y"),)}.items():
        stream = watched(kv, *ranges[0])
        monkeypatch.setattr(stream, "flush", lambda name=name: flushed.append(name))
        for key, end in ranges[1:]:
            create(stream, key, end)
    kv.put("/a")
    assert flushed == ["a"]
    kv.put("/x")
    assert flushed == ["a", "a", "b"]
    kv.put("/z")
    assert flushed == ["a", "a", "b"]


def test_watch_of_a_compacted_revision_is_cancelled(kv: Connected) -> None:
    """It says from which revision on there is history."""
    for _ in range(4):
        kv.put("/a")
    kv.call(messages.COMPACT, messages.CompactionRequest(revision=4), messages.CompactionResponse)
    stream = watched(kv, start_revision=2)
    kv.clock.advance(1)
    created, cancelled = stream.taken()
    assert created.created and cancelled.canceled and cancelled.compact_revision == 4
    assert cancelled.cancel_reason == "etcdserver: mvcc: required revision has been compacted"


def test_watch_from_the_beginning_of_an_uncompacted_store(kv: Connected) -> None:
    """The first revision of a store has no write, so a watch from it misses nothing."""
    kv.put("/a")
    assert events(watched(kv, start_revision=1)) == [(0, "/a", 2)]


def test_watch_of_the_future_begins_there(kv: Connected) -> None:
    """Events before the revision that a client asked for are not sent."""
    stream = watched(kv, start_revision=4)
    for _ in range(4):
        kv.put("/a")
    assert [revision for _, _, revision in events(stream)] == [4, 5]


def test_unread_watch_continues_from_history(kv: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not read is sent no more than the bound, and all of it, in order and once, when it reads."""
    monkeypatch.setattr(watches, "_CONGESTED", 10_000)
    stream = watched(kv)
    stream.taken()
    stream.held = True
    for _ in range(100):
        kv.put("/a", "x" * 1000)
    assert 10_000 < stream.call.backlog < 12_000
    assert kv.store.watchers == 0
    stream.read()
    assert [revision for _, _, revision in events(stream)] == list(range(2, 102))


def test_unread_watch_whose_history_ended_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client did not read and the store no longer has ends the watch, with the reason."""
    monkeypatch.setattr(watches, "_CONGESTED", 1000)
    kv = Connected(history=10)
    stream = watched(kv)
    stream.held = True
    for _ in range(100):
        kv.put("/a", "x" * 1000)
    stream.read()
    kv.clock.advance(1)
    last = stream.taken()[-1]
    assert last.canceled and last.compact_revision == kv.store.compacted


def test_progress_waits_for_watches_that_are_behind(kv: Connected, monkeypatch: pytest.MonkeyPatch) -> None:
    """A requested report is sent for all watches of the stream, and not before an event that it covers."""
    monkeypatch.setattr(watches, "_CONGESTED", 1000)
    stream = watched(kv)
    stream.taken()
    progress = messages.WatchRequest()
    progress.progress.SetInParent()
    stream.ask(progress)
    (report,) = stream.taken()
    assert report.watch_id == -1 and report.header.revision == kv.store.revision and not report.events
    stream.held = True
    kv.put("/a", "x" * 2000)
    kv.put("/a", "x" * 2000)
    stream.ask(progress)
    stream.read()
    assert [response.watch_id for response in stream.taken()] == [0, 0, -1]


def test_quiet_watches_are_told_that_they_are_complete(kv: Connected) -> None:
    """A watch that asked for progress is told after an interval without events."""
    stream = watched(kv, "/a", progress_notify=True)
    kv.put("/a")
    kv.put("/b")
    stream.taken()
    kv.clock.advance(5)
    assert not stream.taken()
    kv.clock.advance(5)
    (report,) = stream.taken()
    assert (report.watch_id, report.header.revision) == (0, kv.store.revision)
    stream.call.release()
    assert not kv.clock.getDelayedCalls()


@pytest.mark.parametrize("fragment", [True, False])
def test_large_responses_are_divided(kv: Connected, monkeypatch: pytest.MonkeyPatch, fragment: bool) -> None:
    """Between revisions always, within one only if the client permits it; all but its last part then say so."""
    monkeypatch.setattr(watcher, "_LARGE", 2500)
    kv.put("/a", "x" * 2000)
    puts = [{"put": {"key": f"/{key}".encode(), "value": b"x" * 1000}} for key in "bcde"]
    kv.call(messages.TXN, messages.TxnRequest(success=puts), messages.TxnResponse)
    stream = watched(kv, start_revision=2, fragment=fragment)
    _, *responses = stream.taken()
    sizes = [(len(response.events), response.fragment) for response in responses]
    assert sizes == ([(1, False), (2, True), (2, False)] if fragment else [(1, False), (4, False)])


def test_stopped_store_ends_streams(kv: Connected) -> None:
    """Clients look for another server."""
    stream = watched(kv)
    kv.store.stop()
    assert stream.status is not None and stream.status[0] == UNAVAILABLE


def test_leases(kv: Connected) -> None:
    """A lease is granted once, kept alive, shown with its keys, and revoked with them."""
    granted = kv.call(messages.LEASE_GRANT, messages.LeaseGrantRequest(ttl=10), messages.LeaseGrantResponse)
    assert granted.ttl == 10 and granted.id > 0
    with pytest.raises(StatusError, match="already exists") as caught:
        kv.call(messages.LEASE_GRANT, messages.LeaseGrantRequest(ttl=10, id=granted.id), messages.LeaseGrantResponse)
    assert caught.value.code == FAILED_PRECONDITION
    with pytest.raises(StatusError, match="too large") as caught:
        kv.call(messages.LEASE_GRANT, messages.LeaseGrantRequest(ttl=9_000_000_001), messages.LeaseGrantResponse)
    assert caught.value.code == OUT_OF_RANGE
    kv.put("/a", lease=granted.id)
    assert kv.range("/a").kvs[0].lease == granted.id
    kv.clock.advance(6)
    asked = messages.LeaseTimeToLiveRequest(id=granted.id, keys=True)
    left = kv.call(messages.LEASE_TIME_TO_LIVE, asked, messages.LeaseTimeToLiveResponse)
    assert (left.ttl, left.granted_ttl, list(left.keys)) == (4, 10, [b"/a"])
    alive = kv.stream(messages.LEASE_KEEP_ALIVE, messages.LeaseKeepAliveResponse)
    for lease in (granted.id, 99):
        alive.ask(messages.LeaseKeepAliveRequest(id=lease))
    assert [(each.id, each.ttl) for each in alive.taken()] == [(granted.id, 10), (99, 0)]
    kv.clock.advance(6)
    every = kv.call(messages.LEASE_LEASES, messages.LeaseRevokeRequest(), messages.LeaseLeasesResponse)
    assert [each.id for each in every.leases] == [granted.id]
    kv.call(messages.LEASE_REVOKE, messages.LeaseRevokeRequest(id=granted.id), messages.LeaseRevokeResponse)
    assert not kv.range("/a").kvs
    with pytest.raises(StatusError) as caught:
        kv.call(messages.LEASE_REVOKE, messages.LeaseRevokeRequest(id=granted.id), messages.LeaseRevokeResponse)
    assert caught.value.code == NOT_FOUND
    assert kv.call(messages.LEASE_TIME_TO_LIVE, asked, messages.LeaseTimeToLiveResponse).ttl == -1


def test_maintenance(kv: Connected) -> None:
    """The store presents itself as the leader of a cluster of one member, of a release whose progress reports clients
    trust."""
    status = kv.call(messages.STATUS, messages.AlarmRequest(), messages.StatusResponse)
    assert status.version == "3.5.13" and status.leader == status.header.member_id
    (member,) = kv.call(messages.MEMBER_LIST, messages.AlarmRequest(), messages.MemberListResponse).members
    assert member.id == status.leader and list(member.client_urls) == ["http://here"]
    kv.store.stop()
    assert list(kv.call(messages.STATUS, messages.AlarmRequest(), messages.StatusResponse).errors) == [
        "the store is stopped"
    ]
