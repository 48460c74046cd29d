"""Writes that are under way, without a coroutine for each: in order for one key, each until the watches have seen
it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd.store.etcd import messages
from orchd.store.etcd.failures import CallError, of_write
from orchd.store.etcd.feed import Feed
from orchd.store.etcd.leases import Leases
from orchd.store.etcd.space import Space
from orchd.store.etcd.writes import Write
from orchd.store.interfaces import StoreError


class _Running:
    """A write, its request, and its result. `response` is for the next write of its key, `end` for the stop of the
    store; each is made at the first wait for it."""

    __slots__ = ("end", "request", "response", "result", "write")

    def __init__(self, write: Write, request: Any) -> None:
        self.write = write
        self.request = request
        self.result: Deferred[int] = Deferred()
        self.response: Deferred[None] | None = None
        self.end: Deferred[None] | None = None


class Submissions:
    """`call` makes the call of a write with a request, which fails with CallError. `spawn` runs a background task."""

    def __init__(
        self, feed: Feed, space: Space, leases: Leases, *, call: Callable[[Write, bytes], Deferred[bytes]],
        spawn: Callable[[Coroutine[Deferred[Any], Any, object]], None],
    ) -> None:  # fmt: skip
        #: Number of successful writes.
        self.written = 0
        self._feed = feed
        self._space = space
        self._leases = leases
        self._call = call
        self._spawn = spawn
        #: The last running write by key: the next one waits for it.
        self._last: dict[str, _Running] = {}
        self._all: dict[_Running, None] = {}

    def submit(self, write: Write) -> Deferred[int]:
        """The revision of the write. It continues when the Deferred is cancelled. Raises ValueError for an invalid
        key."""
        running = _Running(write, write.request(self._space))
        before = self._last.get(write.key)
        self._last[write.key] = running
        self._all[running] = None
        if before is None and write.ttl is None:
            self._send(running)
        else:
            self._spawn(self._prepare(running, before))
        return running.result

    def waits(self) -> list[Deferred[None]]:
        """Each fires when a write that is running now has ended."""
        for running in self._all:
            running.end = running.end or Deferred()
        return [running.end for running in self._all if running.end is not None]

    async def _prepare(self, running: _Running, before: _Running | None) -> None:
        write = running.write
        if before is not None:
            # Streams may be reordered in the server, and guards must be decided in submission order.
            before.response = before.response or Deferred()
            await before.response
        try:
            if write.ttl is not None:
                running.request.success[0].put.lease = await self._leases.lease(write.ttl)
        except (CallError, StoreError):
            self._failed(Failure(), running)
            return
        self._send(running)

    def _send(self, running: _Running) -> None:
        call = self._call(running.write, running.request.SerializeToString())
        call.addCallbacks(self._succeeded, self._failed, callbackArgs=(running,), errbackArgs=(running,))
        # Whatever is wrong: somebody waits for the result.
        call.addErrback(self._failed, running)

    def _succeeded(self, data: bytes, running: _Running) -> None:
        revision = running.write.revision(self._space, messages.TxnResponse.FromString(data))
        self._next(running)
        self.written += 1
        if revision <= self._feed.revision:
            self._end(running, revision)
        else:
            self._feed.wait_for(revision).addCallback(lambda _: self._end(running, revision))

    def _failed(self, failure: Failure, running: _Running) -> None:
        error = failure.value
        if isinstance(error, CallError):
            failure = Failure(of_write(error, len(running.write.value or b"")))
        self._next(running)
        self._end(running, failure)

    def _next(self, running: _Running) -> None:
        """A write is decided: the next one of its key may begin."""
        if self._last.get(running.write.key) is running:
            del self._last[running.write.key]
        response, running.response = running.response, None
        if response is not None:
            response.callback(None)

    def _end(self, running: _Running, result: int | Failure) -> None:
        del self._all[running]
        if isinstance(result, Failure):
            running.result.errback(result)
        else:
            running.result.callback(result)
        if running.end is not None:
            running.end.callback(None)
