"""Damage to the files of the embedded store is detected and reported, with a way to recover."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor

from orchd.store.backup import back_up, check_copy, restore
from orchd.store.compaction import HistoryLimits
from orchd.store.export import Content, import_content
from orchd.store.highwater import highwater_file, read_highwater
from orchd.store.interfaces import DamagedValue, StoreError, UnavailableError
from orchd.store.open_errors import StoreDamagedError, StoreLockedError
from orchd.store.salvage import salvage
from orchd.store.sqlite import SqliteStore
from orchd.testing.store_contract import Seen, Subject, present, raises


@asynccontextmanager
async def opened(path: Path, **more: Any) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(reactor, path, dialect_name="one", history=HistoryLimits(compaction_interval=0, **more))
    await store.start()
    try:
        yield store
    finally:
        await store.stop()


def snapshot(folder: Path, to: Path) -> Path:
    """The files of a running store as a kill would leave them."""
    to.mkdir()
    for name in ("s.sqlite", "s.sqlite-wal", "s.sqlite-shm", "s.revision"):
        shutil.copy(folder / name, to / name)
    return to / "s.sqlite"


async def killed(tmp_path: Path, writes: int = 40) -> Path:
    """The folder of a killed store: its last writes are only in the journal."""
    folder = tmp_path / "killed"
    async with opened(tmp_path / "s.sqlite") as store:
        for number in range(writes):
            await store.create(f"/{number:03}", b"%03d" % number * 300)
        return snapshot(tmp_path, folder)


def contents(folder: Path) -> dict[str, bytes]:
    """The relevant contents of the files in a folder: reads leave an index and an empty journal."""
    found = {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.endswith((".lock", "-shm"))}
    return {name: data for name, data in found.items() if data}


def garble(file: Path, at: int, size: int = 100) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(os.urandom(size))


def garbled_journal(path: Path) -> None:
    journal = path.with_name(path.name + "-wal")
    garble(journal, journal.stat().st_size // 2)


def garbled_journal_head(path: Path) -> None:
    garble(path.with_name(path.name + "-wal"), 0, 32)


def garbled_journal_unrecorded(path: Path) -> None:
    garbled_journal(path)
    os.unlink(highwater_file(str(path)))


def garbled_head_unrecorded(path: Path) -> None:
    garbled_journal_head(path)
    os.unlink(highwater_file(str(path)))


def truncated_journal(path: Path) -> None:
    journal = path.with_name(path.name + "-wal")
    os.truncate(journal, journal.stat().st_size // 2)


def journal_gone(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()
    path.with_name(path.name + "-shm").unlink()


def database_gone(path: Path) -> None:
    path.unlink()


def database_and_record_gone(path: Path) -> None:
    path.unlink()
    os.unlink(highwater_file(str(path)))


def everything_gone(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink()


def database_empty(path: Path) -> None:
    os.truncate(path, 0)


def all_empty(path: Path) -> None:
    os.truncate(path, 0)
    journal_gone(path)


@pytest.mark.parametrize(
    "spoil",
    [
        garbled_journal, garbled_journal_head, garbled_journal_unrecorded, garbled_head_unrecorded, truncated_journal,
        journal_gone, database_gone, database_and_record_gone, everything_gone, database_empty, all_empty,
    ],
)  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_lost_writes_are_detected(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """A store that would open empty, or older than it was, is rejected with the file and the command in the message;
    nothing is changed, the check finds it too, and a salvaged store continues above every version that was given out.
    """
    path = await killed(tmp_path)
    spoil(path)
    before = contents(path.parent)
    error = await raises(StoreDamagedError, SqliteStore(reactor, path, dialect_name="one").start())
    assert str(path) in str(error) and f"orchd-store salvage --data-dir={path.parent}" in str(error)
    with pytest.raises(StoreDamagedError):
        check_copy(str(path))
    assert contents(path.parent) == before
    done = salvage(str(path), "one")
    assert done.revision > 1_000_000
    async with opened(path) as store:
        assert store.revision == store.compacted == done.revision
        assert len(store) == done.keys
        assert await store.create("/after", b"") == done.revision + 1
    with pytest.raises(StoreError, match="not damaged"):
        salvage(str(path), "one")


@pytest_twisted.ensureDeferred
async def test_older_copy_is_detected(tmp_path: Path) -> None:
    """An older copy that was put in place manually is rejected; a restored backup is not."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        await store.create("/a", b"1")
    shutil.copy(path, tmp_path / "older")
    async with opened(path) as store:
        last = await store.create("/b", b"1")
    shutil.copy(tmp_path / "older", path)
    error = await raises(StoreDamagedError, SqliteStore(reactor, path, dialect_name="one").start())
    assert f"revision {last} was acknowledged" in str(error)
    restore(str(tmp_path / "older"), str(path))
    async with opened(path) as store:
        assert store.revision > last


