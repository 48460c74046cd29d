"""The file of the embedded store: its tables, and opening it with every reason to refuse.

One row of `log` is one write, keyed by its revision; `prev` is the revision that it replaced (0: none). A write
therefore only appends, whatever its key: the current values are the rows that no other row names as `prev` and that are
no deletions, and a range at an older revision is the current one with the later rows undone.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from dataclasses import dataclass

from orchd.store.interfaces import KeyValue, UnavailableError
from orchd.store.open_errors import (
    DialectMismatchError,
    ForeignFileError,
    NewerSchemaError,
    StoreDamagedError,
    StoreLockedError,
)

#: Marks the file as ours ("orcd"), in SQLite's header.
APPLICATION_ID = 0x6F726364
SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    prev INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    expires REAL NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""

#: Statements that lead from a schema version to the next one: MIGRATIONS[n] from version n to n + 1.
MIGRATIONS: dict[int, str] = {}

#: All current values, with when they end (0: never).
CURRENT = """
SELECT key, value, revision, created, expires FROM log
WHERE deleted = 0 AND revision NOT IN (SELECT prev FROM log)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an opened store contains. `leases` are (expires, key, revision); `trouble` says why it cannot be written."""

    connection: sqlite3.Connection
    items: list[KeyValue]
    leases: list[tuple[float, str, int]]
    revision: int
    compacted: int
    trouble: str


class FileLock:
    """The exclusive right to a store, held in a file beside it and given up by the kernel however a process ends.

    Not a lock on the database file itself: closing any descriptor of that one would drop SQLite's own locks.
    """

    def __init__(self, path: str) -> None:
        self._fd = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 20).decode("ascii", "replace").strip()
            os.close(self._fd)
            raise StoreLockedError(path, holder) from None
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)
        except OSError:
            # The number is for the message of whoever comes second; a full disk must not keep the first one out.
            pass

    def release(self) -> None:
        os.close(self._fd)


def sync(path: str) -> None:
    """Make a file's contents, or a directory's names, durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def connect(path: str, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection with the settings that durability rests on. Belongs to the thread that makes it."""
    uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(uri + ("?mode=ro" if read_only else "?mode=rw"), uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA busy_timeout = 10000")
        connection.execute("PRAGMA temp_store = MEMORY")
        if not read_only:
            connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def open_store(path: str, dialect_name: str, *, check_seconds: float) -> Found:
    """Open or create. The caller holds the FileLock. Raises a refusal or UnavailableError."""
    connection: sqlite3.Connection | None = None
    try:
        if not os.path.exists(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            # SQLite makes the contents of the file durable, not its name.
            sync(os.path.dirname(path))
        connection = connect(path)
        return _open(connection, path, dialect_name, check_seconds)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.OperationalError | OSError):
            raise UnavailableError(f"cannot open the store {path}: {error}") from error
        if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError):
            raise StoreDamagedError(path, str(error)) from error
        raise


def _open(connection: sqlite3.Connection, path: str, dialect_name: str, check_seconds: float) -> Found:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == 0 and version == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        create(connection, dialect_name)
        version = SCHEMA_VERSION
    elif application != APPLICATION_ID:
        raise ForeignFileError(path)
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(path, version, SCHEMA_VERSION)
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    if meta["dialect"] != dialect_name:
        raise DialectMismatchError(path, meta["dialect"], dialect_name)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA journal_size_limit = 16777216")
    check(connection, path, check_seconds)
    _migrate(connection, version)
    trouble = ""
    try:
        # A write that changes nothing that matters, to learn at once whether writing works.
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('opened', ?)", (str(time.time()),))
    except sqlite3.OperationalError as error:
        trouble = str(error)
    items: list[KeyValue] = []
    leases: list[tuple[float, str, int]] = []
    for key, value, revision, created, expires in connection.execute(CURRENT):
        items.append(KeyValue(key, value, revision, created))
        if expires:
            leases.append((expires, key, revision))
    last = connection.execute("SELECT max(revision) FROM log").fetchone()[0] or 0
    compacted = int(meta["compacted"])
    return Found(
        connection=connection,
        items=items,
        leases=leases,
        # The last write may have been a deletion that compaction has forgotten.
        revision=max(last, compacted),
        compacted=compacted,
        trouble=trouble,
    )


def create(connection: sqlite3.Connection, dialect_name: str) -> None:
    """Make an empty file a store at revision 1."""
    # Before the first table, or it takes a rewrite of the file.
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


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    for step in range(version, SCHEMA_VERSION):
        connection.execute("BEGIN IMMEDIATE")
        for statement in MIGRATIONS[step].split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {step + 1}")
        connection.execute("COMMIT")


def check(connection: sqlite3.Connection, path: str, seconds: float) -> None:
    """SQLite's own check of the file's structure, given up after `seconds`: a big store must not take minutes to start.

    Loading afterwards reads every page of the log in any case, and fails where one is broken.
    """
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return
    finally:
        connection.set_progress_handler(None, 0)
    if found != "ok":
        raise StoreDamagedError(path, str(found).splitlines()[-1])
