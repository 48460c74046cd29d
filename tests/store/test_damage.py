"""Damage to the files of the embedded store is detected and reported, with a way to recover."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_twisted
from twisted.internet import reactor

from orchd.store.backup import back_up, check_copy, refuse_bad_history, restore
from orchd.store.compaction import HistoryLimits
from orchd.store.export import Content, export_content, import_content
from orchd.store.highwater import highwater_file, read_highwater
from orchd.store.interfaces import DamagedValue, StoreError, UnavailableError
from orchd.store.open_errors import ForeignFileError, NewerSchemaError, StoreDamagedError, StoreLockedError
from orchd.store.records import Change
from orchd.store.salvage import salvage
from orchd.store.sqlite import SqliteStore
from orchd.testing.contracts.store import Seen, Subject, present, raises


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
    contents = {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.endswith((".lock", "-shm"))}
    return {name: data for name, data in contents.items() if data}


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
    assert os.path.exists(done.damaged)
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
        revision = await store.create("/a", b"first")
        await store.update("/a", b"second", expected=revision)
        await store.create("/b", b"good")
    change(path, "UPDATE log SET value = ? WHERE value IN (?, ?)", b"sEcond", b"first", b"second")
    shutil.copy(path, tmp_path / "other")
    assert check_copy(str(path)).bad_values == ["/a"]
    assert back_up(str(path), str(tmp_path / "copy")).bad_values == ["/a"]
    async with opened(path, recent_events=0) as store:
        item = await present(store, "/a")
        assert item.value.__class__ is DamagedValue
        assert (await present(store, "/a", revision=revision)).value.__class__ is DamagedValue
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


@pytest_twisted.ensureDeferred
async def test_damaged_former_value_is_found(tmp_path: Path) -> None:
    """A damaged value that a later write replaced is reported by its revision, moves and readers of the object are not
    affected, and compaction or salvage removes it."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        revision = await store.create("/a", b"first")
        await store.update("/a", b"second", expected=revision)
    change(path, "UPDATE log SET value = 'fIrst' WHERE revision = ?", revision)
    shutil.copy(path, tmp_path / "other")
    problems = check_copy(str(path))
    assert (problems.bad_values, problems.bad_history) == ([], [revision])
    with pytest.raises(StoreError, match=f"at revisions {revision}: no object is affected"):
        refuse_bad_history(str(path), problems)
    with export_content(str(path)) as content:
        assert [item.value for item in content.items] == [b"second"]
    async with opened(path) as store:
        assert (await present(store, "/a")).value == b"second"
        await store.compact(store.revision)
    assert check_copy(str(path)).bad_history == []
    done = salvage(str(tmp_path / "other"), "one")
    assert (done.keys, done.lost_keys, done.complete) == (1, [], True)


@pytest.mark.parametrize(
    "column", ["key = '/x'", "created = 77", "prev = 2", "deleted = 1", "expires = 5.0", "sum = 12345678901234"]
)
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


Rows = list[tuple[Any, ...]]


def rows_of(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.execute("SELECT * FROM log ORDER BY revision"))


async def history(tmp_path: Path) -> tuple[Path, dict[str, set[bytes]]]:
    """A closed store in which half of the values replaced others, and the values that each key had."""
    path = tmp_path / "s.sqlite"
    values: dict[str, set[bytes]] = {}
    async with opened(path) as store:
        for number in range(20):
            first, second = (b"%d%s" % (number, letter) * 150 for letter in (b"a", b"b"))
            values[f"/{number}"] = {first}
            revision = await store.create(f"/{number}", first)
            if number % 2:
                values[f"/{number}"].add(second)
                await store.update(f"/{number}", second, expected=revision)
    return path, values


def damaged_copy(path: Path, folder: Path, data: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / path.name).write_bytes(data)
    shutil.copy(highwater_file(str(path)), folder)
    return folder / path.name


async def judge(copy: Path, rows: Rows, values: dict[str, set[bytes]]) -> str:
    """How a damaged copy is treated. The server, the check and salvage have to agree on it."""
    try:
        checked = check_copy(str(copy))
        refusal = None
    except StoreError as error:
        refusal = error
    try:
        async with opened(copy) as store:
            assert refusal is None, refusal
            items = (await store.range("/")).items
            assert {item.key for item in items} == set(values)
            assert all(item.value in values[item.key] or item.value.__class__ is DamagedValue for item in items)
            bad = [item.key for item in items if item.value.__class__ is DamagedValue]
            assert sorted(checked.bad_values) == sorted(bad)
        if not bad and not checked.bad_history:
            assert rows_of(copy) == rows, "damage that the check does not find"
            return "intact"
    except StoreError as error:
        assert type(refusal) is type(error)
        if isinstance(error, NewerSchemaError):
            return "newer"
        assert isinstance(error, StoreDamagedError), error
    done = salvage(str(copy), "one")
    async with opened(copy) as store:
        items = (await store.range("/")).items
        assert all(item.value in values[item.key] for item in items)
        assert len(items) == done.keys
    if refusal is None:
        assert done.keys == len(values) - len(bad)
        return "served"
    return "recovered" if done.keys == len(values) else "lost"