@pytest_twisted.ensureDeferred
async def test_truncated_database_is_refused(tmp_path: Path) -> None:
    """A database shorter than its header says is rejected, and its remaining values can be salvaged."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        for number in range(200):
            await store.create(f"/{number}", b"x" * 1000)
    os.truncate(path, path.stat().st_size // 2)
    await raises(StoreDamagedError, SqliteStore(reactor, path, dialect_name="one").start())
    done = salvage(str(path), "one")
    assert 0 < done.keys < 200 and not done.complete
    assert os.path.exists(done.aside)
    async with opened(path) as store:
        for item in (await store.range("/")).items:
            assert item.value == b"x" * 1000


@pytest_twisted.ensureDeferred
async def test_torn_journal_end_is_no_damage(tmp_path: Path) -> None:
    """The last transaction of a journal may be incomplete: it was never acknowledged."""
    path = await killed(tmp_path)
    async with opened(path) as store:
        await store.create("/acknowledged", b"1")
        folder = path.parent.with_name("torn")
        snapshot(path.parent, folder)
        mark = Path(highwater_file(str(path))).read_bytes()
        await store.create("/under-way", b"2" * 10_000)
        shutil.copy(str(path) + "-wal", folder / "s.sqlite-wal")
    (folder / "s.revision").write_bytes(mark)
    with (folder / "s.sqlite-wal").open("r+b") as journal:
        journal.truncate(journal.seek(0, 2) - 5000)
    async with opened(folder / "s.sqlite") as store:
        assert await store.get("/acknowledged")
        assert await store.get("/under-way") is None


def change(path: Path, statement: str, *arguments: Any) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, arguments)
    connection.commit()
    connection.close()


@pytest_twisted.ensureDeferred
async def test_changed_value_is_reported_as_damaged(tmp_path: Path) -> None:
    """A value that differs from the written one is reported as damaged, now and in history, while others are served;
    the check finds it, moves leave it out, it can be deleted, and salvaging drops it."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        made = await store.create("/a", b"first")
        await store.update("/a", b"second", expected=made)
        await store.create("/b", b"good")
    change(path, "UPDATE log SET value = ? WHERE value IN (?, ?)", b"sEcond", b"first", b"second")
    shutil.copy(path, tmp_path / "other")
    assert check_copy(str(path)).bad_values == ["/a"]
    assert back_up(str(path), str(tmp_path / "copy")).bad_values == ["/a"]
    async with opened(path, recent_events=0) as store:
        item = await present(store, "/a")
        assert item.value.__class__ is DamagedValue
        assert (await present(store, "/a", revision=made)).value.__class__ is DamagedValue
        assert (await present(store, "/b")).value.__class__ is bytes
        seen = Seen()
        seen.watch(store, "/", 1)
        await Subject(store=store, reactor=reactor).until(lambda: len(seen.events) == 3)
        assert [event.value.__class__ for event in seen.events] == [DamagedValue, DamagedValue, bytes]
        previous = seen.events[1].previous
        assert previous is not None and previous.value.__class__ is DamagedValue
        await store.delete("/a", expected=item.revision)
    assert check_copy(str(path)).bad_values == []
    done = salvage(str(tmp_path / "other"), "one")
    assert (done.keys, list(done.lost_keys), done.complete) == (1, ["/a"], True)


@pytest.mark.parametrize("column", ["key = '/x'", "created = 77", "prev = 2", "deleted = 1", "expires = 5.0", "sum = 12345678901234"])
@pytest_twisted.ensureDeferred
async def test_changed_row_is_refused(tmp_path: Path, column: str) -> None:
    """A store with a changed key or link is rejected, since these could hide other writes."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        await store.create("/a", b"1")
        await store.create("/b", b"1")
    change(path, f"UPDATE log SET {column} WHERE revision = 3")
    error = await raises(StoreDamagedError, SqliteStore(reactor, path, dialect_name="one").start())
    assert "revisions 3" in str(error)
    assert salvage(str(path), "one").lost_rows == 1
    async with opened(path) as store:
        assert [item.key for item in (await store.range("/")).items] == ["/a"]


@pytest_twisted.ensureDeferred
async def test_every_bit_flip_is_detected(tmp_path: Path) -> None:
    """For any flipped bit of a database page, the store is rejected, or every returned value is the written one or
    reported as damaged."""
    path = tmp_path / "s.sqlite"
    wrote = {f"/{number}": b"%d" % number * 200 for number in range(30)}
    async with opened(path) as store:
        for key, value in wrote.items():
            await store.create(key, value)
    good = path.read_bytes()
    refused = served = 0
    for at in range(100, len(good), len(good) // 60):
        (tmp_path / "flipped").mkdir()
        copy = tmp_path / "flipped" / "s.sqlite"
        copy.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        shutil.copy(highwater_file(str(path)), highwater_file(str(copy)))
        try:
            async with opened(copy) as store:
                served += 1
                items = (await store.range("/")).items
                assert {item.key for item in items} == set(wrote)
                assert all(item.value == wrote[item.key] or item.value.__class__ is DamagedValue for item in items)
        except StoreError as error:
            assert not isinstance(error, UnavailableError), error
            refused += 1
        shutil.rmtree(tmp_path / "flipped")
    assert refused and served


@pytest_twisted.ensureDeferred
async def test_older_stores_get_checksums(tmp_path: Path) -> None:
    """A store without checksums and without a record of its last revision is opened, and has both from then on."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        await store.create("/a", b"1")
    change(path, "ALTER TABLE log DROP COLUMN sum")
    change(path, "PRAGMA user_version = 1")
    os.unlink(highwater_file(str(path)))
    assert check_copy(str(path)).schema_version == 1
    async with opened(path) as store:
        assert (await present(store, "/a")).value == b"1"
        last = await store.create("/b", b"1")
    assert read_highwater(str(path)) == last
    change(path, "UPDATE log SET value = 'x' WHERE key = '/b'")
    assert check_copy(str(path)).bad_values == ["/b"]


