"""Audit sinks by mode: blocking or batching; and truncation of large events.

A sink calls `end` after its last send."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from zope.interface import implementer

from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.txkit.background import Background
from orchd.txkit.log import Logger
from orchd.txkit.timeouts import within

_log = Logger(namespace="orchd.audit")

Event = Mapping[str, Any]
#: Writes or sends events in one call; raises after its own retries have failed.
Send = Callable[[Sequence[Event]], Awaitable[None]]
#: Called after the last send.
End = Callable[[], Awaitable[None]]

#: Timeout in seconds for sending pending events on stop.
GRACE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Batching parameters: up to `buffer` pending events, `most` per batch, `wait` seconds until an incomplete batch is
    sent; `rate` batches per second on average with bursts of `burst` (0: unlimited)."""

    buffer: int
    most: int
    wait: float
    rate: float
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """Maximum size in bytes of one event, and of a batch."""

    event: int
    batch: int


@implementer(IAuditSink)
class Direct:
    """Blocking mode: each event is sent before its request continues."""

    def __init__(self, name: str, send: Send, end: End, *, strict: bool) -> None:
        self.name = name
        self.lost = 0
        self.strict = strict
        self._send = send
        self._end = end

    async def take(self, event: Event) -> bool:
        try:
            await self._send([event])
        except CancelledError:
            raise
        except Exception as error:  # any failure of the backend: the request fails only in strict mode
            _log.error("audit event {id} is lost: {error}", id=event["auditID"], error=error)
            self.lost += 1
            return False
        return True

    async def stop(self) -> None:
        await self._end()


@implementer(IAuditSink)
class Batching:
    """Batching mode: events are sent in the background. Events beyond the buffer are lost, and counted."""

    strict = False

    def __init__(self, name: str, send: Send, end: End, batches: Batches, clock: IReactorTime) -> None:
        self.name = name
        self.lost = 0
        self._send = send
        self._end = end
        self._batches = batches
        self._clock = clock
        self._waiting: deque[Event] = deque()
        #: Number of events in the batch that is being sent.
        self._leaving = 0
        self._filled: Deferred[None] | None = None
        self._tokens = float(batches.burst)
        self._counted = clock.seconds()
        self._stopping = False
        self._background = Background()
        self._background.add(self._run(), f"audit events for {name}")

    async def take(self, event: Event) -> bool:
        if len(self._waiting) >= self._batches.buffer or self._stopping:
            _log.error("audit event {id} is lost: the buffer is full", id=event["auditID"])
            self.lost += 1
            return False
        self._waiting.append(event)
        if len(self._waiting) == 1 or len(self._waiting) >= self._batches.most:
            self._wake()
        return True

    def _wake(self) -> None:
        filled, self._filled = self._filled, None
        if filled is not None and not filled.called:
            filled.callback(None)

    async def _run(self) -> None:
        while not (self._stopping and not self._waiting):
            if not self._waiting:
                await self._until_filled(None)
            elif len(self._waiting) < self._batches.most and not self._stopping:
                await self._until_filled(self._batches.wait)
                await self._send_some()
            else:
                await self._send_some()

    async def _until_filled(self, seconds: float | None) -> None:
        self._filled = Deferred()
        if seconds is None:
            await self._filled
            return
        try:
            await within(self._filled, seconds, self._clock)
        except TimeoutError:
            """What there is, goes."""

    async def _send_some(self) -> None:
        if not self._waiting:
            return
        await self._throttle()
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._batches.most))]
        self._leaving = len(batch)
        try:
            await self._send(batch)
        except CancelledError:
            raise
        except Exception as error:  # as above: later batches are still sent
            _log.error("{count} audit events are lost: {error}", count=len(batch), error=error)
            self.lost += len(batch)
        self._leaving = 0

    async def _throttle(self) -> None:
        rate = self._batches.rate
        if not rate or self._stopping:
            return
        now = self._clock.seconds()
        self._tokens = min(float(self._batches.burst), self._tokens + (now - self._counted) * rate)
        self._counted = now
        if self._tokens < 1:
            await deferLater(self._clock, (1 - self._tokens) / rate)
            self._tokens, self._counted = 1.0, self._clock.seconds()
        self._tokens -= 1

    async def stop(self) -> None:
        self._stopping = True
        self._wake()
        if await self._background.finish(GRACE, self._clock):
            late = self._leaving + len(self._waiting)
            _log.error("{count} audit events are lost: they could not be sent in time", count=late)
            self.lost += late
        await self._end()


def truncating(send: Send, limits: Truncation, mark: str) -> Send:
    """`send` with size limits: oversized events are sent without their objects (annotated with `mark`), or dropped if
    still too large; batches are split to the limit."""

    async def bounded(events: Sequence[Event]) -> None:
        for batch in _batches(events, limits, mark):
            await send(batch)

    return bounded


def _batches(events: Sequence[Event], limits: Truncation, mark: str) -> Iterator[list[Event]]:
    batch: list[Event] = []
    size = 0
    for event in events:
        recorded, own = _fitting(event, limits.event, mark)
        if recorded is None:
            _log.error("audit event {id} is lost: it has {size} bytes", id=event["auditID"], size=own)
            continue
        if batch and size + own > limits.batch:
            yield batch
            batch, size = [], 0
        batch.append(recorded)
        size += own
    if batch:
        yield batch


def _fitting(event: Event, most: int, mark: str) -> tuple[Event | None, int]:
    size = len(orjson.dumps(event))
    if size <= most:
        return event, size
    bare = {name: value for name, value in event.items() if name not in ("requestObject", "responseObject")}
    bare["annotations"] = {**event.get("annotations", {}), mark: "true"}
    size = len(orjson.dumps(bare))
    return (bare, size) if size <= most else (None, size)
