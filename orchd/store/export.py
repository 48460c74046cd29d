"""Export of the embedded store's contents at one moment, and creation of a store from such contents.

Values are copied as stored: encrypted values stay encrypted.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf

from orchd.store.backup import Summary, check_copy, give_to_owner, refuse_bad_values
from orchd.store.checksums import row_sum
from orchd.store.highwater import highwater_file, read_highwater, set_highwater
from orchd.store.interfaces import KeyValue, StoreError
from orchd.store.loading import Loaded
from orchd.store.locking import FileLock
from orchd.store.opening import examine
from orchd.store.records import lease_of
from orchd.store.schema import COLUMNS, connect, create, sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """`expires` holds the expiration of keys with a time to live, in epoch seconds."""

    dialect_name: str
    revision: int
    items: Sequence[KeyValue]
    expires: Mapping[str, float]


@contextmanager
def export_content(path: str, *, dialect_name: str | None = None) -> Iterator[Content]:
    """The contents of the embedded store at `path`, which must not be in use. Raises StoreError, also for another
    dialect than `dialect_name` (None: any)."""
    path = os.path.abspath(path)
    try:
        # Checked before the lock, which would create a file in a folder without a store.
        summary = check_copy(path, dialect_name=dialect_name)
        lock = FileLock(path)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error}") from error
    try:
        refuse_bad_values(path, summary)
        header, loaded = examine(path, None, inf)
        yield Content(
            dialect_name=header.dialect_name,
            revision=loaded.revision,
            # Without what served stores keep beside objects.
            items=[item for item in loaded.items if item.key.startswith("/")],
            expires=expirations(loaded),
        )
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {path}: {error}") from error
    finally:
        lock.release()


def expirations(loaded: Loaded) -> dict[str, float]:
    """When keys end, in epoch seconds: those with a time to live, and those of leases, which have their whole time
    again."""
    now = time.time()
    leased = {item.key: now + loaded.grants.get(lease_of(item), 0) for item in loaded.items if lease_of(item)}
    return leased | {key: end for end, key, _ in loaded.leases}


def import_content(path: str, content: Content) -> Summary:
    """Create a store with `content` at its revisions, without history. Raises StoreError."""
    path = os.path.abspath(path)
    partial = path + ".partial"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        lock = FileLock(path)
        try:
            if os.path.exists(path):
                raise StoreError(f"there is a store at {path} already")
            highwater = read_highwater(path)
            if highwater is not None and highwater >= content.revision:
                # A previous store here used these versions for other writes.
                content = replace(content, revision=highwater + 1)
            write_file(partial, content)
            os.rename(partial, path)
            sync(os.path.dirname(path))
            set_highwater(path, content.revision)
            give_to_owner(path, path + ".lock", highwater_file(path))
        finally:
            lock.release()
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot make the store {path}: {error}") from error
    return check_copy(path)


def write_file(path: str, content: Content) -> None:
    """Create a database file with `content`, complete and synced. Raises sqlite3.Error, OSError, and leaves no file
    then."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    try:
        _write(path, content)
        sync(path)
    except BaseException:
        os.unlink(path)
        raise


def _write(path: str, content: Content) -> None:
    connection = connect(path)
    try:
        create(connection, content.dialect_name)
        connection.execute("BEGIN IMMEDIATE")
        last, used = content.revision, set[int]()
        for item in content.items:
            revision = item.revision
            if revision in used:
                # Keys written in one etcd transaction share a revision; here each needs its own.
                last += 1
                revision = last
            used.add(revision)
            row = (revision, item.key, item.created, 0, 0, content.expires.get(item.key, 0.0), item.value)
            connection.execute(f"INSERT INTO log ({COLUMNS}) VALUES (?,?,?,?,?,?,?,?)", (*row, row_sum(*row)))
        connection.execute("UPDATE meta SET value = ? WHERE name = 'compacted'", (str(last),))
        connection.execute("COMMIT")
        # A single file, without a write-ahead log.
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    finally:
        connection.close()