@pytest_twisted.ensureDeferred
async def test_the_lock_outlives_its_file(tmp_path: Path) -> None:
    """A folder whose lock file was unlinked is neither opened twice nor restored into."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        await store.create("/a", b"1")
        back_up(str(path), str(tmp_path / "copy"))
        os.unlink(str(path) + ".lock")
        await raises(StoreLockedError, SqliteStore(reactor, path, dialect_name="one").start())
        with pytest.raises(StoreLockedError):
            restore(str(tmp_path / "copy"), str(path))
        assert await store.create("/b", b"1") == 3


@pytest_twisted.ensureDeferred
async def test_repeated_restore_reuses_no_version(tmp_path: Path) -> None:
    """Restoring a backup repeatedly gives out no version twice, even if the replaced store is missing or damaged."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        await store.create("/a", b"1")
    back_up(str(path), str(tmp_path / "copy"))
    given = [2]
    for spoil in (None, database_empty, database_gone, None):
        if spoil is not None:
            spoil(path)
        begins = restore(str(tmp_path / "copy"), str(path))
        assert begins > max(given)
        async with opened(path) as store:
            given.append(await store.create("/more", b""))
            assert store.compacted >= begins
    assert sorted(set(given)) == given


@pytest_twisted.ensureDeferred
async def test_restore_gets_versions_above_a_moved_store(tmp_path: Path) -> None:
    """A backup that is restored into a folder whose store was moved away continues above that store's versions."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        for number in range(10):
            await store.create(f"/{number}", b"")
    path.rename(tmp_path / "away")
    assert import_content(str(path), Content(dialect_name="one", revision=5, items=(), expires={})).revision > 11


class FailingSync:
    """A connection whose commits fail as if the sync had failed: the bytes are in the file, or not."""

    def __init__(self, inner: sqlite3.Connection, *, written: bool) -> None:
        self._inner = inner
        self._written = written
        self.failing = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def execute(self, statement: str, *arguments: Any) -> Any:
        if self.failing and statement.startswith(("INSERT", "UPDATE")):
            if self._written and statement.startswith("INSERT"):
                self._inner.execute(statement, *arguments)
            raise sqlite3.OperationalError("disk I/O error")
        return self._inner.execute(statement, *arguments)


@pytest.mark.parametrize("written", [True, False])
@pytest_twisted.ensureDeferred
async def test_failed_sync_stops_writes(tmp_path: Path, written: bool) -> None:
    """A write whose sync failed may have been applied, and the error says so; no more writes are accepted until this is
    known, and then readers, watches and a later process agree."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        before = await store.create("/before", b"1")
        inner: Any = store._connection
        shim: Any = FailingSync(inner, written=written)
        store._connection = shim
        seen = Seen()
        seen.watch(store, "/", before)
        error = await raises(UnavailableError, store.create("/a", b"1"))
        assert "may have been applied" in str(error)
        assert "may have been applied" not in str(await raises(UnavailableError, store.create("/b", b"1")))
        assert store.healthy() and await store.get("/a") is None
        shim.failing = False
        await Subject(store=store, reactor=reactor).until(lambda: not store.healthy())
        assert (await store.get("/a") is not None) is written
        after = await store.create("/c", b"1")
        assert after == before + (2 if written else 1)
        assert seen.revisions() == list(range(before + 1, after + 1))
        store._connection = inner
    async with opened(path) as store:
        assert (await store.get("/a") is not None) is written
        assert store.revision == after
