"""Opens the embedded store, after checks that may reject it.

Everything is checked through a read-only connection before a writable one is opened: closing a writable one would
checkpoint the write-ahead log, and a rejected store must stay unchanged.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

from orchd.store.disk_errors import reason
from orchd.store.highwater import read_highwater
from orchd.store.interfaces import UnavailableError
from orchd.store.journalfile import lost_commits
from orchd.store.loading import Header, Loaded, check_dialect, load, read_header
from orchd.store.locking import FileLock
from orchd.store.open_errors import ForeignFileError, NewerSchemaError, StoreDamagedError
from orchd.store.schema import check, connect, create, make_empty, migrate, refuse_cut

#: SQLite errors after which reads continue: disk full, disk error, read-only file system.
_NO_WRITING: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An opened store. `connection` is None when a writable one is impossible; `trouble` is the reason why the store is
    read-only, "" when it is writable."""

    connection: sqlite3.Connection | None
    loaded: Loaded
    compacted: int
    trouble: str


def open_store(path: str, dialect_name: str, *, lock: FileLock, check_seconds: float) -> Found:
    """Open or create the store locked by `lock`. Raises an open error or UnavailableError."""
    try:
        _make_if_new(path, dialect_name)
        lock.cover()
        try:
            header, loaded = examine(path, dialect_name, check_seconds)
        except sqlite3.OperationalError as error:
            # Probably no space for the journal's index: without it nothing can be written, but everything read.
            header, loaded = examine(path, dialect_name, check_seconds, exclusive=True)
            return Found(connection=None, loaded=loaded, compacted=header.compacted, trouble=str(error))
        try:
            connection = open_for_writing(path, dialect_name)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _NO_WRITING:
                raise
            return Found(connection=None, loaded=loaded, compacted=header.compacted, trouble=str(error))
        return Found(
            connection=connection, loaded=loaded, compacted=header.compacted, trouble=_try_to_write(connection)
        )
    except (sqlite3.OperationalError, OSError) as error:
        raise UnavailableError(f"cannot open the store {path}: {reason(path, error)}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise StoreDamagedError(path, str(error)) from error


def _make_if_new(path: str, dialect_name: str) -> None:
    """Create the store, unless one exists or existed."""
    refuse_gone(path)
    if not os.path.exists(path):
        make_empty(path, dialect_name)


def refuse_gone(path: str) -> None:
    """Raise StoreDamagedError for a missing or empty database where one existed."""
    highwater = read_highwater(path)
    was = f", and it had revision {highwater}" if highwater else ""
    journal = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
    if not os.path.exists(path):
        if highwater is not None or journal:
            raise StoreDamagedError(path, f"its database file is gone{was}")
    else:
        refuse_cut(path, was)


def refuse_other_dialect(path: str, dialect_name: str) -> None:
    """Raise DialectMismatchError if there is a store of another dialect at `path`. What cannot be read passes:
    `open_store` refuses it."""
    if not os.path.exists(path):
        return
    with (
        suppress(sqlite3.Error, StoreDamagedError, ForeignFileError, NewerSchemaError),
        closing(connect(path, read_only=True)) as connection,
    ):
        check_dialect(read_header(connection, path), path, dialect_name)


def examine(
    path: str, dialect_name: str | None, check_seconds: float, *, exclusive: bool = False, in_use: bool = False
) -> tuple[Header, Loaded]:
    """Check a database without writing to it; raises an open error or sqlite3.Error. `dialect_name` None accepts any.
    `exclusive` needs no journal index, and blocks other processes meanwhile; `in_use` is for a database that a server
    may be writing to."""
    # Read before the database, which a server may extend meanwhile.
    highwater = read_highwater(path) or 0
    connection = connect(path, read_only=not exclusive, exclusive=exclusive)
    try:
        connection.execute("BEGIN")
        if highwater == 0 and _is_blank(connection):
            # From an older release that was killed during its first start.
            return Header(version=0, dialect_name=dialect_name or "", compacted=1), _nothing()
        header = read_header(connection, path)
        if dialect_name is not None:
            check_dialect(header, path, dialect_name)
        lost = 0 if in_use or exclusive else lost_commits(path)
        if lost:
            raise StoreDamagedError(
                path, f"its journal {path}-wal is garbled before its end, {lost} or more commits are lost"
            )
        check(connection, path, check_seconds)
        loaded = load(connection, header, path)
    finally:
        connection.close()
    if loaded.bad_rows:
        listed = ", ".join(map(str, loaded.bad_rows[:5]))
        raise StoreDamagedError(path, f"{len(loaded.bad_rows)} rows differ from their checksums, at revisions {listed}")
    if loaded.revision < highwater:
        raise StoreDamagedError(
            path,
            f"it ends at revision {loaded.revision}, but revision {highwater} was acknowledged: its journal "
            f"{path}-wal is gone or garbled, or the database is an older copy",
        )
    return header, loaded


def _nothing() -> Loaded:
    return Loaded(items=[], leases=[], revision=1, bad_rows=[], bad_values=[], bad_history=[], joint=[], grants={})


def _is_blank(connection: sqlite3.Connection) -> bool:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def open_for_writing(path: str, dialect_name: str) -> sqlite3.Connection:
    """A writable, migrated connection to a checked database. Raises sqlite3.Error."""
    connection = connect(path)
    try:
        if _is_blank(connection):
            create(connection, dialect_name)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA journal_size_limit = 16777216")
        migrate(connection, connection.execute("PRAGMA user_version").fetchone()[0])
    except BaseException:
        connection.close()
        raise
    return connection


def _try_to_write(connection: sqlite3.Connection) -> str:
    """Why nothing can be written, "" if writable: determined by a harmless write."""
    try:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('opened', ?)", (str(time.time()),))
    except sqlite3.OperationalError as error:
        return str(error)
    return ""
