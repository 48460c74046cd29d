"""Salvage: a new store from the readable part of a damaged one, accepting data loss."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from orchd.store.backup import give_to_owner, move_store
from orchd.store.export import Content, expirations, write_file
from orchd.store.highwater import highwater_file, read_highwater, set_highwater
from orchd.store.interfaces import DamagedValue, StoreError
from orchd.store.loading import Header, Loaded, Loading, check_dialect, is_garbled, read_grants, rows_query
from orchd.store.locking import FileLock
from orchd.store.open_errors import StoreDamagedError
from orchd.store.opening import examine, refuse_gone
from orchd.store.schema import connect, delete_store, sync, version_by_tables

#: Number of skipped revisions, so that no version that a client may have seen is reused.
_SKIP: Final = 1_000_000
#: Consecutive failures after which revisions are skipped faster, and how far to scan if the last revision is unknown.
_PATIENCE: Final = 1000
_FURTHER: Final = 100_000
#: Length of SQLite's header, its part that says how to write and read, and those that are equal in all files of stores:
#: the magic text and page size; payload fractions; schema format; text encoding
#: (https://www.sqlite.org/fileformat2.html, "The Database Header").
_HEADER_SIZE: Final = 100
_FORMAT: Final = 18
_CONSTANT: Final = ((0, 18), (20, 24), (44, 48), (56, 60))


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """Number of `keys` kept. `lost_keys` had damaged values, `lost_rows` are revisions of damaged rows, `complete` is
    True if everything else was readable. `damaged` is the new path of the damaged store."""

    revision: int
    keys: int
    lost_keys: Sequence[str]
    lost_rows: int
    complete: bool
    damaged: str


def salvage(path: str, usual: str, *, dialect_name: str | None = None) -> Salvaged:
    """Replace the damaged store `path`, which must not be in use, by one with its readable contents, at later revisions
    and without history. Where the last write of a key is lost, an older state of it may reappear. The damaged store is
    kept beside it. `usual` is the dialect where the store does not tell its own. Raises StoreError, also for another
    dialect than `dialect_name` (None: any)."""
    path = os.path.abspath(path)
    if not os.path.exists(path) and read_highwater(path) is None and not os.path.exists(path + "-wal"):
        raise StoreError(f"there is no store at {path}")
    try:
        lock = FileLock(path)
        try:
            if not _is_damaged(path):
                raise StoreError(f"the store {path} is not damaged: nothing was changed")
            return _salvage(path, usual, dialect_name)
        finally:
            lock.release()
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot salvage {path}: {error}") from error


def _is_damaged(path: str) -> bool:
    try:
        refuse_gone(path)
        _, loaded = examine(path, None, inf)
    except StoreDamagedError:
        return True
    except sqlite3.OperationalError:
        # A disk error, not damage.
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return True
    return bool(loaded.bad_values or loaded.bad_history)


def _salvage(path: str, usual: str, dialect_name: str | None) -> Salvaged:
    highwater = read_highwater(path) or 0
    header, loaded, complete = _read(path, usual, highwater)
    if is_garbled(header, usual):
        header = replace(header, dialect_name=usual)
    if dialect_name is not None:
        check_dialect(header, path, dialect_name)
    items = [item for item in loaded.items if item.value.__class__ is not DamagedValue]
    revision = max(highwater, loaded.revision) + _SKIP
    expires = expirations(loaded)
    content = Content(dialect_name=header.dialect_name, revision=revision, items=items, expires=expires)
    partial, damaged = path + ".partial", path + ".damaged"
    write_file(partial, content)
    move_store(path, damaged)
    os.rename(partial, path)
    sync(os.path.dirname(path))
    set_highwater(path, revision)
    give_to_owner(path, path + ".lock", highwater_file(path))
    return Salvaged(
        revision=revision,
        keys=len(items),
        lost_keys=loaded.bad_values,
        lost_rows=len(loaded.bad_rows),
        complete=complete,
        damaged=damaged,
    )


def _read(path: str, usual: str, highwater: int) -> tuple[Header, Loaded, bool]:
    """The readable contents, and whether they are complete up to the last known revision."""
    nothing = Header(version=0, dialect_name=usual, compacted=1), Loading().done(1, {}), False
    try:
        refuse_gone(path)
    except StoreDamagedError:
        return nothing
    copy = path + ".readable"
    try:
        try:
            return _read_database(path, usual, highwater)
        except sqlite3.DatabaseError:
            _copy_with_header(path, copy)
            return _read_database(copy, usual, highwater)
    except sqlite3.DatabaseError:
        return nothing
    finally:
        delete_store(copy)


def _copy_with_header(path: str, copy: str) -> None:
    """Copy a database and its journal, with the parts of the header that are equal in all stores as they were."""
    write_file(copy, Content(dialect_name="", revision=1, items=(), expires={}))
    with open(copy, "rb") as file:
        usual = file.read(_HEADER_SIZE)
    for suffix in ("", "-wal"):
        if os.path.exists(path + suffix):
            shutil.copyfile(path + suffix, copy + suffix)
    with open(copy, "r+b") as file:
        for start, end in _CONSTANT:
            file.seek(start)
            file.write(usual[start:end])
        # The format of files with a write-ahead log, which `write_file` turns off.
        file.seek(_FORMAT)
        file.write(b"\2\2")


def _read_database(path: str, usual: str, highwater: int) -> tuple[Header, Loaded, bool]:
    """The readable contents, and whether they are complete up to `highwater`. Raises sqlite3.DatabaseError if nothing
    is."""
    connection = connect(path, read_only=True)
    try:
        # Invalid text must not stop the reading; its row fails the checksum.
        connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        # Otherwise SQLite refuses a file that is shorter than its header says.
        connection.execute("PRAGMA writable_schema = ON")
        header = _read_header(connection, usual)
        loading = Loading()
        complete = _read_rows(connection, header.version, loading, highwater)
        grants: dict[int, int] = {}
        with suppress(sqlite3.DatabaseError):
            grants = read_grants(connection, header.version)
    finally:
        connection.close()
    loaded = loading.done(header.compacted, grants)
    return header, loaded, complete and loaded.revision >= highwater


def _read_header(connection: sqlite3.Connection, usual: str) -> Header:
    """The header, reconstructed from the tables. Raises sqlite3.DatabaseError."""
    meta: dict[str, str] = {}
    with suppress(sqlite3.DatabaseError):
        meta |= connection.execute("SELECT name, value FROM meta")
    compacted = meta.get("compacted", "")
    return Header(
        version=version_by_tables(connection),
        dialect_name=meta.get("dialect", usual),
        compacted=int(compacted) if compacted.isdecimal() else 1,
    )


def _read_rows(connection: sqlite3.Connection, version: int, loading: Loading, highwater: int) -> bool:
    """Read every readable row; True if none was skipped."""
    query, at, failures, complete = rows_query(version), 0, 0, True
    upto = max(highwater, _last(connection)) or _FURTHER
    while True:
        try:
            for row in connection.execute(query, (at,)):
                if row[0] <= at:
                    raise sqlite3.DatabaseError("a broken page leads backwards")
                at, failures = row[0], 0
                try:
                    loading.take(*row)
                except (TypeError, ValueError, AttributeError):
                    complete = False
            return complete
        except sqlite3.DatabaseError:
            # A broken page: continue after it.
            complete = False
            failures += 1
            at += 1 + failures // _PATIENCE
            if at > upto:
                return False


def _last(connection: sqlite3.Connection) -> int:
    try:
        return int(connection.execute("SELECT max(revision) FROM log").fetchone()[0] or 0)
    except sqlite3.DatabaseError:
        return 0
