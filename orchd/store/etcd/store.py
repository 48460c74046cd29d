"""`ISharedStore` on etcd v3: uses etcd's revisions, so that all servers of a cluster share them."""

from __future__ import annotations

import math
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall, deferLater
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.store.compaction import USUAL_HISTORY, Compaction, HistoryLimits
from orchd.store.etcd import messages
from orchd.store.etcd.channel import Channel
from orchd.store.etcd.failures import CallError, of_write
from orchd.store.etcd.feed import Feed, tells_progress
from orchd.store.etcd.leases import Leases
from orchd.store.etcd.newest import NewestRevision
from orchd.store.etcd.probe import compacted_revision
from orchd.store.etcd.request_durations import BY_FIRST_PART, RequestDurations, RequestLabels
from orchd.store.etcd.servers import Server
from orchd.store.etcd.space import Space
from orchd.store.etcd.submissions import Submissions
from orchd.store.etcd.writes import Write, freeing
from orchd.store.grpc.status import DEADLINE_EXCEEDED
from orchd.store.interfaces import (
    ClaimedError,
    CompactedError,
    FutureRevisionError,
    ISharedStore,
    KeyValue,
    Lent,
    OnEnd,
    OnEvents,
    OnProgress,
    Range,
    StoreError,
    UnavailableError,
)
from orchd.store.metrics import revision_gauge, size_gauge, watchers_gauge
from orchd.store.open_errors import DialectMismatchError, ForeignFileError
from orchd.store.watching import Watch
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import ObservedCounter, ObservedGauge

_log = Logger()
#: Keys per response: with objects of 2 KB some megabytes, between which etcd and the reactor serve others.
_PAGE: Final = 2000
#: Seconds that a call waits for a connection after the start.
_PATIENCE: Final = 3.0
#: Seconds between health checks.
_CHECK: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdOptions:
    """Keys are below `prefix`. A call may take `timeout` seconds, a health check `health_timeout`, and etcd may be
    unreachable for `start_timeout` at start. Keys with the same time to live share a lease for `lease_reuse` seconds;
    the size of the database is measured at most once in `size_interval` (0: never). `trust_progress` overrides what
    etcd's release implies."""

    prefix: str = "/registry"
    timeout: float = 10.0
    health_timeout: float = 10.0
    start_timeout: float = 20.0
    lease_reuse: float = 60.0
    size_interval: float = 30.0
    trust_progress: bool | None = None


