"""The embedded store: one SQLite file, write-ahead log, full sync, one writer thread with group commit.

Writes are decided in the reactor's thread (`core`) and appended by the writer thread; those that arrive during a commit
share the next one, and the reactor is notified once per batch. History older than the events in memory is read in a
second thread, on its own connection.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred, fail, succeed
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.store import disk_errors, sql
from orchd.store.backup import write_backup
from orchd.store.compaction import USUAL_HISTORY, Compaction, HistoryLimits
from orchd.store.highwater import HighWater
from orchd.store.interfaces import Event, KeyValue, StoreError, UnavailableError
from orchd.store.keys import prefix_end
from orchd.store.locking import FileLock
from orchd.store.metrics import CommitMetrics, size_gauge
from orchd.store.opening import Found, examine, open_for_writing, open_store
from orchd.store.records import item_of, lease_of
from orchd.store.schema import connect
from orchd.store.serving.interfaces import IServedStore
from orchd.store.single_process import SingleProcessStore, Write
from orchd.store.worker import Worker

#: Maximum writes per commit; more wait for the next.
_BATCH = 1024
#: Seconds between write attempts after a failed write.
_PROBE = 1.0
#: SQLite errors after which a commit certainly did not happen. After any other, such as a failed sync, its bytes may be
#: in the journal, and a process that opens the file later may find them.
_NOT_COMMITTED = (
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR_WRITE,
)  # fmt: skip


@implementer(IServedStore)
class SqliteStore(SingleProcessStore):
    """`path` is the data file. `history_events` limits persisted history by number, `history_seconds` by time;
    `recent_events` and `recent_bytes` limit its part in memory. `check_seconds` limits the check of the file at start.

    `switch_interval` is set as the interpreter's (`sys.setswitchinterval`, seconds) while the store is open, if that is
    longer; 0 leaves it unchanged. After a commit the writer thread needs the GIL to report it. A busy reactor releases
    it only briefly, around system calls, each of which restarts the writer's wait for a forced switch: with the default
    of 5 ms, commits of a fully busy process took seconds, with this one no longer than the reactor's turn.

    `metrics` counts its commits.
    """

    def __init__(
        self,
        reactor: Any,
        path: str | os.PathLike[str],
        *,
        dialect_name: str,
        history: HistoryLimits = USUAL_HISTORY,
        check_seconds: float = 3.0,
        switch_interval: float = 0.000_05,
    ) -> None:
        super().__init__(reactor, recent_events=history.recent_events, recent_bytes=history.recent_bytes)
        self.path = os.path.abspath(os.fspath(path))
        self.metrics = CommitMetrics()
        self.instruments = (*self.instruments, *self.metrics.instruments, size_gauge(self.file_size))
        self._dialect_name = dialect_name
        self._threads: IReactorFromThreads = reactor
        self._check_seconds = check_seconds
        self._switch_interval = switch_interval
        self._switch_interval_before = 0.0
        self._compaction = Compaction(
            self, reactor, interval=history.compaction_interval, keep=history.seconds, most=history.events
        )
        self._lock: FileLock | None = None
        self._writer: Worker
        self._reader: Worker
        #: Each is used in its worker's thread only. None while resources for a connection are lacking.
        self._connection: sqlite3.Connection | None = None
        self._reading: sqlite3.Connection | None = None
        self._mark: HighWater | None = None
        #: True if the writer was notified but has not yet read the queue.
        self._scheduled = False
        #: True if the last commit had several writes, or others were submitted during it. The next one then begins at
        #: the end of the reactor turn.
        self._concurrent = False
        #: Set by the writer when a commit fails: no writes until the reactor has handled it.
        self._broken = False
        #: True after a commit with unknown outcome: the file must be read before the next write.
        self._uncertain = False
        #: True after an error of SQLite that may be one of the disk: the file is examined before it is used again.
        self._suspect = False
        self._trouble = ""
        self._probing: Any = None
        self._stopping: Deferred[None] | None = None

    # Lifecycle.

    def healthy(self) -> str:
        return self._refusal or self._trouble

    def start(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> None:
        directory = os.path.dirname(self.path)
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            self._lock = FileLock(self.path)
        except OSError as error:
            raise UnavailableError(f"cannot open the store {self.path}: {error}") from error
        self._writer = Worker(self._reactor, "store-writer")
        try:
            opened = await self._writer.run(
                partial(open_store, self.path, self._dialect_name, lock=self._lock, check_seconds=self._check_seconds)
            )
        except BaseException:
            self._writer.stop()
            self._lock.release()
            self._lock = None
            raise
        self._reader = Worker(self._reactor, "store-reader")
        if opened.connection is not None:
            await self._reader.run(self._connect_reader)
        self._begin(opened)

    def _begin(self, opened: Found) -> None:
        self._connection = opened.connection
        loaded = opened.loaded
        self._load(loaded.items, loaded.revision, opened.compacted, loaded.joint)
        if loaded.bad_values:
            self._log.error(
                "{number} values of {path} are damaged (checksum mismatch) and not served: {keys}; delete these "
                "objects, or restore a backup",
                number=len(loaded.bad_values), path=self.path, keys=", ".join(loaded.bad_values[:20]),
            )  # fmt: skip
        self._writer.post(self._open_mark)
        self._refusal = ""
        if 0 < self._switch_interval < sys.getswitchinterval():
            self._switch_interval_before = sys.getswitchinterval()
            sys.setswitchinterval(self._switch_interval)
        self._leases.load(loaded.leases)
        self.grants.load(loaded.grants)
        for item in loaded.items:
            if lease_of(item):
                self.grants.attach(lease_of(item), item.key)
        self._compaction.start()
        if opened.trouble:
            self._in_trouble(opened.trouble)

    def _connect_reader(self) -> None:
        self._reading = connect(self.path, read_only=True)

    def _open_mark(self) -> None:
        """Open the high-water mark, in the writer's thread."""
        try:
            self._mark = HighWater(self.path)
        except OSError as error:
            # Without it less damage is detected; retried when the store can write.
            self._log.warn("failed to open the high-water mark of the store: {why}", why=str(error))
        else:
            self._mark.write(self.revision)

    def stop(self) -> Deferred[None]:
        if self._refusal:
            return succeed(None)
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        # New writes are rejected, queued ones are written.
        self._refusal = "the store is stopped"
        self._leases.stop()
        self.grants.stop()
        await self._compaction.stop()
        if self._probing is not None:
            self._probing.cancel()
            self._probing = None
        while self._queue:
            await self._writer.run(lambda: None)
        if self._reading is not None:
            await self._reader.run(self._reading.close)
        if self._connection is not None:
            await self._writer.run(self._connection.close)
        self._reader.stop()
        self._writer.stop()
        self._close(self._refusal)
        if self._switch_interval_before:
            sys.setswitchinterval(self._switch_interval_before)
        if self._mark is not None:
            self._mark.close()
            self._mark = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def file_size(self) -> int:
        """Size on disk in bytes: the file and its write-ahead log."""
        size = 0
        for suffix in ("", "-wal"):
            with suppress(OSError):
                size += os.stat(self.path + suffix).st_size
        return size

    # Writing: in the reactor's thread ...

    def _start_commit(self) -> None:
        if self._scheduled:
            return
        self._scheduled = True
        if self._concurrent:
            # Further writes of this reactor turn are likely: they share the commit.
            self._reactor.callLater(0, self._writer.post, self._commit)
        else:
            self._writer.post(self._commit)

    def _wrote(self, batch: Sequence[Write], count: int, seconds: float) -> None:
        self.metrics.observe_commit(count, seconds)
        self._concurrent = len(batch) > 1 or len(self._pending) > 1
        if count and self._trouble:
            self._recovered()
        self._committed(batch)
        self._compaction.wrote()

    def _not_written(self, batch: Sequence[Write], error: Exception, reason: str) -> None:
        self.metrics.failed.add()
        if isinstance(error, _NoWritingError):
            why = self._trouble
        else:
            self._suspect = self._suspect or disk_errors.is_malformed(error)
            why = self._in_trouble(reason)
            if not _certain(error):
                self._uncertain = True
                why = f"{why}; the write may have been applied or not"
        failed = self._discard_pending(batch)
        # Only now: the writer must not see writes decided after the failed batch, but must see later ones.
        self._broken = False
        for write in failed:
            write.deferred.errback(UnavailableError(why))

    def _in_trouble(self, why: str) -> str:
        trouble = f"the store cannot write: {why} ({self.path})"
        if trouble != self._trouble:
            self._log.error("{trouble}", trouble=trouble)
        self._trouble = trouble
        if self._probing is None and not self._refusal:
            self._probing = self._reactor.callLater(_PROBE, self._probe)
        return trouble

    def _recovered(self) -> None:
        self._log.info("the store is writable again")
        self._trouble = ""
        if self._probing is not None and self._probing.active():
            self._probing.cancel()
        self._probing = None
        if self._mark is None:
            self._writer.post(self._open_mark)

    def _probe(self) -> None:
        self._probing = None
        Deferred.fromCoroutine(self._try_again()).addErrback(
            lambda failure: ensureDeferred(self._probe_failed(failure))
        )

    async def _try_again(self) -> None:
        """Test whether writing works, and read the file after a commit with unknown outcome."""
        if self._suspect:
            await self._disconnect()
            await self._writer.run(partial(examine, self.path, self._dialect_name, self._check_seconds))
            self._suspect = False
        if self._connection is None:
            self._connection = await self._writer.run(partial(open_for_writing, self.path, self._dialect_name))
        if self._reading is None:
            await self._reader.run(self._connect_reader)
        writable = await self._writer.run(partial(self._test_write, self._connection))
        if writable:
            # The failed commit is in the file after all.
            self._log.warn("{count} writes that were reported as failed have been committed", count=len(writable))
            outdated = self._discard_pending(())
            self._committed([_write_of(event) for event in writable])
            self._next = self.revision + 1
            self._broken = False
            for write in outdated:
                write.deferred.errback(UnavailableError(self._trouble))
        self._uncertain = False
        if self._trouble:
            self._recovered()

    async def _disconnect(self) -> None:
        """Close the connections, the writable one first: the last one would move the journal into the database."""
        connection, self._connection = self._connection, None
        reading, self._reading = self._reading, None
        if connection is not None:
            await self._writer.run(connection.close)
        if reading is not None:
            await self._reader.run(reading.close)

    async def _probe_failed(self, failure: Failure) -> None:
        if failure.check(sqlite3.Error, OSError, StoreError) is None:
            self._log.failure("probing the store failed", failure)
        error = failure.value
        assert error is not None, "an errback has an exception"
        self._suspect = self._suspect or disk_errors.is_malformed(error)
        if not self._refusal:
            self._in_trouble(await self._writer.run(partial(disk_errors.reason, self.path, error)))

    # ... and in the writer's.

    def _test_write(self, connection: sqlite3.Connection) -> list[Event]:
        """Test writing, and read events in the file that are not in memory. Raises sqlite3.Error."""
        sql.probe(connection)
        events: list[Event] = []
        upto = self.revision
        while upto < sys.maxsize:
            piece, upto = sql.past_events(connection, "", None, upto, sys.maxsize)
            events += piece
        # Queued writes were decided without them.
        self._broken = bool(events)
        return events

    def _commit(self) -> None:
        # In this order: a write queued after the read then sees the cleared flag and posts its own job.
        self._scheduled = False
        if self._broken:
            return
        batch: list[Write] = []
        queue = self._queue
        while queue and len(batch) < _BATCH:
            write = queue.popleft()
            batch.append(write)
            batch += write.rest
        if not batch:
            return
        began = time.perf_counter()
        try:
            if self._connection is None or self._uncertain:
                raise _NoWritingError
            count = sql.append(self._connection, batch)
        except Exception as error:
            # Any exception: the writers must get it, and the thread must continue.
            self._broken = True
            self._threads.callFromThread(self._not_written, batch, error, disk_errors.reason(self.path, error))
            return
        self._threads.callFromThread(self._wrote, batch, count, time.perf_counter() - began)
        if count and self._mark is not None:
            self._mark.write(_last_revision(batch))
        if len(batch) >= _BATCH:
            # Later writes have posted their own job, or will at the end of the reactor turn.
            self._writer.post(self._commit)

    def _keep_lease(self, lease: int, ttl: int) -> Deferred[None]:
        return self._change_lease(partial(sql.keep_lease, lease=lease, ttl=ttl))

    def _drop_lease(self, lease: int) -> Deferred[None]:
        return self._change_lease(partial(sql.drop_lease, lease=lease))

    def _change_lease(self, change: Callable[[sqlite3.Connection], None]) -> Deferred[None]:
        connection = self._connection
        if connection is None or self._trouble:
            return fail(UnavailableError(self._trouble or self._refusal))

        def run() -> None:
            try:
                change(connection)
            except sqlite3.Error as error:
                reason = disk_errors.reason(self.path, error)
                raise UnavailableError(f"the store cannot write a lease: {reason} ({self.path})") from error

        return self._writer.run(run)

    # History.

    def _trim(self) -> None:
        """Drop half of the events, so that it is rare; the file has them too."""
        last = self._recent_start + len(self._recent) // 2
        self._drop_recent(lambda event: event.revision <= last)

    def _older(self, prefix: str, after: int, upto: int) -> Deferred[tuple[list[Event], int]]:
        high = prefix_end(prefix)
        return self._read(lambda: sql.past_events(_open(self._reading), prefix, high, after, upto))

    def _undone_since(self, low: str, high: str | None, revision: int, upto: int) -> Deferred[list[KeyValue]]:
        return self._read(lambda: sql.values_before(_open(self._reading), low, high, revision, upto))

    def _read(self, job: Any) -> Deferred[Any]:
        if self._reading is None:
            return fail(UnavailableError(f"the store cannot read its history: {self._trouble}"))
        return self._reader.run(partial(self._run_read, job))

    def _run_read(self, job: Callable[[], Any]) -> Any:
        """Run a job of the reader in its thread. Raises UnavailableError."""
        try:
            return job()
        except sqlite3.Error as error:
            reason = disk_errors.reason(self.path, error)
            raise UnavailableError(f"the store cannot read its history: {reason} ({self.path})") from error

    def _forget(self, revision: int) -> Deferred[None]:
        return ensureDeferred(self._forget_stepwise(revision))

    async def _forget_stepwise(self, revision: int) -> None:
        """Each step is a separate job of the writer, so that writes can run in between."""
        connection = self._connection
        if connection is None:
            raise UnavailableError(f"cannot compact: {self._trouble}")
        try:
            low = await self._writer.run(lambda: _compacted_revision(connection))
            while low < revision and not self._refusal:
                # At the end of a transaction, never in the middle of one.
                high = self.visible_revision(min(revision, low + sql.COMPACTION_STEP))
                if high <= low:
                    high = revision
                await self._writer.run(partial(sql.compact_step, connection, low, high))
                low = high
            while not self._refusal and await self._writer.run(lambda: sql.vacuum_step(connection)):
                pass
            if not self._refusal:
                # Without this a store without writes would never shrink.
                await self._writer.run(lambda: sql.checkpoint(connection))
        except sqlite3.Error as error:
            raise UnavailableError(f"cannot compact: {error} ({self.path})") from error

    async def backup(self, path: str | os.PathLike[str]) -> int:
        """Copy the store, as of now or slightly later, into a new file while it is in use.

        Returns the revision of the copy. Raises StoreError when the file exists or cannot be written. The copy is
        complete when its name appears.
        """
        if self._refusal:
            raise UnavailableError(self._refusal)
        worker = Worker(self._reactor, "store-backup")
        try:
            return await worker.run(lambda: write_backup(self.path, os.path.abspath(os.fspath(path))))
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"cannot back up to {os.fspath(path)}: {error}") from error
        finally:
            worker.stop()


def _compacted_revision(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT value FROM meta WHERE name = 'compacted'").fetchone()[0])


class _NoWritingError(Exception):
    """A commit was not attempted."""


def _certain(error: Exception) -> bool:
    """True if the commit that failed with `error` certainly did not happen."""
    if not isinstance(error, sqlite3.Error):
        return False
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code in _NOT_COMMITTED or code & 0xFF in _NOT_COMMITTED


def _open(connection: sqlite3.Connection | None) -> sqlite3.Connection:
    assert connection is not None, "nothing is read before there is a connection"
    return connection


def _write_of(event: Event) -> Write:
    """A write without a waiter."""
    write = Write(event, item_of(event))
    write.deferred.addErrback(lambda _: None)
    return write


def _last_revision(batch: Sequence[Write]) -> int:
    return max(write.event.revision for write in batch if write.event is not None)
