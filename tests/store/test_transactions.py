"""Transactions of stores of a single process: several writes at one revision, and leases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from zope.interface.verify import verifyObject

from orchd.store import sql
from orchd.store.backup import check_copy
from orchd.store.compaction import HistoryLimits
from orchd.store.export import export_content
from orchd.store.interfaces import CompactedError, EventType, UnavailableError
from orchd.store.memory import MemoryStore
from orchd.store.records import Change, lease_of, version_of
from orchd.store.serving.interfaces import IServedStore
from orchd.store.sqlite import SqliteStore
from orchd.testing.contracts.store import Seen, outcomes, present, raises
from tests.waiting import until_true

STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda path: MemoryStore(reactor),
    "sqlite": lambda path: SqliteStore(reactor, path / "store", dialect_name="any"),
    # Little history in memory, so that every read of the past uses the file.
    "sqlite-history-on-disk": lambda path: SqliteStore(
        reactor, path / "store", dialect_name="any", history=HistoryLimits(recent_events=2)
    ),
}


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    return lambda: STORES[request.param](tmp_path)


@pytest_twisted.ensureDeferred
async def test_transaction_is_one_revision(make: Callable[[], Any]) -> None:
    """All writes of a transaction appear at its revision, in reads, in watches and in reads of the past, and none
    before it."""
    store = make()
    verifyObject(IServedStore, store)
    await store.start()
    seen = Seen()
    seen.watch(store, "", store.revision)
    first = await store.create("/a", b"0")
    revisions = await store.apply([Change("/a", b"1"), Change("/b", b"2"), Change("/c", b"3")])
    assert revisions == store.revision == first + 3
    gone = await store.apply([Change("/a", None), Change("/b", None)])
    assert [(item.key, item.revision, item.created) for item in (await store.range("", revision=revisions)).items] == [
        ("/a", revisions, first), ("/b", revisions, revisions), ("/c", revisions, revisions),
    ]  # fmt: skip
    assert [event.revision for event in seen.events] == [first, revisions, revisions, revisions, gone, gone]
    assert [event.type for event in seen.events[-2:]] == [EventType.DELETE] * 2
    # Revisions between are those of no write: they show the state before the transaction.
    for revision in range(first, revisions):
        assert [item.value for item in (await store.range("", revision=revision)).items] == [b"0"]
        again = Seen()
        again.watch(store, "", revision)
        await until_true(reactor, lambda seen=again: len(seen.events) == 5)  # type: ignore[misc]  # bound now
        assert again.revisions() == [revisions, revisions, revisions, gone, gone]
    await store.stop()


@pytest_twisted.ensureDeferred
async def test_transactions_survive_a_restart(tmp_path: Path) -> None:
    """Versions, leases and revisions of transactions are those of before, and so is their history."""
    store = STORES["sqlite"](tmp_path)
    await store.start()
    await store.grant(77, 1000)
    first = await store.apply([Change("/a", b"1", 77), Change("/b", b"1")])
    second = await store.apply([Change("/a", b"2", 77), Change("/b", b"2")])
    await store.stop()
    assert check_copy(str(tmp_path / "store")).revision == second
    store = STORES["sqlite"](tmp_path)
    await store.start()
    keys = await present(store, "/a")
    assert (keys.revision, keys.created, version_of(keys), lease_of(keys)) == (second, first, 2, 77)
    assert [item.revision for item in (await store.range("", revision=first)).items] == [first, first]
    assert [item.value for item in (await store.range("", revision=second - 1)).items] == [b"1", b"1"]
    assert 77 in store.grants and store.grants.keys(77) == ["/a"]
    # A plain write takes the key from its lease.
    await store.update("/a", b"3", expected=second)
    assert store.grants.keys(77) == []
    await store.stop()


@pytest_twisted.ensureDeferred
async def test_history_is_read_in_whole_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that does not fit a piece of history is delivered whole, once."""
    monkeypatch.setattr(sql, "_PIECE_EVENTS", 4)
    store = STORES["sqlite-history-on-disk"](tmp_path)
    await store.start()
    begin = store.revision
    for number in range(3):
        await store.apply([Change(f"/{each}", b"%d" % number) for each in "abcdefg"])
    batches: list[list[int]] = []
    store.watch(
        "", after=begin, on_events=lambda events: batches.append([event.revision for event in events]), on_end=print
    )
    await until_true(reactor, lambda: sum(map(len, batches)) == 21)
    assert [len(batch) for batch in batches if len(set(batch)) == 1 and len(batch) == 7] == [7, 7, 7]
    await store.stop()


