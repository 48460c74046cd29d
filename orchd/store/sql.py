"""SQL statements of the embedded store: append, compact, read history. Run in the threads that own the connections.

SQLite releases the GIL around every step of a statement and has to reacquire it from a busy reactor after each, so a
batch is one statement with many rows (or a few), not many statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from orchd.store.checksums import check_value, row_sum
from orchd.store.interfaces import Event, EventType, KeyValue
from orchd.store.single_process import Write

_ROW = "(?,?,?,?,?,?,?,?)"
_WIDTH = 8
#: Rows per statement: few enough sizes that SQLite's compiled statements are all reused.
_SIZES = (64, 32, 16, 8, 4, 2, 1)
_INSERT = {n: "INSERT INTO log VALUES " + ",".join([_ROW] * n) for n in _SIZES}

#: Revisions per compaction step: writes run between steps.
COMPACTION_STEP = 1000
#: Pages released to the file system per step.
_VACUUM_PAGES = 512
#: Limits of one batch of history read for a watch.
_PIECE_EVENTS = 1000

_PAST = """
SELECT e.revision, e.key, e.created, e.deleted, CAST(e.value AS BLOB), e.sum, p.revision, CAST(p.value AS BLOB), p.sum, p.created
FROM log AS e LEFT JOIN log AS p ON p.revision = e.prev
WHERE e.revision > ? AND e.revision <= ? AND e.key >= ? AND (? IS NULL OR e.key < ?)
ORDER BY e.revision LIMIT ?
"""
# What the first write after a revision replaced is the state at that revision.
_UNDONE = """
SELECT key, CAST(value AS BLOB), sum, revision, created FROM log WHERE revision IN (
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
        row = (
            event.revision,
            event.key,
            event.created,
            0 if previous is None else previous.revision,
            write.item is None,
            write.expires,
            event.value,
        )
        rows += row
        rows.append(row_sum(*row))
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


def roll_back(connection: sqlite3.Connection) -> None:
    """Roll back a failed transaction; SQLite may have done so itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def compact_step(connection: sqlite3.Connection, low: int, high: int) -> None:
    """Delete the rows that writes above `low` and up to `high` replaced, and deletions among those writes."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "DELETE FROM log WHERE revision IN (SELECT prev FROM log WHERE revision > ? AND revision <= ? AND prev > 0)",
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
    events: list[Event] = []
    for revision, key, created, deleted, value, total, prev, old, old_total, old_created in connection.execute(
        _PAST, (after, upto, low, high, high, _PIECE_EVENTS)
    ):
        previous = None if prev is None else KeyValue(key, check_value(old, old_total), prev, old_created)
        kind = EventType.DELETE if deleted else EventType.PUT
        events.append(Event(kind, key, check_value(value, total), revision, created, previous))
    return events, events[-1].revision if len(events) == _PIECE_EVENTS else upto


def values_before(
    connection: sqlite3.Connection, low: str, high: str | None, revision: int, upto: int
) -> list[KeyValue]:
    """The values at `revision` of the keys in a range that were written between it and `upto`."""
    return [
        KeyValue(key, check_value(value, total), at, created)
        for key, value, total, at, created in connection.execute(_UNDONE, (revision, upto, low, high))
    ]
