"""Loads a database file in one pass in the order of revisions, and verifies checksums."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from orchd.dialect import DIALECTS
from orchd.store import schema
from orchd.store.checksums import Verdict, verify
from orchd.store.interfaces import DamagedValue, KeyValue
from orchd.store.open_errors import DialectMismatchError, ForeignFileError, NewerSchemaError, StoreDamagedError
from orchd.store.records import Record, row_of

#: A value whose type was changed to text is damaged like any other changed value.
_ROWS = """
SELECT revision, key, created, prev, deleted, expires, CAST(value AS BLOB), {}, {} FROM log WHERE revision > ? ORDER BY revision
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Metadata of a database."""

    version: int
    dialect_name: str
    compacted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Current `items`; damaged values are DamagedValue. `leases` are (expires, key, revision). `bad_rows` are revisions
    of damaged rows, `bad_values` the current keys with DamagedValue, `bad_history` the revisions of damaged values that
    later writes replaced. `joint` are the first row and the revision of each transaction with several rows, `grants`
    the seconds of leases by id."""

    items: list[KeyValue]
    leases: list[tuple[float, str, int]]
    revision: int
    bad_rows: list[int]
    bad_values: list[str]
    bad_history: list[int]
    joint: list[tuple[int, int]]
    grants: dict[int, int]


def read_header(connection: sqlite3.Connection, path: str) -> Header:
    """Raises ForeignFileError, NewerSchemaError, StoreDamagedError."""
    mark, by_tables = connection.execute("PRAGMA application_id").fetchone()[0], schema.version_by_tables(connection)
    if mark != schema.APPLICATION_ID:
        if not by_tables:
            raise ForeignFileError(path)
        raise StoreDamagedError(
            path, f"its header has the application id {mark:#x} instead of {schema.APPLICATION_ID:#x}"
        )
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > schema.SCHEMA_VERSION:
        raise NewerSchemaError(path, version, schema.SCHEMA_VERSION)
    if version < 1 or min(version, schema.WITH_TRANSACTIONS) != by_tables:
        raise StoreDamagedError(path, f"its header has schema version {version}, which does not fit its tables")
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    try:
        return Header(version=version, dialect_name=meta["dialect"], compacted=int(meta["compacted"]))
    except (KeyError, ValueError) as error:
        raise StoreDamagedError(path, f"its table meta has no good value of {error}") from error


def check_dialect(header: Header, path: str, dialect_name: str) -> None:
    """Raises DialectMismatchError, and StoreDamagedError if no server can have written the name in the database."""
    if is_garbled(header, dialect_name):
        raise StoreDamagedError(path, f"its table meta names the dialect {header.dialect_name!r}")
    if header.dialect_name != dialect_name:
        raise DialectMismatchError(path, header.dialect_name, dialect_name)


def is_garbled(header: Header, dialect_name: str) -> bool:
    """True if `header` names no dialect, as opposed to one other than `dialect_name`."""
    return header.dialect_name not in (*DIALECTS, dialect_name) and dialect_name in DIALECTS


def rows_query(version: int) -> str:
    """The query for rows above a revision, in order, of a database with schema `version`."""
    return _ROWS.format(
        "sum" if version >= schema.WITH_SUMS else "NULL",
        "version, lease, txn" if version >= schema.WITH_TRANSACTIONS else "NULL, NULL, NULL",
    )


class Loading:
    """Processes rows in the order of their revisions; the last one of each key is its current state."""

    def __init__(self) -> None:
        self._items: dict[str, KeyValue] = {}
        self._expires: dict[str, float] = {}
        self._bad_rows: list[int] = []
        self._bad_values: dict[int, str] = {}
        self._joint: list[tuple[int, int]] = []
        self.revision = 0

    def take(
        self,
        revision: int,
        key: str,
        created: int,
        prev: int,
        deleted: int,
        expires: float,
        value: bytes,
        total: int | None,
        version: int | None,
        lease: int | None,
        txn: int | None,
    ) -> None:
        verdict = verify(revision, key, created, prev, deleted, expires, value, total, version, lease, txn)
        row, self.revision = revision, txn or revision
        revision = self.revision
        if verdict is Verdict.BAD_ROW:
            self._bad_rows.append(row)
            return
        if txn is not None and (not self._joint or self._joint[-1][1] != txn):
            self._joint.append((row, txn))
        self._expires.pop(key, None)
        if deleted:
            self._items.pop(key, None)
            return
        if verdict is Verdict.BAD_VALUE:
            self._bad_values[row] = key
            value = DamagedValue(value)
        self._items[key] = (
            KeyValue(key, value, revision, created)
            if version is None
            else Record(key, value, revision, created, version=version, lease=lease or 0, row=row)
        )
        if expires:
            self._expires[key] = expires

    def done(self, compacted: int, grants: Mapping[int, int]) -> Loaded:
        items = self._items
        current = {at: key for at, key in self._bad_values.items() if key in items and row_of(items[key]) == at}
        return Loaded(
            items=list(items.values()),
            leases=[(end, key, items[key].revision) for key, end in self._expires.items()],
            # The last write may have been a deletion that was compacted.
            revision=max(self.revision, compacted),
            bad_rows=self._bad_rows,
            bad_values=list(current.values()),
            bad_history=[at for at in self._bad_values if at not in current],
            joint=[span for span in self._joint if span[1] > compacted],
            grants=dict(grants),
        )


def load(connection: sqlite3.Connection, header: Header, path: str) -> Loaded:
    """Read all rows. Raises sqlite3.Error, and StoreDamagedError for a malformed row."""
    loading = Loading()
    try:
        for row in connection.execute(rows_query(header.version), (0,)):
            loading.take(*row)
    except sqlite3.OperationalError as error:
        if "decode" in str(error):
            # Invalid UTF-8 is damage, not a disk error.
            raise StoreDamagedError(path, str(error)) from error
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise StoreDamagedError(path, f"invalid row in table log: {error}") from error
    return loading.done(header.compacted, read_grants(connection, header.version))


def read_grants(connection: sqlite3.Connection, version: int) -> dict[int, int]:
    """The seconds of the leases of a database with schema `version`, by id. Raises sqlite3.Error."""
    if version < schema.WITH_TRANSACTIONS:
        return {}
    return {int(lease): int(ttl) for lease, ttl in connection.execute("SELECT id, ttl FROM lease")}