@implementer(ISharedStore)
class EtcdStore:
    """Other processes write too, so `revision` is the newest one seen, and advances by more than one.

    `writes` and `restarts` (watches that could not resume) are counted.
    """

    exclusive = False

    def __init__(
        self,
        reactor: IReactorTime,
        servers: Sequence[Server],
        *,
        dialect_name: str,
        options: EtcdOptions = EtcdOptions(),
        history: HistoryLimits = USUAL_HISTORY,
        random: Random,
        requests: RequestLabels = BY_FIRST_PART,
    ) -> None:
        self.restarts = 0
        self._request_durations = RequestDurations(requests)
        self._file_size = 0
        #: Sizes of databases by URL, which are measured at most once in `size_interval` seconds; 0 for never.
        self.database_sizes: dict[str, int] = {}
        self._size_interval = options.size_interval
        self._sized = -math.inf
        self._urls = ", ".join(server.url for server in servers)
        self._reactor = reactor
        self._dialect_name = dialect_name
        self._timeout = options.timeout
        self._health_timeout = options.health_timeout
        self._start_timeout = options.start_timeout
        self._trust_progress = options.trust_progress
        self._space = Space(options.prefix)
        self._channel = Channel(reactor, servers, random)
        self._channel.on_connected(self._connected)
        self._feed = Feed(
            reactor,
            self._channel,
            self._space,
            lost=self._lost,
            recent_events=history.recent_events,
            recent_bytes=history.recent_bytes,
        )
        self._leases = Leases(reactor, self._channel, reuse=options.lease_reuse, timeout=options.timeout)
        self._compaction = Compaction(self, reactor, interval=history.compaction_interval, keep=history.seconds)
        self._refusal = "the store is not started"
        #: Result of the last health check.
        self._sick = ""
        self._checking = LoopingCall(self._check)
        self._checking.clock = reactor
        self._check_running: Deferred[None] | None = None
        self._busy: set[Deferred[Any]] = set()
        self._submissions = Submissions(
            self._feed, self._space, self._leases, call=self._call_of_write, spawn=self._own
        )
        self._current = NewestRevision(self._read_current, self._own)
        self.instruments = (
            revision_gauge(lambda: self.revision),
            ObservedCounter("orchd_store_writes_total", "Writes to etcd by this server.", lambda: self.writes),
            *self._request_durations.instruments,
            ObservedGauge(
                "etcd_db_total_size_in_bytes",
                "Size of the database of an etcd server in bytes.",
                lambda: {(url,): float(size) for url, size in self.database_sizes.items()},
                ("endpoint",),
            ),
            size_gauge(self.file_size),
            ObservedCounter("orchd_store_connects_total", "Connections established to etcd.", lambda: self.connects),
            ObservedCounter(
                "orchd_store_restarts_total", "Watches of etcd that were interrupted.", lambda: self.restarts
            ),
            watchers_gauge(lambda: self.watchers),
            self._leases.objects,
        )

    @property
    def revision(self) -> int:
        return self._feed.revision

    @property
    def writes(self) -> int:
        return self._submissions.written

    @property
    def compacted(self) -> int:
        return self._feed.compacted

    @property
    def connects(self) -> int:
        return self._channel.connects

    @property
    def watchers(self) -> int:
        return len(self._feed.watches)

    # Lifecycle.

    def healthy(self) -> str:
        if self._refusal or self._channel.failure:
            return self._refusal or f"etcd: {self._channel.failure}"
        return self._sick or ("" if self._feed.live else "etcd: the watch is not established")

    def start(self) -> Deferred[None]:
        return start(self._start())

    async def _start(self) -> None:
        self._channel.start()
        try:
            await self._set_up()
        except CallError as error:
            why, last = str(error), self._channel.last_failure
            self._channel.stop()
            # A connection lost during its handshake may leave the last call without a reason.
            why = why if not last or last in why else f"{why}; {last}"
            raise UnavailableError(
                f"cannot use etcd at {self._urls} ({why}): start it, or see --etcd-servers and the flags for its TLS files"
            ) from error
        except BaseException:
            self._channel.stop()
            raise
        self._refusal = ""
        self._channel.patience = _PATIENCE
        self._checking.start(_CHECK, now=False).addErrback(self._broken)
        self._compaction.start()

    async def _set_up(self) -> None:
        end = self._reactor.seconds() + self._start_timeout
        revision = await self._claim(self._start_timeout)
        self._feed.trusted = await self._trusts_progress()
        left = max(1.0, end - self._reactor.seconds())
        self._feed.compacted = await compacted_revision(self._reactor, self._channel, self._space, left)
        self._feed.start(revision)
        while not self._feed.live:
            if self._reactor.seconds() > end:
                raise CallError(DEADLINE_EXCEEDED, self._channel.failure or "no response to a watch")
            await deferLater(self._reactor, 0.01)

    async def _claim(self, timeout: float) -> int:
        """Record the dialect, or compare it; returns the revision at which the store begins."""
        key, (low, high) = self._space.dialect_key, self._space.span("/")
        request = messages.TxnRequest()
        # One revision for both reads.
        request.success.add().range.key = key
        request.success.add().range.SetInParent()
        every = request.success[1].range
        every.key, every.range_end, every.count_only = low, high, True
        response = await self._txn("claim", request, timeout, repeat=True)
        holders = response.responses[0].range.kvs
        if holders:
            name = holders[0].value.decode("utf-8", "replace")
            if name != self._dialect_name:
                raise DialectMismatchError(f"{self._space.prefix} of etcd at {self._urls}", name, self._dialect_name)
            return int(response.header.revision)
        if response.responses[1].range.count:
            raise ForeignFileError(f"{self._space.prefix} in etcd at {self._urls}")
        request = messages.TxnRequest()
        request.compare.add(target=messages.CREATE_REVISION, key=key)
        put = request.success.add().put
        put.key, put.value = key, self._dialect_name.encode()
        # A repeated transaction fails the second time, which is harmless.
        response = await self._txn("claim", request, timeout, repeat=True)
        return int(response.header.revision) if response.succeeded else await self._claim(timeout)

    async def _trusts_progress(self) -> bool:
        if self._trust_progress is not None:
            return self._trust_progress
        return tells_progress((await self._status(self._timeout)).version)

    async def _stop(self) -> None:
        self._refusal = "the store is stopped"
        if self._checking.running:
            self._checking.stop()
        if self._check_running is not None:
            self._check_running.cancel()
        await self._compaction.stop()
        waits = self._submissions.waits()
        for task in self._busy:
            waits.append(Deferred())
            task.addBoth(_pass, waits[-1])
        for ended in waits:
            # The calls have timeouts; from here on the watch may wait for a connection.
            late = self._reactor.callLater(self._timeout, self._feed.stop, UnavailableError(self._refusal))
            await ended
            if late.active():
                late.cancel()
        self._feed.stop(UnavailableError(self._refusal))
        self._channel.stop()

    def stop(self) -> Deferred[None]:
        return start(self._stop()) if not self._refusal else succeed(None)

    # Watching.

    def _connected(self) -> None:
        if self._feed.running:
            self._own(self._follow())

    async def _follow(self) -> None:
        try:
            self._feed.trusted = await self._trusts_progress()
        except CallError as error:
            self._channel.abandon(str(error))
        else:
            self._feed.follow()

    def _lost(self, error: StoreError) -> None:
        """History has a gap: restart from the current revision."""
        self.restarts += 1
        _log.warn("the watch of etcd cannot resume: {why}", why=str(error))
        if isinstance(error, CompactedError):
            self._feed.compacted = max(self._feed.compacted, error.compacted)
        self._own(self._begin_again())

    async def _begin_again(self) -> None:
        try:
            self._feed.start(await self._newest())
        except CallError as error:
            # The resumed watch fails the same way, which calls this again.
            self._channel.abandon(str(error))

    def _own(self, work: Coroutine[Deferred[Any], Any, object]) -> None:
        """Run a background task, until `stop`."""
        running = start(work)
        if not running.called:
            self._busy.add(running)
        running.addErrback(self._failed)
        running.addBoth(self._ended, running)

    def _failed(self, failure: Failure) -> None:
        _log.failure("a background task of the store failed", failure)

    def _ended(self, result: None, running: Deferred[Any]) -> None:
        self._busy.discard(running)

    async def _call(
        self, operation: str, path: str, request: bytes, *, timeout: float, repeat: bool, key: str = ""
    ) -> bytes:
        """A call with metrics of `operation`, on the object or the objects of `key`. Raises CallError."""
        began, failed = self._reactor.seconds(), True
        try:
            response = await self._channel.call(path, request, timeout=timeout, repeat=repeat)
            failed = False
            return response
        finally:
            self._request_durations.observe(operation, key, self._reactor.seconds() - began, failed=failed)

    # Health.

    def _check(self) -> Deferred[None]:
        self._check_running = start(self._check_once())
        return self._check_running

    async def _check_once(self) -> None:
        """Check a quorum read, alarms, and the watch's progress: a paused member keeps its connections, so only missing
        responses reveal it."""
        within = self._health_timeout
        try:
            revision = await self._newest(within)
            wrong = "; ".join((await self._status(within)).errors)
            self._sick = f"etcd: {wrong}" if wrong else ""
        except CallError as error:
            if not self._refusal:
                self._sick = f"etcd does not respond: {error}"
                self._channel.abandon(str(error))
            return
        if revision < self._feed.revision - 1 and self._feed.live:
            self._went_back(await self._newest(within))
            return
        seen = self._feed.wait_for(revision)
        end = self._reactor.seconds() + within
        while not seen.called and not self._refusal and self._feed.live:
            if self._reactor.seconds() > end:
                self._channel.abandon("the watch does not follow")
                return
            await deferLater(self._reactor, 0.05)

    def file_size(self) -> int:
        """Size of the database of the member that was checked last, in bytes; 0 before."""
        return self._file_size

    async def _status(self, timeout: float) -> Any:
        data = await self._call("status", messages.STATUS, b"", timeout=timeout, repeat=True)
        response = messages.StatusResponse.FromString(data)
        self._file_size = response.size
        now = self._reactor.seconds()
        if self._size_interval and now - self._sized >= self._size_interval:
            self._sized = now
            self.database_sizes[self._channel.url] = response.size
        return response

    def _went_back(self, revision: int) -> None:
        """etcd was restored from a backup, so the revisions seen do not belong to its history."""
        if revision < self._feed.revision:
            error = UnavailableError(f"etcd went back from revision {self._feed.revision} to {revision}")
            self._feed.watches.end(error)
            self._lost(error)

    def _broken(self, failure: Failure) -> None:
        if failure.check(CancelledError) and self._refusal:
            return
        self._sick = "the checks of etcd have ended"
        _log.failure("the health check of etcd stopped with an error", failure)

    # Writes.

    async def create(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        return await self._submit(Write(key=key, value=value, expected=0, ttl=ttl))

    async def update(self, key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        return await self._submit(Write(key=key, value=value, expected=expected, ttl=ttl))

    async def delete(self, key: str, *, expected: int) -> int:
        return await self._submit(Write(key=key, value=None, expected=expected))

    async def write(
        self, key: str, value: bytes | None, *, expected: int, take: Collection[str], leave: Collection[str],
        ttl: int | None = None,
    ) -> int:  # fmt: skip
        return await self._submit(
            Write(key=key, value=value, expected=expected, ttl=ttl, take=tuple(take), leave=leave)
        )

    async def free(self, claimed: ClaimedError) -> None:
        if self._refusal:
            raise UnavailableError(self._refusal)
        try:
            await self._txn("free", freeing(self._space, claimed), self._timeout, repeat=True)
        except CallError as error:
            raise of_write(error, 0) from error

    def _submit(self, write: Write) -> Deferred[int]:
        """Continues when its waiter is cancelled. Raises ValueError for an invalid key."""
        if self._refusal:
            raise UnavailableError(self._refusal)
        return self._submissions.submit(write)

    def _call_of_write(self, write: Write, request: bytes) -> Deferred[bytes]:
        call = self._channel.begin(messages.TXN, request, timeout=self._timeout, repeat=False)
        return call.addBoth(self._observed, write, self._reactor.seconds())

    def _observed(self, result: Any, write: Write, began: float) -> Any:
        seconds = self._reactor.seconds() - began
        self._request_durations.observe(write.operation, write.key, seconds, failed=isinstance(result, Failure))
        return result

    async def _txn(self, operation: str, request: Any, timeout: float, *, repeat: bool, key: str = "") -> Any:
        data = await self._call(
            operation, messages.TXN, request.SerializeToString(), timeout=timeout, repeat=repeat, key=key
        )
        return messages.TxnResponse.FromString(data)

    # Reads.

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        request = messages.RangeRequest(key=self._space.key(key), revision=revision)
        response = await self._range("get", request, key)
        return self._space.item(response.kvs[0]) if response.kvs else None

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Range:
        low, high = self._space.span(prefix, start)
        items: list[KeyValue] = []
        at, page = revision, _PAGE
        while True:
            left = limit - len(items) if limit else 0
            size = min(left, page) if left and page else left or page
            request = messages.RangeRequest(key=low, range_end=high, limit=size, revision=at)
            try:
                response = await self._range("list", request, prefix)
            except CompactedError:
                if revision or not at:
                    raise
                # Compacted between pages: read everything in one response.
                items, at, page = [], 0, 0
                low, high = self._space.span(prefix, start)
                continue
            item = self._space.item
            items += [item(kv) for kv in response.kvs]
            at = at or response.header.revision
            if not response.more or (limit and len(items) >= limit):
                return Range(tuple(items), at, response.count - len(response.kvs))
            low = response.kvs[-1].key + b"\0"

    async def _range(self, operation: str, request: Any, key: str) -> Any:
        """One response. Raises StoreError."""
        revision = request.revision
        if self._refusal:
            raise UnavailableError(self._refusal)
        if revision and revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        try:
            data = await self._call(
                operation, messages.RANGE, request.SerializeToString(), timeout=self._timeout, repeat=True, key=key
            )
        except CallError as error:
            if error.compacted:
                # Compacted by another server or an operator.
                self._feed.compacted = max(self._feed.compacted, revision + 1)
                raise CompactedError(revision, self.compacted) from error
            if error.future:
                raise FutureRevisionError(revision, await self.current_revision()) from error
            raise UnavailableError(f"etcd: {error}") from error
        return messages.RangeResponse.FromString(data)

    def lend(self, key: str, revision: int, lent: Lent) -> None:
        """Does nothing: this store holds no current values."""

    async def current_revision(self) -> int:
        if self._refusal:
            raise UnavailableError(self._refusal)
        shared = self._channel.shared_revision()
        if shared is not None:
            if shared > self._feed.revision:
                self._feed.want(shared)
            return shared
        return await self._current.get()

    async def _read_current(self) -> int:
        try:
            revision = await self._newest()
        except CallError as error:
            raise UnavailableError(f"etcd: {error}") from error
        # Watches without events still have to reach it.
        self._feed.want(revision)
        return revision

    async def _newest(self, timeout: float = 0.0) -> int:
        """The revision of a linearizable read. Raises CallError."""
        request = messages.RangeRequest(key=self._space.dialect_key, keys_only=True)
        data = await self._call(
            "revision", messages.RANGE, request.SerializeToString(), timeout=timeout or self._timeout, repeat=True
        )
        return int(messages.RangeResponse.FromString(data).header.revision)

    # Watches and history.

    def watch(
        self, prefix: str, *, after: int, on_events: OnEvents, on_end: OnEnd, on_progress: OnProgress | None = None
    ) -> Watch:
        if self._refusal:
            raise UnavailableError(self._refusal)
        watch = Watch(self._feed.watches, prefix, after, on_events, on_end, on_progress)
        self._feed.watches.add(watch)
        return watch

    async def compact(self, revision: int) -> None:
        if revision <= self.compacted:
            return
        if self._refusal:
            raise UnavailableError(self._refusal)
        request = messages.CompactionRequest(revision=revision)
        try:
            await self._call(
                "compact", messages.COMPACT, request.SerializeToString(), timeout=self._timeout, repeat=True
            )
        except CallError as error:
            if error.future:
                raise FutureRevisionError(revision, await self.current_revision()) from error
            if not error.compacted:
                raise UnavailableError(f"etcd: {error}") from error
            # Another server was faster.
        self._feed.compacted = max(self._feed.compacted, revision)


def _pass(result: Any, ended: Deferred[None]) -> Any:
    ended.callback(None)
    return result
