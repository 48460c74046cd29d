"""The file of the embedded store: tables, connections, and creation.

One row of `log` is one write, keyed by its revision; `prev` is the revision that it replaced (0: none). A write
therefore only appends, whatever its key: the current values are the rows that no other row names as `prev` and that are
no deletions, and a range at an older revision is the current one with the later rows undone. `sum` is the row's
checksum (`checksums`), NULL in rows of releases before schema version 2.

`version`, `lease` and `txn` are those of rows that a transaction wrote (`records`), NULL in others: the writes of the
key since its creation, its lease (0: none), and the revision of the transaction, NULL in its last row, which has that
number.
"""

from __future__ import annotations

import os
import sqlite3
import time

from orchd.store.disk_errors import reason
from orchd.store.interfaces import UnavailableError
from orchd.store.open_errors import StoreDamagedError

#: Suffixes of the database's name: all files of a database.
FILES = ("-wal", "-shm", "-journal", "")
#: No database is shorter: SQLite's smallest page, in bytes.
_SMALLEST = 512
#: Marks the file as ours ("orcd"), in SQLite's header.
APPLICATION_ID = 0x6F726364
SCHEMA_VERSION = 3
#: The schema versions from which rows have checksums, and what transactions need.
WITH_SUMS, WITH_TRANSACTIONS = 2, 3

_TABLES = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    prev INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    expires REAL NOT NULL,
    value BLOB NOT NULL,
    sum INTEGER,
    version INTEGER,
    lease INTEGER,
    txn INTEGER
);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE lease (id INTEGER PRIMARY KEY, ttl INTEGER NOT NULL);
"""

#: The columns that every row has, in their order.
COLUMNS = "revision, key, created, prev, deleted, expires, value, sum"

#: Migration statements: MIGRATIONS[n] leads from schema version n to n + 1.
MIGRATIONS: dict[int, str] = {
    1: "ALTER TABLE log ADD COLUMN sum INTEGER",
    2: "ALTER TABLE log ADD COLUMN version INTEGER; ALTER TABLE log ADD COLUMN lease INTEGER;"
    "ALTER TABLE log ADD COLUMN txn INTEGER; CREATE TABLE lease (id INTEGER PRIMARY KEY, ttl INTEGER NOT NULL)",
}


def delete_store(path: str) -> None:
    """Delete a database and its auxiliary files, as far as they exist."""
    for suffix in FILES:
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)


def sync(path: str) -> None:
    """fsync a file's contents, or a directory's names."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def connect(path: str, *, read_only: bool = False, exclusive: bool = False) -> sqlite3.Connection:
    """A connection with the settings required for durability. Belongs to the thread that makes it. An `exclusive` one
    blocks all others, and needs no file for the journal's index."""
    uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(uri + ("?mode=ro" if read_only else "?mode=rw"), uri=True, isolation_level=None)
    try:
        if exclusive:
            # Must precede everything that reads the file or creates the index.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone()
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("PRAGMA temp_store = MEMORY")
        if not read_only:
            connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_cut(path: str, was: str) -> None:
    """Raise StoreDamagedError for a file too short for the database of any program; `was` ends the reason. Raises
    OSError."""
    size = os.path.getsize(path)
    if size < _SMALLEST:
        raise StoreDamagedError(path, f"its database file has {size} bytes{was}")


def make_empty(path: str, dialect_name: str) -> None:
    """Create the store `path`, which must not exist: the name appears when the file is complete and synced. Raises
    UnavailableError."""
    partial = path + ".partial"
    # Left by an interrupted attempt.
    delete_store(partial)
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        connection = connect(partial)
        try:
            create(connection, dialect_name)
            # Fails where closing would not: with contents that only the journal has, which is not renamed.
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        finally:
            connection.close()
        sync(partial)
        os.rename(partial, path)
    except (sqlite3.Error, OSError) as error:
        # Before the deletion, which makes space on a full disk.
        why = reason(partial, error)
        delete_store(partial)
        raise UnavailableError(f"cannot make the store {path}: {why}") from error
    except BaseException:
        delete_store(partial)
        raise
    # SQLite syncs the contents of the file, not its directory entry.
    sync(os.path.dirname(path))


def create(connection: sqlite3.Connection, dialect_name: str) -> None:
    """Initialize an empty file as a store at revision 1."""
    # Must precede the first table; later it would need a rewrite of the file.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    rows = {"dialect": dialect_name, "compacted": "1", "made": str(time.time()), "probe": "0"}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def version_by_tables(connection: sqlite3.Connection) -> int:
    """The version that brought the columns of the table; 0 if it is no store's. Raises sqlite3.Error."""
    log = {row[1] for row in connection.execute("PRAGMA table_info(log)")}
    if not {"revision", "key", "created", "prev", "deleted", "expires", "value"} <= log:
        return 0
    if {"version", "lease", "txn"} <= log:
        return WITH_TRANSACTIONS
    return WITH_SUMS if "sum" in log else 1


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Migrate a store of schema `version` step by step to the current one."""
    for step in range(version, SCHEMA_VERSION):
        connection.execute("BEGIN IMMEDIATE")
        for statement in MIGRATIONS[step].split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {step + 1}")
        connection.execute("COMMIT")


def check(connection: sqlite3.Connection, path: str, seconds: float) -> None:
    """SQLite's structural check of the file, stopped after `seconds`: a big store must not take minutes to start.

    Loading reads every page of the log in any case, and fails at broken ones.
    """
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return
    finally:
        connection.set_progress_handler(None, 0)
    if verdict != "ok":
        raise StoreDamagedError(path, str(verdict).splitlines()[-1])
