"""The embedded store beyond the contract: restarts, rejected files, disk errors, backups."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event, Semaphore
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import ensureDeferred
from twisted.internet.task import deferLater

from orchd.store import schema, sql
from orchd.store.backup import restore
from orchd.store.compaction import HistoryLimits
from orchd.store.interfaces import CompactedError, StoreError, UnavailableError
from orchd.store.open_errors import (
    DialectMismatchError,
    ForeignFileError,
    NewerSchemaError,
    StoreDamagedError,
    StoreLockedError,
)
from orchd.store.single_process import Write
from orchd.store.sqlite import SqliteStore
from orchd.testing.contracts.store import Seen, Subject, raises


@asynccontextmanager
async def opened(path: Path, **more: Any) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(reactor, path, dialect_name="one", history=HistoryLimits(**more))
    await store.start()
    try:
        yield store
    finally:
        await store.stop()


async def in_writer(store: SqliteStore, statement: str) -> Any:
    connection: Any = store._connection
    return await store._writer.run(lambda: connection.execute(statement).fetchall())


def commits_of(store: SqliteStore) -> int:
    """Commits since the start."""
    return sum(store.metrics.seconds.values[()].counts)


@pytest_twisted.ensureDeferred
async def test_a_restart_keeps_values_revisions_and_history(tmp_path: Path) -> None:
    """After a restart all values are unchanged, and a watch from an earlier revision continues."""
    async with opened(tmp_path / "s") as store:
        await store.create("/a", b"1")
        await store.update("/a", b"2", expected=2)
        await store.create("/b", b"1")
        await store.delete("/b", expected=4)
    async with opened(tmp_path / "s") as store:
        assert store.revision == 5
        assert [(item.key, item.revision, item.created) for item in (await store.range("/")).items] == [("/a", 3, 2)]
        assert [item.value for item in (await store.range("/", revision=4)).items] == [b"2", b"1"]
        seen = Seen()
        seen.watch(store, "/", 2)
        assert await store.create("/c", b"") == 6
        await Subject(store=store, reactor=reactor).until(lambda: len(seen.events) == 4)
        assert seen.revisions() == [3, 4, 5, 6]


@pytest_twisted.ensureDeferred
async def test_revisions_survive_compaction_of_the_last_deletion(tmp_path: Path) -> None:
    """A store whose last write was a compacted deletion does not reuse its revision."""
    async with opened(tmp_path / "s") as store:
        await store.create("/a", b"1")
        await store.delete("/a", expected=2)
        await store.compact(3)
    async with opened(tmp_path / "s") as store:
        assert (store.revision, store.compacted) == (3, 3)
        await raises(CompactedError, store.range("/", revision=2))
        assert await store.create("/a", b"") == 4


@pytest_twisted.ensureDeferred
async def test_leases_survive_a_restart(tmp_path: Path) -> None:
    """A key that expires while the store is closed is deleted when it opens."""
    async with opened(tmp_path / "s") as store:
        await store.create("/a", b"1", ttl=1)
        await store.create("/b", b"1", ttl=3600)
    async with opened(tmp_path / "s") as store:
        await Subject(store=store, reactor=reactor).until(lambda: len(store) == 1)
        assert [item.key for item in (await store.range("/")).items] == ["/b"]


@pytest_twisted.ensureDeferred
async def test_writes_share_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes that arrive during a commit share the next one."""
    append, submitted = sql.append, Event()

    def slow(connection: sqlite3.Connection, batch: Sequence[Write]) -> int:
        submitted.wait()
        return append(connection, batch)

    async with opened(tmp_path / "s") as store:
        monkeypatch.setattr(sql, "append", slow)
        writes = [ensureDeferred(store.create(f"/{i}", b"")) for i in range(500)]
        submitted.set()
        for write in writes:
            await write
        commits, metrics = commits_of(store), store.metrics
        assert metrics.writes.values[()] == 500
        assert commits < 50
        sizes = metrics.batches.values[()]
        assert sum(sizes.counts) == commits and sizes.sum == 500
        assert sum(sizes.counts[metrics.batches.bounds.index(64) + 1 :]) > 0, "a batch of more than 64"