@pytest_twisted.ensureDeferred
async def test_every_bit_flip_is_detected(tmp_path: Path) -> None:
    """For a flipped bit of each byte of the header and of bytes in all sorts of pages, the store is rejected, or every
    returned value is the written one or reported as damaged; the check finds each change of a row, current or not, and
    what it rejects can be salvaged, whole where only the header is damaged."""
    path, values = await history(tmp_path)
    good, rows, outcomes = path.read_bytes(), rows_of(path), Counter[str]()
    for at in (*range(100), *range(100, len(good), 199)):
        copy = damaged_copy(path, tmp_path / "flipped", good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        outcome = await judge(copy, rows, values)
        assert at >= 100 or outcome in ("intact", "recovered", "newer"), at
        assert outcome != "newer" or 60 <= at < 64, at
        outcomes[outcome] += 1
    assert not {"intact", "served", "recovered", "lost"} - outcomes.keys(), outcomes


@pytest_twisted.ensureDeferred
async def test_every_cut_is_detected(tmp_path: Path) -> None:
    """A database cut to any length is damaged, never of another program, and salvage makes a store of what is left."""
    path, values = await history(tmp_path)
    good, rows = path.read_bytes(), rows_of(path)
    for size in (
        0,
        1,
        15,
        16,
        50,
        99,
        100,
        101,
        511,
        512,
        513,
        4095,
        4096,
        4097,
        *range(5000, len(good), 4999),
        len(good) - 1,
    ):
        assert await judge(damaged_copy(path, tmp_path / "cut", good[:size]), rows, values) in (
            "served",
            "recovered",
            "lost",
        ), size


@pytest_twisted.ensureDeferred
async def test_databases_of_other_programs_are_not_salvaged(tmp_path: Path) -> None:
    """A database with other tables is refused as another program's, without a record beside it, and stays as it is."""
    path = tmp_path / "s.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE log (line TEXT)")
    before = path.read_bytes()
    for attempt in (check_copy, lambda file: salvage(file, "one")):
        with pytest.raises(ForeignFileError):
            attempt(str(path))
    assert path.read_bytes() == before


def drop_transactions(path: Path) -> None:
    """Remove what schema version 3 added."""
    for column in ("version", "lease", "txn"):
        change(path, f"ALTER TABLE log DROP COLUMN {column}")
    change(path, "DROP TABLE lease")
    change(path, "PRAGMA user_version = 2")


@pytest_twisted.ensureDeferred
async def test_older_stores_get_transactions(tmp_path: Path) -> None:
    """A store of schema version 2 is opened with its checksums intact, and has transactions from then on."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        revision = await store.create("/a", b"1")
    drop_transactions(path)
    assert check_copy(str(path)).schema_version == 2
    for _ in range(2):
        async with opened(path) as store:
            last = await store.apply([Change("/a", b"2"), Change("/b", b"1", 0)])
            changed = await present(store, "/a")
            assert (changed.revision, changed.created) == (last, revision)
    assert check_copy(str(path)).schema_version == 3


@pytest_twisted.ensureDeferred
async def test_damage_of_a_transaction_is_noticed(tmp_path: Path) -> None:
    """Checksums cover the version, the lease and the transaction of a row."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        await store.apply([Change("/a", b"1"), Change("/b", b"1")])
    for column in ("version", "lease", "txn"):
        change(path, f"UPDATE log SET {column} = {column} + 1 WHERE key = '/a'")
        with pytest.raises(StoreDamagedError):
            check_copy(str(path))
        change(path, f"UPDATE log SET {column} = {column} - 1 WHERE key = '/a'")
    assert check_copy(str(path)).keys == 2


@pytest_twisted.ensureDeferred
async def test_older_stores_get_checksums(tmp_path: Path) -> None:
    """A store without checksums and without a record of its last revision is opened, and has both from then on."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        await store.create("/a", b"1")
    drop_transactions(path)
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


class Confused(FailingSync):
    """A connection as it is after the disk failed under it: SQLite calls an intact file malformed, for ever."""

    def execute(self, statement: str, *arguments: Any) -> Any:
        if self.failing:
            error = sqlite3.DatabaseError("database disk image is malformed")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
        return self._inner.execute(statement, *arguments)


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest_twisted.ensureDeferred
async def test_malformed_file_is_examined(tmp_path: Path, is_damaged: bool) -> None:
    """After SQLite called the file malformed, the store opens it anew, and writes again only if it is intact; the
    reason does not claim damage."""
    path = tmp_path / "s.sqlite"
    async with opened(path) as store:
        revision = await store.create("/a", b"1")
        shim: Any = Confused(cast(Any, store._connection), written=False)
        store._connection = shim
        if is_damaged:
            change(path, "UPDATE log SET created = 77")
        error = await raises(UnavailableError, store.create("/b", b"1"))
        assert "or the disk failed before" in str(error)
        if is_damaged:
            await Subject(store=store, reactor=reactor).until(lambda: "differ from their checksums" in store.healthy())
            await raises(UnavailableError, store.create("/b", b"1"))
        else:
            await Subject(store=store, reactor=reactor).until(lambda: not store.healthy())
            assert await store.create("/c", b"1") == revision + 1
            assert await store.get("/b") is None


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
