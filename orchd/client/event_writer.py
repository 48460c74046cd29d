"""Writes Events: in order per object, concurrently for different objects, with bounded queues and retries."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from random import Random
from zlib import crc32

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.client.errors import NoResponseError, UnreachableError
from orchd.client.interfaces import IClient, ResourceRef
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: Maximum number of queued events; further ones are dropped and counted.
QUEUE_LIMIT = 1000
#: Maximum number of objects whose events are written concurrently.
LANES = 8
#: Attempts to write an event to an unreachable server, and the seconds between them.
ATTEMPTS, PAUSE = 12, 10.0
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Write:
    """An Event to write. With `patch` it exists already unless it was deleted. `lost` is called if it could not be
    written."""

    ref: ResourceRef
    event: Object
    patch: Object | None = None
    lost: Callable[[], object] = lambda: None


#: Called when an event reaches the head of its queue; None writes nothing.
Decide = Callable[[], "Write | None"]


@dataclass(slots=True)
class EventCounts:
    """Events by outcome: `written`; `dropped` (queue full); `filtered` (rate limit of the source); `failed` (rejected,
    or the server was unreachable)."""

    written: int = 0
    dropped: int = 0
    filtered: int = 0
    failed: int = 0


class EventWriter:
    """Owns the queues and the tasks that empty them."""

    _log = Logger()

    def __init__(self, client: IClient, clock: IReactorTime, random: Random) -> None:
        self._client = client
        self._clock = clock
        self._random = random
        self._queues: list[deque[Decide]] = [deque() for _ in range(LANES)]
        self._busy = [False] * LANES
        self._background = Background()
        self._stopping = False
        self.waiting = 0
        self.counts = EventCounts()

    def submit(self, about: str, decide: Decide) -> None:
        """Queue an event. Events with the same `about` are processed and written in order."""
        if self._stopping or self.waiting >= QUEUE_LIMIT:
            self.counts.dropped += 1
            return
        lane = crc32(about.encode("utf-8", "replace")) % LANES
        self._queues[lane].append(decide)
        self.waiting += 1
        if not self._busy[lane]:
            self._busy[lane] = True
            self._background.add(self._empty(lane), "event recorder")

    async def stop(self, seconds: float) -> None:
        """Accept no more events and write the queued ones within `seconds`; drop the others."""
        self._stopping = True
        await self._background.finish(seconds, self._clock)
        self.counts.dropped += self.waiting
        self.waiting = 0

    async def _empty(self, lane: int) -> None:
        queue = self._queues[lane]
        try:
            while queue:
                decide = queue.popleft()
                self.waiting -= 1
                try:
                    await self._handle(decide)
                except CancelledError:
                    raise
                except Exception:  # a bug with one event must not end the recording of others
                    self.counts.failed += 1
                    self._log.failure("event could not be recorded")
        finally:
            self._busy[lane] = False

    async def _handle(self, decide: Decide) -> None:
        write = decide()
        if write is None:
            return
        if await self._write(write):
            self.counts.written += 1
        else:
            self.counts.failed += 1
            write.lost()

    async def _write(self, write: Write) -> bool:
        """Write an event, with retries while the server is unreachable. True if it was written."""
        metadata = write.event["metadata"]
        for attempt in count(1):
            try:
                await self._send(write)
                return True
            except (UnreachableError, NoResponseError) as error:
                if attempt == ATTEMPTS or self._stopping:
                    self._log.warn("event {name} was not written: {why}", name=metadata["name"], why=error.message)
                    return False
            except ApiError as error:
                say = self._log.debug if error.code in (403, 409) else self._log.warn
                say("event {name} was refused: {why}", name=metadata["name"], why=error.message)
                return False
            # The first pause is random, so that the clients of a restarted server do not all retry at once.
            await deferLater(self._clock, PAUSE * (self._random.random() if attempt == 1 else 1.0))
        raise AssertionError("an attempt returns")

    async def _send(self, write: Write) -> None:
        metadata = write.event["metadata"]
        if write.patch is not None:
            try:
                await self._client.patch(
                    write.ref,
                    metadata["namespace"],
                    metadata["name"],
                    write.patch,
                    content_type=STRATEGIC,
                    need_response=False,
                )
                return
            except ApiError as error:
                if error.code != 404:
                    raise
        await self._client.create(write.ref, metadata["namespace"], write.event, need_response=False)