@pytest_twisted.ensureDeferred
async def test_overlapping_writes_wait_for_the_end_of_the_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a commit during which another write was submitted, the next commit begins only at the end of the reactor
    turn."""
    append, begun, go = sql.append, Semaphore(0), Semaphore(0)

    def slow(connection: sqlite3.Connection, batch: Sequence[Write]) -> int:
        begun.release()
        go.acquire()
        return append(connection, batch)

    async with opened(tmp_path / "s") as store:
        monkeypatch.setattr(sql, "append", slow)
        first = ensureDeferred(store.create("/1", b""))
        begun.acquire()
        second = ensureDeferred(store.create("/2", b""))
        go.release()
        begun.acquire()
        await first
        third = ensureDeferred(store.create("/3", b""))
        go.release(2)
        handed_over = Event()
        # Twice: a commit may start another one.
        store._writer.post(lambda: store._writer.post(handed_over.set))
        handed_over.wait()
        assert len(store._queue) == 1, "the commit of the third write has not begun"
        fourth = ensureDeferred(store.create("/4", b""))
        for write in (second, third, fourth):
            await write
        assert commits_of(store) == 3


@pytest_twisted.ensureDeferred
async def test_thread_switch_interval_is_short_while_open(tmp_path: Path) -> None:
    """The interpreter's switch interval is short while a store is open, and restored when it is closed."""
    before = sys.getswitchinterval()
    async with opened(tmp_path / "s"):
        assert sys.getswitchinterval() < 0.001
    assert sys.getswitchinterval() == before


@pytest_twisted.ensureDeferred
async def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    """The data file and the files beside it have mode 0600, whatever the umask."""
    before = os.umask(0)
    try:
        async with opened(tmp_path / "new" / "s") as store:
            await store.create("/a", b"")
            for name in os.listdir(tmp_path / "new"):
                assert stat.S_IMODE(os.stat(tmp_path / "new" / name).st_mode) == 0o600, name
    finally:
        os.umask(before)


@pytest_twisted.ensureDeferred
async def test_refuses_a_store_in_use(tmp_path: Path) -> None:
    """The error of a second process names the process that has the store open."""
    async with opened(tmp_path / "s"):
        error = await raises(StoreLockedError, SqliteStore(reactor, tmp_path / "s", dialect_name="one").start())
        assert f"process {os.getpid()}" in str(error)
    async with opened(tmp_path / "s"):
        pass


@pytest_twisted.ensureDeferred
async def test_refuses_the_other_dialect(tmp_path: Path) -> None:
    """A store is opened only in the dialect that created it; the error says how to start instead."""
    async with opened(tmp_path / "s"):
        pass
    error = await raises(DialectMismatchError, SqliteStore(reactor, tmp_path / "s", dialect_name="two").start())
    assert "use --dialect=one" in str(error)
    async with opened(tmp_path / "s"):
        pass


@pytest_twisted.ensureDeferred
async def test_refuses_a_newer_schema(tmp_path: Path) -> None:
    """The file of a later release is rejected and not changed."""
    async with opened(tmp_path / "s") as store:
        await in_writer(store, "PRAGMA user_version = 99")
    error = await raises(NewerSchemaError, SqliteStore(reactor, tmp_path / "s", dialect_name="one").start())
    assert "schema version 99" in str(error) and "its header is damaged" in str(error)


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


