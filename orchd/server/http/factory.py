"""Protocol factory of the API server: state shared by all connections, and their graceful end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import cast

from twisted.internet.defer import Deferred, TimeoutError, execute
from twisted.internet.interfaces import IAddress, IReactorThreads, IReactorTime
from twisted.internet.protocol import Factory
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThreadPool

from orchd.server.http.channel import HttpChannel
from orchd.server.http.limits import Limits
from orchd.server.http.response_sinks import ChunkCache
from orchd.server.http.responses import DateHeader, compress
from orchd.server.pipeline.interfaces import IPipeline
from orchd.txkit.log import Logger
from orchd.txkit.timeouts import within

#: Seconds between timeout checks of connections.
_SWEEP = 1.0


def compress_aside(clock: IReactorTime, pieces: Iterable[bytes]) -> Deferred[list[bytes]]:
    """`responses.compress` in another thread, where `clock` is a reactor with threads."""
    if IReactorThreads.providedBy(clock):
        return deferToThreadPool(clock, clock.getThreadPool(), compress, pieces)
    return cast("Deferred[list[bytes]]", execute(compress, pieces))


class ApiServerFactory(Factory):
    """Makes an `HttpChannel` for each connection and stops all of them.

    `clock` is the reactor, or a Clock in tests; where it has threads, large responses are compressed in one of them.
    """

    noisy = False
    _log = Logger()

    def __init__(
        self,
        pipeline: IPipeline,
        clock: IReactorTime,
        limits: Limits | None = None,
        *,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`wall` returns epoch seconds, for the Date of responses."""
        self.pipeline = pipeline
        self.clock = clock
        self.wall = wall
        self.limits = limits or Limits()
        self.date = DateHeader()
        self.chunks = ChunkCache()
        self.stopping = False
        #: Bytes that connections have received ahead of a reader.
        self.read_ahead = 0
        self._channels: dict[HttpChannel, None] = {}
        self._sweeping = LoopingCall(self._sweep)
        self._sweeping.clock = clock
        self._empty: list[Deferred[None]] = []

    def __len__(self) -> int:
        """Number of open connections."""
        return len(self._channels)

    def buildProtocol(self, addr: IAddress | None) -> HttpChannel | None:
        if self.stopping:
            return None
        channel = HttpChannel(self)
        channel.factory = self
        return channel

    def opened(self, channel: HttpChannel) -> None:
        """For channels: a connection has been made."""
        self._channels[channel] = None
        if not self._sweeping.running:
            self._sweeping.start(_SWEEP, now=False)

    def closed(self, channel: HttpChannel) -> None:
        """For channels: a connection has ended or was taken over. Idempotent."""
        self._channels.pop(channel, None)
        if not self._channels:
            if self._sweeping.running:
                self._sweeping.stop()
            waiting, self._empty = self._empty, []
            for one in waiting:
                one.callback(None)

    def _sweep(self) -> None:
        now = self.clock.seconds()
        for channel in list(self._channels):
            channel.check(now)
        self._bound_unread(now)

    def _bound_unread(self, now: float) -> None:
        """Disconnect the clients that have not read for longest while all unread responses exceed the limit."""
        behind = [channel for channel in self._channels if channel.unread]
        total = sum(channel.unread for channel in behind)
        for channel in sorted(behind, key=lambda channel: channel.paused_since):
            if total <= self.limits.unread_total or now - channel.paused_since < self.limits.unread_patience:
                return
            total -= channel.unread
            self._log.info("disconnecting a client that leaves {size} bytes unread", size=channel.unread)
            channel.abort()

    def compress(self, pieces: Iterable[bytes]) -> Deferred[list[bytes]]:
        """For channels: gzip, in another thread where available."""
        return compress_aside(self.clock, pieces)

    async def stop(self, grace: float) -> None:
        """End all connections: idle ones at once, streams with their last chunk, requests after their response. After
        `grace` seconds the remaining ones are closed."""
        self.stopping = True
        for channel in list(self._channels):
            channel.stop()
        if not self._channels:
            return
        waiting: Deferred[None] = Deferred(lambda _: None)
        self._empty.append(waiting)
        try:
            await within(waiting, grace, self.clock)
        except TimeoutError:
            self._log.info("closing {count} connections after the grace period", count=len(self._channels))
        finally:
            for channel in list(self._channels):
                channel.abort()
