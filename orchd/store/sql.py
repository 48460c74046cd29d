"""SQL statements of the embedded store: append, compact, read history. Run in the threads that own the connections.

SQLite releases the GIL around every step of a statement and has to reacquire it from a busy reactor after each, so a
batch is one statement with many rows (or a few), not many statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from orchd.store.checksums import check_value, row_sum
from orchd.store.interfaces import Event, EventType, KeyValue
from orchd.store.records import Record, Recorded, event_row, lease_of, row_of, version_of
from orchd.store.schema import COLUMNS
from orchd.store.single_process import Write

_ROW = "(?,?,?,?,?,?,?,?,?,?,?)"
_WIDTH = 11
#: Rows per statement: few enough sizes that SQLite's compiled statements are all reused.
_SIZES = (64, 32, 16, 8, 4, 2, 1)
_INSERT = {n: f"INSERT INTO log ({COLUMNS}, version, lease, txn) VALUES " + ",".join([_ROW] * n) for n in _SIZES}

#: Version, lease and txn of a row that no transaction wrote.
_PLAIN: tuple[None, None, None] = (None, None, None)

#: Revisions per compaction step: writes run between steps.
COMPACTION_STEP = 1000
#: Pages released to the file system per step.
_VACUUM_PAGES = 512
#: Limits of one batch of history read for a watch.
_PIECE_EVENTS = 1000

_PAST = """
SELECT e.revision, e.key, e.created, e.deleted, CAST(e.value AS BLOB), e.sum, e.version, e.lease, e.txn,
    p.revision, CAST(p.value AS BLOB), p.sum, p.created, p.version, p.lease, p.txn
FROM log AS e LEFT JOIN log AS p ON p.revision = e.prev
WHERE e.revision > ? AND e.revision <= ? AND e.key >= ? AND (? IS NULL OR e.key < ?)
ORDER BY e.revision LIMIT ?
"""
# What the first write after a revision replaced is the state at that revision.
_UNDONE = """
SELECT key, CAST(value AS BLOB), sum, revision, created, version, lease, txn FROM log WHERE revision IN (
    SELECT prev FROM log
    WHERE revision > ?1 AND revision <= ?2 AND prev > 0 AND prev <= ?1 AND key >= ?3 AND (?4 IS NULL OR key < ?4)
)
"""


def append(connection: sqlite3.Connection, batch: Sequence[Write]) -> int:
    """Commit the writes of a batch, all or none; returns their number. Raises sqlite3.Error."""
    rows: list[object] = []
    count = 0
    for write in batch:
        event = write.event
        if event is None:
            continue
        count += 1
        previous = event.previous
        more = _more(event) if isinstance(event, Recorded) else _PLAIN
        row = (
            event_row(event),
            event.key,
            event.created,
            row_of(previous),
            write.item is None,
            write.expires,
            event.value,
        )
        rows += row
        rows.append(row_sum(*row, *more))
        rows += more
    if count in _INSERT:
        # A single statement is its own transaction.
        connection.execute(_INSERT[count], rows)
    elif count:
        connection.execute("BEGIN IMMEDIATE")
        try:
            done = 0
            for size in _SIZES:
                while count - done >= size:
                    connection.execute(_INSERT[size], rows[done * _WIDTH : (done + size) * _WIDTH])
                    done += size
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise
    return count


def _more(event: Recorded) -> tuple[int, int, int | None]:
    """Version, lease and txn of a row."""
    return version_of(event.item), lease_of(event.item), event.revision if event.row != event.revision else None


def keep_lease(connection: sqlite3.Connection, lease: int, ttl: int) -> None:
    """Record a lease. Raises sqlite3.Error."""
    connection.execute("INSERT OR REPLACE INTO lease VALUES (?, ?)", (lease, ttl))


def drop_lease(connection: sqlite3.Connection, lease: int) -> None:
    """Forget a lease. Raises sqlite3.Error."""
    connection.execute("DELETE FROM lease WHERE id = ?", (lease,))


def roll_back(connection: sqlite3.Connection) -> None:
    """Roll back a failed transaction; SQLite may have done so itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def compact_step(connection: sqlite3.Connection, low: int, high: int) -> None:
    """Delete the rows that writes above `low` and up to `high` replaced, and deletions among those writes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "DELETE FROM log WHERE revision IN (SELECT prev FROM log WHERE revision > ? AND revision <= ? AND "
            "prev > 0)",
            (low, high),
        )
        connection.execute("DELETE FROM log WHERE revision > ? AND revision <= ? AND deleted = 1", (low, high))
        # Concurrent compactions: the one behind must not lower the compacted revision.
        connection.execute(
            "UPDATE meta SET value = ? WHERE name = 'compacted' AND CAST(value AS INTEGER) < ?", (str(high), high)
        )
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def vacuum_step(connection: sqlite3.Connection) -> bool:
    """Release some free pages; True if there are more."""
    free: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    # One page per step of the statement; as a script because `execute` stops at the first row without columns.
    connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
    return free > _VACUUM_PAGES


def checkpoint(connection: sqlite3.Connection) -> None:
    """Checkpoint the write-ahead log and truncate it. Does not wait for readers."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def probe(connection: sqlite3.Connection) -> None:
    """Try to write. Raises sqlite3.Error."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'probe'")


def past_events(
    connection: sqlite3.Connection, low: str, high: str | None, after: int, upto: int
) -> tuple[list[Event], int]:
    """A batch of events of a key range above `after`, and the revision up to which they are complete."""
    events = _events(connection, low, high, after, upto, _PIECE_EVENTS)
    if len(events) < _PIECE_EVENTS:
        return events, upto
    last, row = events[-1].revision, event_row(events[-1])
    # The rest of a transaction, which is delivered whole.
    return events + (_events(connection, low, high, row, last, last - row) if row < last else []), last


def _events(
    connection: sqlite3.Connection, low: str, high: str | None, after: int, upto: int, limit: int
) -> list[Event]:
    """The first events of a key range whose rows are above `after`."""
    events: list[Event] = []
    for row, key, created, deleted, value, total, version, lease, txn, prev, *old in connection.execute(
        _PAST, (after, upto, low, high, high, limit)
    ):
        previous = None if prev is None else _item(key, (*old[:2], prev, *old[2:]))
        if version is None:
            kind = EventType.DELETE if deleted else EventType.PUT
            events.append(Event(kind, key, check_value(value, total), row, created, previous))
            continue
        item = None if deleted else _item(key, (value, total, row, created, version, lease, txn))
        events.append(
            # A version makes it a Record.
            Recorded(key, item, revision=txn or row, row=row, created=created, previous=previous)  # type: ignore[arg-type]
        )
    return events


def _item(key: str, columns: Sequence[Any]) -> KeyValue:
    """The item of a row: value, sum, row, created, version, lease, txn."""
    value, total, row, created, version, lease, txn = columns
    checked = check_value(value, total)
    if version is None:
        return KeyValue(key, checked, row, created)
    return Record(key, checked, txn or row, created, version=version, lease=lease, row=row)


def values_before(
    connection: sqlite3.Connection, low: str, high: str | None, revision: int, upto: int
) -> list[KeyValue]:
    """The values at `revision` of the keys in a range that were written between it and `upto`."""
    rows = connection.execute(_UNDONE, (revision, upto, low, high))
    return [_item(key, columns) for key, *columns in rows]
