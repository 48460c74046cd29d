"""Sinks by mode: at once, or in batches behind the back of requests; and what is done with events that are too large.

A sink calls `end` when nothing more will be sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from zope.interface import implementer

from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.txkit.background import Background
from orchd.txkit.timeouts import within

_log = Logger(namespace="orchd.audit")

Event = Mapping[str, Any]
#: Writes or sends events in one go; raises what went wrong, after it has tried what it tries.
Send = Callable[[Sequence[Event]], Awaitable[None]]
#: Called when nothing more will be sent.
End = Callable[[], Awaitable[None]]

#: Seconds that a stop waits for what has not been sent.
GRACE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """How events are held back: `buffer` of them at most, sent `most` at a time, or what there is after `wait` seconds;
    `rate` batches a second on average and `burst` at once (0: as they come)."""

    buffer: int
    most: int
    wait: float
    rate: float
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """Sizes in bytes: of one event, and of a batch."""

    event: int
    batch: int


@implementer(IAuditSink)
class Direct:
    """Each event is sent before its request goes on."""

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
        except Exception as error:  # whatever the other side is up to: the request must not suffer from it unless asked
            _log.error("audit event {id} is lost: {error}", id=event["auditID"], error=error)
            self.lost += 1
            return False
        return True

    async def stop(self) -> None:
        await self._end()


@implementer(IAuditSink)
class Batching:
    """Events are sent by and by. One that finds the buffer full is lost, and counted."""

    strict = False

    def __init__(
        self, name: str, send: Send, end: End, batches: Batches, clock: IReactorTime
    ) -> None:
        self.name = name
        self.lost = 0
        self._send = send
        self._end = end
        self._batches = batches
        self._clock = clock
        self._waiting: deque[Event] = deque()
        #: Events in the batch that is being sent.
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
        except Exception as error:  # as above: there will be other batches
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
    """`send` with events that are within the limits: without their objects if they are too large with them (annotated with
    `mark`), left out if that is not enough; in as many goes as batches have to be."""

    async def bounded(events: Sequence[Event]) -> None:
        for batch in _batches(events, limits, mark):
            await send(batch)

    return bounded


def _batches(events: Sequence[Event], limits: Truncation, mark: str) -> Iterator[list[Event]]:
    batch: list[Event] = []
    size = 0
    for event in events:
        shown, own = _fitting(event, limits.event, mark)
        if shown is None:
            _log.error("audit event {id} is lost: it has {size} bytes", id=event["auditID"], size=own)
            continue
        if batch and size + own > limits.batch:
            yield batch
            batch, size = [], 0
        batch.append(shown)
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