@pytest_twisted.ensureDeferred
async def test_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of an older release is migrated once, step by step; a failed step leaves it unchanged."""
    path = tmp_path / "s"
    async with opened(path) as store:
        revision = await store.create("/a", b"1")
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 4)
    broken = {2: "CREATE TABLE one (x)", 3: "CREATE TABLE two (x); INSERT INTO two VALUES (1); DROP TABLE nothing"}
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with pytest.raises(StoreError):
        async with opened(path):
            pass
    assert version_of(path) == 3
    monkeypatch.setattr(schema, "MIGRATIONS", {3: "CREATE TABLE two (x); INSERT INTO two VALUES (1)"})
    for _ in range(2):
        async with opened(path) as store:
            item = await store.get("/a")
            assert item is not None and (item.revision, item.value) == (revision, b"1")
    assert version_of(path) == 4
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM two").fetchone() == (1,)
    connection.close()
    # A new store has the newest version at once.
    async with opened(tmp_path / "new"):
        pass
    assert version_of(tmp_path / "new") == 4


@pytest_twisted.ensureDeferred
async def test_refuses_foreign_files(tmp_path: Path) -> None:
    """Another program's database, and a file that is not a database, are rejected and not changed."""
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE t (x)")
    other.close()
    await raises(ForeignFileError, SqliteStore(reactor, tmp_path / "other", dialect_name="one").start())
    (tmp_path / "text").write_text("something else entirely" * 100)
    error = await raises(StoreDamagedError, SqliteStore(reactor, tmp_path / "text", dialect_name="one").start())
    assert "restore a backup" in str(error)
    assert (tmp_path / "text").read_text() == "something else entirely" * 100


@pytest_twisted.ensureDeferred
async def test_refuses_a_damaged_file(tmp_path: Path) -> None:
    """A file with a damaged page is rejected."""
    async with opened(tmp_path / "s") as store:
        for i in range(200):
            await store.create(f"/{i}", b"x" * 500)
    with open(tmp_path / "s", "r+b") as file:
        file.seek(4096 * 7)
        file.write(b"\xff" * 4096)
    await raises(StoreDamagedError, SqliteStore(reactor, tmp_path / "s", dialect_name="one").start())


@pytest_twisted.ensureDeferred
async def test_missing_directory_is_named(tmp_path: Path) -> None:
    """A start where no file can be created fails with the reason."""
    (tmp_path / "file").write_text("")
    await raises(UnavailableError, SqliteStore(reactor, tmp_path / "file" / "s", dialect_name="one").start())


@pytest_twisted.ensureDeferred
async def test_full_disk_stops_writes_only(tmp_path: Path) -> None:
    """While the disk is full writes fail with the reason, reads and small writes continue, and no restart is needed."""
    async with opened(tmp_path / "s") as store:
        await store.create("/a", b"1")
        pages = (await in_writer(store, "PRAGMA page_count"))[0][0]
        await in_writer(store, f"PRAGMA max_page_count = {pages}")
        writes = [ensureDeferred(store.create(f"/big/{i}", b"x" * 100_000)) for i in range(5)]
        dependent = ensureDeferred(store.update("/big/0", b"", expected=3))
        for write in [*writes, dependent]:
            assert "full" in str(await raises(UnavailableError, write))
        assert "full" in store.healthy()
        assert [item.key for item in (await store.range("/")).items] == ["/a"]
        assert store.revision == 2
        await in_writer(store, "PRAGMA max_page_count = 1000000")
        assert await store.create("/big/0", b"x" * 100_000) == 3
        assert store.healthy() == ""
        assert store.metrics.failed.values[()] >= 1


@pytest_twisted.ensureDeferred
async def test_health_recovers_without_a_write(tmp_path: Path) -> None:
    """The store detects by itself that it can write again."""
    async with opened(tmp_path / "s") as store:
        await in_writer(store, "PRAGMA query_only = 1")
        assert "readonly" in str(await raises(UnavailableError, store.create("/a", b"")))
        assert store.healthy()
        await in_writer(store, "PRAGMA query_only = 0")
        await Subject(store=store, reactor=reactor).until(lambda: not store.healthy())
        assert await store.create("/a", b"") == 2


