"""Copies a whole store into a prefix of etcd, and out of it.

The dialect is recorded last: until then no server uses the prefix.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.internet.interfaces import IReactorTime

from orchd.store.etcd import messages
from orchd.store.etcd.channel import Channel
from orchd.store.etcd.failures import CallError, of_write
from orchd.store.etcd.leases import Leases
from orchd.store.etcd.servers import Server
from orchd.store.etcd.space import Space
from orchd.store.etcd.writes import Write
from orchd.store.export import Content
from orchd.store.interfaces import KeyValue, StoreError, UnavailableError
from orchd.txkit.coroutines import start

#: Timeout of one call in seconds, and of it for a connection.
_TIMEOUT: Final = 20.0
_PATIENCE: Final = 5.0
#: Concurrent writes of values and of filler; keys per response.
_TOGETHER: Final = 100
_RAISING: Final = 400
_PAGE: Final = 1000
#: Filler writes between two checks of etcd's revision.
_STRETCH: Final = 20_000
#: Keys whose times to live differ by less than this many seconds share a lease.
_REUSE: Final = 60.0


async def fill(
    reactor: IReactorTime, servers: Sequence[Server], prefix: str, content: Content, *, random: Random,
    say: Callable[[str], object], progress: Callable[[int, int], object] = lambda done, total: None,
) -> int:  # fmt: skip
    """Write `content` under `prefix`, which must be empty. Returns the revision. Raises StoreError.

    First etcd's revision is raised above the content's by filler writes (`say` is called when that takes long;
    `progress` with the number of items that are written and of all), and history up to there is compacted. So every
    item gets a revision above those of the copied store, and a watch from a revision of that store gets a compaction
    error."""
    async with _connect(reactor, servers, random) as channel:
        filling = _Filling(reactor, channel, Space(prefix))
        await filling.must_be_empty()
        try:
            # The first filler write returns etcd's revision, and makes a revision that can be compacted.
            revision = await filling.raise_revision(1)
            if revision <= content.revision:
                say(f"etcd is at revision {revision}; raising it above {content.revision}")
            while revision <= content.revision:
                revision = await filling.raise_revision(min(_STRETCH, content.revision + 1 - revision))
            await filling.compact(revision)
            await filling.write(content, progress)
            return await filling.finish(content.dialect_name)
        except StoreError as error:
            raise StoreError(
                f"{error}; what is copied in part no server takes: remove it before the next attempt "
                f"(etcdctl del --prefix {filling.space.prefix.rstrip('/')}/)"
            ) from error


class _Filling:
    def __init__(self, reactor: IReactorTime, channel: Channel, space: Space) -> None:
        self.space = space
        self._reactor = reactor
        self._channel = channel
        self._leases = Leases(reactor, channel, reuse=_REUSE, timeout=_TIMEOUT)
        self._revision = 0

    async def must_be_empty(self) -> None:
        dialect = await _range(self._channel, messages.RangeRequest(key=self.space.dialect_key))
        low, high = self.space.span("/")
        dialect_marks = await _range(self._channel, messages.RangeRequest(key=low, range_end=high, count_only=True))
        if dialect.kvs or dialect_marks.count:
            raise StoreError(f"{self.space.prefix} of etcd is not empty: choose another --etcd-prefix")

    async def write(self, content: Content, progress: Callable[[int, int], object]) -> None:
        """Write all items."""
        done, total = 0, len(content.items)

        async def one(item: KeyValue) -> None:
            nonlocal done
            await self._item(item, content.expires.get(item.key))
            done += 1
            progress(done, total)

        await _some_together((one(item) for item in content.items), _TOGETHER)

    async def compact(self, revision: int) -> None:
        """Discard all history before `revision`, also that of other users of this etcd. Raises StoreError."""
        request = messages.CompactionRequest(revision=revision)
        try:
            await self._channel.call(messages.COMPACT, request.SerializeToString(), timeout=_TIMEOUT, repeat=True)
        except CallError as error:
            if not error.compacted:
                raise UnavailableError(f"etcd: {error}") from error
            # Already compacted to this revision or a later one.

    async def _item(self, item: KeyValue, end: float | None) -> None:
        write = Write(key=item.key, value=item.value, expected=0)
        request = write.request(self.space)
        try:
            if end is not None:
                ttl = max(1, int(end - self._reactor.seconds()))
                request.success[0].put.lease = await self._leases.lease(ttl)
            response = await self._txn(request)
        except CallError as error:
            raise of_write(error, len(item.value)) from error
        self._revision = max(self._revision, write.revision(self.space, response))

    async def raise_revision(self, count: int) -> int:
        """The revision after `count` filler writes."""
        await _some_together((self._put(self.space.filling_key, b"") for _ in range(count)), _RAISING)
        return self._revision

    async def finish(self, dialect_name: str) -> int:
        await self._put(self.space.dialect_key, dialect_name.encode(), gone=self.space.filling_key)
        return self._revision

    async def _put(self, key: bytes, value: bytes, *, gone: bytes = b"") -> None:
        request = messages.TxnRequest()
        put = request.success.add().put
        put.key, put.value = key, value
        if gone:
            request.success.add().delete_range.key = gone
        try:
            response = await self._txn(request)
        except CallError as error:
            raise of_write(error, len(value)) from error
        self._revision = max(self._revision, int(response.header.revision))

    async def _txn(self, request: Any) -> Any:
        data = await self._channel.call(messages.TXN, request.SerializeToString(), timeout=_TIMEOUT, repeat=False)
        return messages.TxnResponse.FromString(data)


async def read_all(reactor: IReactorTime, servers: Sequence[Server], prefix: str, *, random: Random) -> Content:
    """Read everything under `prefix`, as of one revision. Raises StoreError."""
    async with _connect(reactor, servers, random) as channel:
        space = Space(prefix)
        dialect = await _range(channel, messages.RangeRequest(key=space.dialect_key))
        if not dialect.kvs:
            raise StoreError(f"nothing of this program is under {space.prefix} of etcd: see --etcd-prefix")
        revision = int(dialect.header.revision)
        items: list[KeyValue] = []
        ends: dict[int, float] = {}
        expires: dict[str, float] = {}
        low, high = space.span("/")
        while True:
            page = await _range(channel, messages.RangeRequest(key=low, range_end=high, revision=revision, limit=_PAGE))
            for kv in page.kvs:
                item = space.item(kv)
                items.append(item)
                if kv.lease:
                    if kv.lease not in ends:
                        ends[kv.lease] = reactor.seconds() + await _remaining_seconds(channel, kv.lease)
                    expires[item.key] = ends[kv.lease]
            if not page.more:
                break
            low = page.kvs[-1].key + b"\0"
        name = dialect.kvs[0].value.decode("utf-8", "replace")
        return Content(dialect_name=name, revision=revision, items=items, expires=expires)


@asynccontextmanager
async def _connect(reactor: IReactorTime, servers: Sequence[Server], random: Random) -> AsyncIterator[Channel]:
    channel = Channel(reactor, servers, random)
    channel.patience = _PATIENCE
    channel.start()
    try:
        yield channel
    finally:
        channel.stop()


async def _range(channel: Channel, request: Any) -> Any:
    try:
        data = await channel.call(messages.RANGE, request.SerializeToString(), timeout=_TIMEOUT, repeat=True)
    except CallError as error:
        raise UnavailableError(f"etcd: {error}") from error
    return messages.RangeResponse.FromString(data)


async def _remaining_seconds(channel: Channel, lease: int) -> int:
    """Remaining seconds of a lease."""
    request = messages.LeaseTimeToLiveRequest(id=lease)
    try:
        data = await channel.call(
            messages.LEASE_TIME_TO_LIVE, request.SerializeToString(), timeout=_TIMEOUT, repeat=True
        )
    except CallError as error:
        raise UnavailableError(f"etcd: {error}") from error
    # An expired lease has -1.
    return max(0, int(messages.LeaseTimeToLiveResponse.FromString(data).ttl))


async def _some_together(work: Iterator[Coroutine[Deferred[Any], Any, None]], most: int) -> None:
    """Run coroutines, up to `most` of them concurrently; the first failure ends it."""

    async def one_after_the_other() -> None:
        for each in work:
            await each

    try:
        await gatherResults([start(one_after_the_other()) for _ in range(most)], consumeErrors=True)
    except FirstError as first:
        first.subFailure.raiseException()
