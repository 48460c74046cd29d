"""Sinks for streamed responses on HTTP/1.1 connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from zope.interface import implementer

from orchd.server.http.responses import LAST_CHUNK, chunk
from orchd.server.pipeline.interfaces import ISink, StreamEnded
from orchd.txkit.drain_waiters import DrainWaiters

if TYPE_CHECKING:
    from orchd.server.http.channel import HttpChannel


#: Bytes from which a chunk is written in parts: a copy of it would be held for each client that does not read.
_LARGE = 64 * 1024


class ChunkCache:
    """Caches the last encoded chunk: the same frame is sent to many watchers in succession."""

    __slots__ = ("chunk", "frame")

    def __init__(self) -> None:
        self.frame = b""
        self.chunk = b""

    def wrap(self, frame: bytes) -> bytes:
        if frame is not self.frame:
            self.frame = frame
            self.chunk = chunk(frame)
        return self.chunk


@implementer(ISink)
class ChunkSink:
    """Sends each write as one chunk, in the same reactor turn as far as the socket accepts it.

    For HTTP/1.0 clients (`raw`) bytes are sent without chunks, delimited by the end of the connection."""

    __slots__ = ("_channel", "_chunks", "_closed", "_drain", "_raw", "_send", "buffered")

    def __init__(self, channel: HttpChannel, chunks: ChunkCache, *, raw: bool) -> None:
        self._channel = channel
        self._send = channel.send
        self._chunks = chunks
        self._raw = raw
        self._closed = False
        #: Bytes written since the transport paused us.
        self.buffered = 0
        self._drain = DrainWaiters()

    def write(self, data: bytes) -> None:
        if self._closed or not data:
            return
        if self._raw:
            self._send(data)
        elif len(data) < _LARGE:
            chunks = self._chunks
            data = chunks.chunk if data is chunks.frame else chunks.wrap(data)
            self._send(data)
        else:
            self._send(b"%x\r\n" % len(data))
            self._send(data)
            self._send(b"\r\n")
        if self._channel.paused:
            self.buffered += len(data)

    def writable(self) -> Deferred[None]:
        return self._drain.writable(StreamEnded, closed=self._closed, paused=self._channel.paused)

    def resume(self) -> None:
        """The transport accepts data again (called by the channel)."""
        self.buffered = 0
        self._drain.opened()

    def lost(self) -> None:
        """The connection is gone (called by the channel)."""
        self._closed = True
        self.buffered = 0
        self._drain.lost(StreamEnded)

    def finish(self) -> None:
        if not self._closed:
            self._closed = True
            if not self._raw:
                self._send(LAST_CHUNK)
            self._channel.stream_finished()

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            self._channel.abort()