@pytest_twisted.ensureDeferred
async def test_history_is_bounded_by_number(tmp_path: Path) -> None:
    """History beyond the limit is deleted while writes continue, and the file does not grow because of it."""
    async with opened(tmp_path / "s", events=100, recent_events=10) as store:
        revision = await store.create("/a", b"x" * 4000)
        for _ in range(1000):
            revision = await store.update("/a", b"y" * 4000, expected=revision)
        await Subject(store=store, reactor=reactor).until(lambda: store.revision - store.compacted <= 125)
        await store.compact(store.revision)
        assert (await in_writer(store, "SELECT count(*) FROM log"))[0][0] == 1
        assert (await in_writer(store, "PRAGMA freelist_count"))[0][0] == 0
        assert (await in_writer(store, "PRAGMA page_count"))[0][0] < 20


@pytest_twisted.ensureDeferred
async def test_overlapping_compactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compactions that alternate with each other and with writes keep what each revision still needs."""
    monkeypatch.setattr("orchd.store.sql.COMPACTION_STEP", 7)
    async with opened(tmp_path / "s", compaction_interval=0) as store:
        revision = await store.create("/a", b"1")
        for i in range(300):
            revision = await store.update("/a", b"%d" % i, expected=revision)
        compactions = [ensureDeferred(store.compact(upto)) for upto in (100, 130, 120, 250)]
        for i in range(300, 400):
            revision = await store.update("/a", b"%d" % i, expected=revision)
        for compaction in compactions:
            await compaction
    async with opened(tmp_path / "s", compaction_interval=0) as store:
        assert store.compacted == 250
        for old in range(250, 402):
            item = await store.get("/a", revision=old)
            assert item is not None
            assert item.value == b"%d" % (old - 3)
        assert (await in_writer(store, "SELECT count(*) FROM log"))[0][0] == 402 - 250 + 1


@pytest_twisted.ensureDeferred
async def test_history_is_bounded_by_age(tmp_path: Path) -> None:
    """History older than the limit is deleted at the next interval."""
    async with opened(tmp_path / "s", compaction_interval=0.02, seconds=0.05) as store:
        for i in range(5):
            await store.create(f"/{i}", b"")
        await Subject(store=store, reactor=reactor).until(lambda: store.compacted == store.revision)
        assert len((await store.range("/")).items) == 5


@pytest_twisted.ensureDeferred
async def test_backup_and_restore_under_load(tmp_path: Path) -> None:
    """A backup during writes is a consistent snapshot; restored, it continues with later revisions."""
    async with opened(tmp_path / "s") as store:
        writes = []
        for i in range(300):
            writes.append(ensureDeferred(store.create(f"/{i:03}", b"x" * 1000)))
            if i == 100:
                copying = ensureDeferred(store.backup(tmp_path / "copy"))
            await deferLater(reactor, 0)
        for write in writes:
            await write
        revision = await copying
        assert stat.S_IMODE(os.stat(tmp_path / "copy").st_mode) == 0o600
        await raises(StoreError, store.backup(tmp_path / "copy"))
        with pytest.raises(StoreLockedError):
            restore(str(tmp_path / "copy"), str(tmp_path / "s"))
    went_on = store.revision + 1_000_000
    assert restore(str(tmp_path / "copy"), str(tmp_path / "s")) == went_on
    async with opened(tmp_path / "s") as store:
        page = await store.range("/")
        assert [item.key for item in page.items] == [f"/{i:03}" for i in range(revision - 1)]
        assert page.revision == went_on
        seen = Seen()
        seen.watch(store, "/", revision)
        await Subject(store=store, reactor=reactor).until(lambda: bool(seen.ends))
        assert isinstance(seen.ends[0], CompactedError)
    assert (tmp_path / "s.replaced").exists()
    with pytest.raises(StoreError):
        restore(str(tmp_path / "none"), str(tmp_path / "t"))