@pytest_twisted.ensureDeferred
async def test_compaction_keeps_transactions_whole(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compaction within a transaction ends before it; its revision can be read afterwards."""
    monkeypatch.setattr(sql, "COMPACTION_STEP", 2)
    store = make()
    await store.start()
    await store.apply([Change("/a", b"1"), Change("/b", b"1")])
    revisions = await store.apply([Change("/a", b"2"), Change("/b", b"2"), Change("/c", b"2")])
    last = await store.apply([Change("/a", b"3"), Change("/b", b"3")])
    await store.compact(revisions - 1)
    assert store.compacted < revisions - 1
    assert len((await store.range("", revision=revisions - 1)).items) == 2
    await store.compact(revisions)
    assert store.compacted == revisions
    await raises(CompactedError, store.range("", revision=revisions - 1))
    assert [item.value for item in (await store.range("", revision=revisions)).items] == [b"2", b"2", b"2"]
    assert [item.value for item in (await store.range("", revision=last)).items] == [b"3", b"3", b"2"]
    await store.stop()


@pytest_twisted.ensureDeferred
async def test_newest_state_includes_pending_writes(tmp_path: Path) -> None:
    """What is submitted is seen by later transactions before it is durable, and barriers wait for it."""
    store = STORES["sqlite"](tmp_path)
    await store.start()
    await store.create("/b", b"1")
    first = store.apply([Change("/a", b"1"), Change("/b", None)])
    assert [item.key for item in store.newest_span("/", None)] == ["/a"]
    assert store.newest("/b") is None and store.newest("/a").value == b"1"
    assert await store.get("/a") is None
    submitted = store.submitted
    waiting = store.barrier()
    assert await first == submitted == await waiting
    assert await store.barrier() == submitted
    await store.stop()


@pytest_twisted.ensureDeferred
async def test_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    """If its commit fails, none of its writes happened, and its barrier fails too."""
    store = STORES["sqlite"](tmp_path)
    await store.start()
    kept = await store.create("/a", b"1")
    await store._writer.run(lambda: store._connection.execute("PRAGMA query_only = 1"))
    first, second = await outcomes(
        [_wait(store.apply([Change("/a", b"2"), Change("/b", b"2")])), _wait(store.barrier())]
    )
    assert isinstance(first, UnavailableError) and isinstance(second, UnavailableError)
    await store._writer.run(lambda: store._connection.execute("PRAGMA query_only = 0"))
    await until_true(reactor, lambda: not store.healthy())
    assert [item.revision for item in store.newest_span("", None)] == [kept]
    assert await store.apply([Change("/b", b"1")]) == kept + 1
    await store.stop()


async def _wait(deferred: Any) -> Any:
    return await deferred


@pytest_twisted.ensureDeferred
async def test_lease_ends_with_its_keys(make: Callable[[], Any]) -> None:
    """The keys of a lease that ends are deleted at one revision; keys that left it remain."""
    store = make()
    await store.start()
    await store.grant(5, 1)
    await store.apply([Change("/a", b"1", 5), Change("/b", b"1", 5), Change("/c", b"1", 5)])
    await store.apply([Change("/c", b"2")])
    seen = Seen()
    seen.watch(store, "", store.revision)
    await until_true(reactor, lambda: len(seen.events) == 2)
    assert {event.key for event in seen.events} == {"/a", "/b"} and len(set(seen.revisions())) == 1
    assert 5 not in store.grants and [item.key for item in store.newest_span("", None)] == ["/c"]
    await store.stop()


@pytest_twisted.ensureDeferred
async def test_revoked_lease_takes_keys_that_were_pending(tmp_path: Path) -> None:
    """A key that is written while its lease is revoked is deleted as well."""
    store = STORES["sqlite"](tmp_path)
    await store.start()
    await store.grant(5, 1000)
    late = store.apply([Change("/a", b"1", 5)])
    # The key is not durable yet: the revocation meets a write, not a key.
    assert await store.get("/a") is None
    await store.revoke(5)
    written = await late
    await until_true(reactor, lambda: store.revision > written)
    assert store.newest_span("", None) == []
    assert [item.value for item in (await store.range("", revision=written)).items] == [b"1"]
    await store.stop()


@pytest_twisted.ensureDeferred
async def test_exported_keys_end_with_their_leases(tmp_path: Path) -> None:
    """A copy of the contents has the keys of leases with a time to live, and nothing but objects."""
    store = STORES["sqlite"](tmp_path)
    await store.start()
    await store.grant(5, 1000)
    await store.apply([Change("/a", b"1", 5), Change("/b", b"1"), Change(".meta/dialect", b"any")])
    await store.stop()
    with export_content(str(tmp_path / "store")) as content:
        assert [item.key for item in content.items] == ["/a", "/b"]
        assert list(content.expires) == ["/a"]
