"""Backup and restore of the embedded store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from orchd.store.disk_errors import reason
from orchd.store.highwater import highwater_file, read_highwater, set_highwater
from orchd.store.interfaces import StoreError
from orchd.store.locking import FileLock, is_locked
from orchd.store.open_errors import StoreDamagedError
from orchd.store.opening import examine, refuse_gone
from orchd.store.schema import FILES, connect, delete_store, sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Contents of a store: number of current `keys`, and size of their values; `bad_values` are the keys with damaged
    values, `bad_history` the revisions of damaged values that later writes replaced."""

    dialect_name: str
    schema_version: int
    revision: int
    keys: int
    size: int
    bad_values: Sequence[str] = ()
    bad_history: Sequence[int] = ()


def write_backup(source: str, target: str) -> int:
    """Copy a store, in use or not; `target` must not exist. Returns the revision. Raises sqlite3.Error, OSError."""
    partial = target + ".partial"
    if os.path.exists(target):
        raise FileExistsError(f"{target} exists")
    folder = os.path.dirname(os.path.abspath(target))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder}")
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    try:
        revision = _copy(source, partial)
        sync(partial)
        os.rename(partial, target)
    except BaseException:
        os.unlink(partial)
        raise
    sync(folder)
    return revision


def _copy(source: str, target: str) -> int:
    # Read-only, all pages in one read transaction: the server continues to write to the write-ahead log.
    reading = connect(source, read_only=True)
    try:
        writing = sqlite3.connect(target, isolation_level=None)
        try:
            reading.backup(writing)
            # A single file, without a write-ahead log.
            writing.execute("PRAGMA journal_mode = DELETE").fetchone()
            return _revision(writing)
        finally:
            writing.close()
    finally:
        reading.close()


def check_copy(
    path: str, *, dialect_name: str | None = None, plausible: Callable[[str], Callable[[bytes], bool]] | None = None
) -> Summary:
    """Read all of a store or of a copy, which may be in use. Raises StoreError for damage, but not for damaged values,
    and for another dialect than `dialect_name` (None: any). `plausible` takes the store's dialect and returns a
    function that says whether a value can be valid, in addition to its checksum."""
    path = os.path.abspath(path)
    refuse_gone(path)
    if not os.path.exists(path):
        raise StoreError(f"there is no store at {path}")
    try:
        header, loaded = examine(path, dialect_name, inf, in_use=is_locked(path))
    except (sqlite3.OperationalError, OSError) as error:
        raise StoreError(f"cannot read {path}: {reason(path, error)}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise StoreDamagedError(path, str(error)) from error
    bad = list(loaded.bad_values)
    if plausible is not None:
        bad_keys, is_plausible = set(bad), plausible(header.dialect_name)
        bad += [item.key for item in loaded.items if item.key not in bad_keys and not is_plausible(item.value)]
    return Summary(
        dialect_name=header.dialect_name,
        schema_version=header.version,
        revision=loaded.revision,
        keys=len(loaded.items),
        size=sum(len(item.value) for item in loaded.items),
        bad_values=bad,
        bad_history=loaded.bad_history,
    )


def refuse_bad_history(path: str, summary: Summary) -> None:
    """Raise StoreError naming the revisions with damaged former values, if there are any."""
    if summary.bad_history:
        number, some = len(summary.bad_history), ", ".join(map(str, summary.bad_history[:20]))
        raise StoreError(
            f"the store {path} has {number} damaged values that later writes replaced, at revisions {some}"
            f"{', ...' if number > 20 else ''}: no object is affected, and compaction removes them; check the disk"
        )


def refuse_bad_values(path: str, summary: Summary) -> None:
    """Raise StoreError naming the keys with damaged values, if there are any."""
    if summary.bad_values:
        number, some = len(summary.bad_values), ", ".join(summary.bad_values[:20])
        raise StoreError(
            f"the store {path} has {number} damaged values: {some}{', ...' if number > 20 else ''}: delete these "
            "objects "
            "through the API, restore a backup (orchd-store restore), or drop them from the file (orchd-store salvage)"
        )


def back_up(source: str, target: str, *, dialect_name: str | None = None) -> Summary:
    """Copy a store, in use or not, into the new file `target`, and check the copy. Raises StoreError, also for another
    dialect than `dialect_name` (None: any)."""
    source, target = os.path.abspath(source), os.path.abspath(target)
    if not os.path.exists(source):
        raise StoreError(f"there is no store at {source}")
    try:
        write_backup(source, target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot back up {source} to {target}: {error}") from error
    try:
        return check_copy(target, dialect_name=dialect_name)
    except BaseException:
        os.unlink(target)
        raise


def restore(source: str, target: str, *, dialect_name: str | None = None, skip_revisions: int = 1_000_000) -> int:
    """Replace the store `target` by a copy of the backup `source`; no process may be using it.

    Versions that clients saw must not be reused for new writes: the restored store continues `skip_revisions` after the
    last revision of the backup, or of the replaced store if that is later (so restoring one backup twice never reuses a
    version), and has no history, so that every watch and list starts over. An existing store is kept beside it as
    ``.replaced``. Returns the revision. Raises StoreError, also for another dialect than `dialect_name` (None: any).
    """
    source, target = os.path.abspath(source), os.path.abspath(target)
    check_copy(source, dialect_name=dialect_name)
    try:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        lock = FileLock(target)
        try:
            revision = _restore(source, target, skip_revisions)
            set_highwater(target, revision)
            give_to_owner(target, target + ".lock", highwater_file(target))
            return revision
        finally:
            lock.release()
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot restore {source} to {target}: {error}") from error


def _restore(source: str, target: str, skip_revisions: int) -> int:
    partial = target + ".partial"
    if os.path.exists(partial):
        os.unlink(partial)
    reached = max(read_highwater(target) or 0, _last_revision(target))
    write_backup(source, partial)
    try:
        connection = connect(partial)
        try:
            revision = _prepare(connection, reached, skip_revisions)
        finally:
            connection.close()
        sync(partial)
        _set_aside(target, target + ".replaced")
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise
    sync(os.path.dirname(target))
    return revision


def _set_aside(path: str, other: str) -> None:
    """Rename a store with its write-ahead log, which must not be applied to the new file."""
    if os.path.exists(path):
        try:
            # Checkpoint the log, so that there is a single file to rename.
            connection = connect(path)
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.close()
        except sqlite3.Error:
            # A damaged store, possibly the reason for the replacement.
            pass
    move_store(path, other)


def move_store(path: str, other: str) -> None:
    """Rename a database and its auxiliary files; existing ones with the new name are deleted."""
    delete_store(other)
    for suffix in FILES:
        if os.path.exists(path + suffix):
            os.replace(path + suffix, other + suffix)


def give_to_owner(*paths: str) -> None:
    """Give files that root created to the folder's owner: a server that runs as that user has to open them."""
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(paths[0]))
        for path in paths:
            os.chown(path, owner.st_uid, owner.st_gid)


def _last_revision(path: str) -> int:
    """The last revision of a store; 0 for a missing or damaged one."""
    if not os.path.exists(path):
        return 0
    try:
        connection = connect(path, read_only=True)
        try:
            return _revision(connection)
        finally:
            connection.close()
    except sqlite3.Error:
        return 0


def _prepare(connection: sqlite3.Connection, reached: int, skip_revisions: int) -> int:
    before = _revision(connection)
    revision = max(before, reached) + skip_revisions
    if revision > before:
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
