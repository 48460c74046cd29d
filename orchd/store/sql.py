"""The statements of the embedded store: append, compact, look back. Used in the threads that own the connections.

SQLite gives up the interpreter's lock around every step of a statement and has to win it back from a busy reactor
after each, so a batch is one statement with many rows (or a few), not many statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from orchd.store.checksums import checked, row_sum
from orchd.store.core import Write
from orchd.store.interfaces import Event, EventType, KeyValue

_ROW = "(?,?,?,?,?,?,?,?)"
_WIDTH = 8
#: Rows per statement: few enough sizes that SQLite's compiled statements are all reused.
_SIZES = (64, 32, 16, 8, 4, 2, 1)
_INSERT = {n: "INSERT INTO log VALUES " + ",".join([_ROW] * n) for n in _SIZES}

#: Revisions per step of compaction: between two steps, writes get their turn.
COMPACTION_STEP = 1000
#: Pages that one step gives back to the file system.
_VACUUM_PAGES = 512
#: Bounds of one piece of history that is read for a watch.
_PIECE_EVENTS = 1000

_PAST = """
SELECT e.revision, e.key, e.created, e.deleted, CAST(e.value AS BLOB), e.sum, p.revision, CAST(p.value AS BLOB), p.sum, p.created
FROM log AS e LEFT JOIN log AS p ON p.revision = e.prev
WHERE e.revision > ? AND e.revision <= ? AND e.key >= ? AND (? IS NULL OR e.key < ?)
ORDER BY e.revision LIMIT ?
"""
# What the first write after a revision replaced is what was there at that revision.
_UNDONE = """
SELECT key, CAST(value AS BLOB), sum, revision, created FROM log WHERE revision IN (
    SELECT prev FROM log
    WHERE revision > ?1 AND revision <= ?2 AND prev > 0 AND prev <= ?1 AND key >= ?3 AND (?4 IS NULL OR key < ?4)
)
"""


def append(connection: sqlite3.Connection, batch: Sequence[Write]) -> int:
    """Make the writes of a batch durable, all or none; returns how many there were. Raises sqlite3.Error."""
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
    """End a transaction that failed; SQLite may have done so itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def compact_step(connection: sqlite3.Connection, low: int, high: int) -> None:
    """Forget what the writes above `low` and up to `high` replaced, and the deletions among them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "DELETE FROM log WHERE revision IN (SELECT prev FROM log WHERE revision > ? AND revision <= ? AND prev > 0)",
            (low, high),
        )
        connection.execute("DELETE FROM log WHERE revision > ? AND revision <= ? AND deleted = 1", (low, high))
        # Two compactions may take turns; the one that is behind must not take back what the other has said.
        connection.execute(
            "UPDATE meta SET value = ? WHERE name = 'compacted' AND CAST(value AS INTEGER) < ?", (str(high), high)
        )
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def vacuum_step(connection: sqlite3.Connection) -> bool:
    """Give some free pages back; is there more to give?"""
    free: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    # One page per step of the statement; as a script because `execute` stops at the first row without columns.
    connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
    return free > _VACUUM_PAGES


def checkpoint(connection: sqlite3.Connection) -> None:
    """Take the write-ahead log into the file, which only then becomes shorter. Waits for nobody who reads."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def probe(connection: sqlite3.Connection) -> None:
    """Try to write. Raises sqlite3.Error."""
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'probe'")


def past_events(
    connection: sqlite3.Connection, low: str, high: str | None, after: int, upto: int
) -> tuple[list[Event], int]:
    """Some of the events of a key range above `after`, and the revision up to which these are all."""
    events: list[Event] = []
    for revision, key, created, deleted, value, total, prev, old, old_total, old_created in connection.execute(
        _PAST, (after, upto, low, high, high, _PIECE_EVENTS)
    ):
        previous = None if prev is None else KeyValue(key, checked(old, old_total), prev, old_created)
        kind = EventType.DELETE if deleted else EventType.PUT
        events.append(Event(kind, key, checked(value, total), revision, created, previous))
    return events, events[-1].revision if len(events) == _PIECE_EVENTS else upto


def undone(connection: sqlite3.Connection, low: str, high: str | None, revision: int, upto: int) -> list[KeyValue]:
    """The values at `revision` of those keys of a range that were written between it and `upto`."""
    return [
        KeyValue(key, checked(value, total), at, created)
        for key, value, total, at, created in connection.execute(_UNDONE, (revision, upto, low, high))
    ]
