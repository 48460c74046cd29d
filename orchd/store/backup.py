"""Copies of the embedded store, and putting one in the store's place."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass

from orchd.store.interfaces import StoreError
from orchd.store.open_errors import ForeignFileError, NewerSchemaError, StoreDamagedError
from orchd.store.schema import APPLICATION_ID, CURRENT, SCHEMA_VERSION, FileLock, connect, sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a store has: current `keys`, and bytes of their values."""

    dialect_name: str
    schema_version: int
    revision: int
    keys: int
    size: int


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


def check_copy(path: str) -> Summary:
    """Read all of a store or of a copy of one, which may be in use. Raises StoreError saying what is wrong with it."""
    path = os.path.abspath(path)
    if not os.path.exists(path):
        raise StoreError(f"there is no store at {path}")
    try:
        connection = connect(path, read_only=True)
        try:
            return _checked(connection, path)
        finally:
            connection.close()
    except (sqlite3.OperationalError, OSError) as error:
        raise StoreError(f"cannot read {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreDamagedError(path, str(error)) from error


def _checked(connection: sqlite3.Connection, path: str) -> Summary:
    # One moment for all questions, whoever writes meanwhile.
    connection.execute("BEGIN")
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise ForeignFileError(path)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(path, version, SCHEMA_VERSION)
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise StoreDamagedError(path, str(found).splitlines()[-1])
    keys, size = connection.execute(
        f"SELECT count(*), coalesce(sum(length(value)), 0) FROM ({CURRENT})"
    ).fetchone()
    (dialect,) = connection.execute("SELECT value FROM meta WHERE name = 'dialect'").fetchone()
    return Summary(dialect_name=dialect, schema_version=version, revision=_revision(connection), keys=keys, size=size)


def back_up(source: str, target: str) -> Summary:
    """Copy a store, in use or not, into the new file `target`, and check the copy. Raises StoreError."""
    source, target = os.path.abspath(source), os.path.abspath(target)
    if not os.path.exists(source):
        raise StoreError(f"there is no store at {source}")
    try:
        write_backup(source, target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot back up {source} to {target}: {error}") from error
    try:
        return check_copy(target)
    except BaseException:
        os.unlink(target)
        raise


def restore(source: str, target: str, *, skip_revisions: int = 1_000_000) -> int:
    """Put a copy of the backup `source` where the store `target` is expected; no process may be using it.

    Clients that saw the lost writes must not take new ones for them: the restored store goes on `skip_revisions` after
    the backup's last revision and serves no history from before, so that every watch and list starts over.
    An existing store is kept beside it as ``.replaced``. Returns the revision. Raises StoreError.
    """
    source, target = os.path.abspath(source), os.path.abspath(target)
    check_copy(source)
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        lock = FileLock(target)
        try:
            revision = _restore(source, target, skip_revisions)
            give_to_owner(target, target + ".lock")
            return revision
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
            revision = _prepare(connection, skip_revisions)
        finally:
            connection.close()
        sync(partial)
        if os.path.exists(target):
            _set_aside(target, target + ".replaced")
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise
    sync(os.path.dirname(target))
    return revision


def _set_aside(path: str, other: str) -> None:
    """Rename a store, with its log, which belongs to it and would spoil the new file."""
    suffixes = ("-wal", "-shm", "")
    for suffix in suffixes:
        if os.path.exists(other + suffix):
            os.unlink(other + suffix)
    try:
        # Take what the log has into the file, so that there is one thing to rename.
        connection = connect(path)
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        # Damaged, which may be why it is replaced.
        pass
    for suffix in suffixes:
        if os.path.exists(path + suffix):
            os.replace(path + suffix, other + suffix)


def give_to_owner(*paths: str) -> None:
    """Files that root made in somebody's folder become theirs: a server that runs as that user has to open them."""
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(paths[0]))
        for path in paths:
            os.chown(path, owner.st_uid, owner.st_gid)


def _prepare(connection: sqlite3.Connection, skip_revisions: int) -> int:
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
