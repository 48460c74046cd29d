"""Copies of the embedded store, and putting one in the store's place."""

from __future__ import annotations

import os
import sqlite3

from orchd.store.interfaces import StoreError
from orchd.store.refusals import ForeignFileError, NewerSchemaError, StoreDamagedError
from orchd.store.schema import APPLICATION_ID, SCHEMA_VERSION, FileLock, connect, sync


def write_backup(source: str, target: str) -> int:
    """Copy a store that may be in use; `target` must not exist. Returns the revision. Raises sqlite3.Error, OSError."""
    partial = target + ".partial"
    if os.path.exists(target):
        raise FileExistsError(f"{target} exists")
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    try:
        revision = _copy(source, partial)
        sync(partial)
        os.rename(partial, target)
    except BaseException:
        os.unlink(partial)
        raise
    sync(os.path.dirname(target))
    return revision


def _copy(source: str, target: str) -> int:
    # Read-only, all pages in one read transaction: writers go on in the write-ahead log meanwhile.
    reading = connect(source, read_only=True)
    try:
        writing = sqlite3.connect(target, isolation_level=None)
        try:
            reading.backup(writing)
            # A single file, without a log beside it.
            writing.execute("PRAGMA journal_mode = DELETE").fetchone()
            return _revision(writing)
        finally:
            writing.close()
    finally:
        reading.close()


def restore(source: str, target: str, *, skip_revisions: int = 1_000_000) -> int:
    """Put a copy of the backup `source` where the store `target` is expected; no process may be using it.

    Clients that saw the lost writes must not take new ones for them: the restored store goes on `skip_revisions` after
    the backup's last revision and serves no history from before, so that every watch and list starts over.
    An existing store is kept beside it as ``.replaced``. Returns the revision. Raises StoreError.
    """
    source, target = os.path.abspath(source), os.path.abspath(target)
    try:
        lock = FileLock(target)
        try:
            return _restore(source, target, skip_revisions)
        finally:
            lock.release()
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot restore {source} to {target}: {error}") from error


def _restore(source: str, target: str, skip_revisions: int) -> int:
    partial = target + ".partial"
    if os.path.exists(partial):
        os.unlink(partial)
    write_backup(source, partial)
    try:
        connection = connect(partial)
        try:
            revision = _prepare(connection, source, skip_revisions)
        finally:
            connection.close()
        sync(partial)
        if os.path.exists(target):
            # With its log, which belongs to it and would spoil the new file.
            for suffix in ("-wal", "-shm", ""):
                if os.path.exists(target + suffix):
                    os.replace(target + suffix, target + ".replaced" + suffix)
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise
    sync(os.path.dirname(target))
    return revision


def _prepare(connection: sqlite3.Connection, source: str, skip_revisions: int) -> int:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise ForeignFileError(source)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(source, version, SCHEMA_VERSION)
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise StoreDamagedError(source, found)
    revision = _revision(connection) + skip_revisions
    if skip_revisions:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM log WHERE deleted = 1 OR revision IN (SELECT prev FROM log)")
        connection.execute("UPDATE meta SET value = ? WHERE name = 'compacted'", (str(revision),))
        connection.execute("COMMIT")
    return revision


def _revision(connection: sqlite3.Connection) -> int:
    row = connection.execute(
        "SELECT max(coalesce((SELECT max(revision) FROM log), 0), "
        "coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'compacted'), 0))"
    ).fetchone()
    return int(row[0])
