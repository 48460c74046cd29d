"""Incoming request bodies, with bounded buffering."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred
from zope.interface import implementer

from orchd.errors import ApiError, too_large
from orchd.server.http.request_head import CHUNKED
from orchd.server.pipeline.interfaces import IArrival, IBody
from orchd.txkit.chunked import BadChunk, ChunkDecoder


@implementer(IBody)
class NoBody:
    """The body of a request without one."""

    value = None
    arrival = None
    length = 0
    __slots__ = ()

    async def read(self, limit: int) -> bytes:
        return b""

    async def piece(self) -> bytes:
        return b""


@implementer(IArrival, IBody)
class BufferedBody:
    """Content that a connection feeds in, and one reader takes: all of it, or piece by piece.

    `on_read` is called when a reader starts to wait: the connection then resumes reading."""

    value = None
    __slots__ = (
        "_by_pieces", "_enough", "_error", "_limit", "_on_read", "_pieces", "_waiting", "complete", "discarding", "length",
        "size",
    )  # fmt: skip

    def __init__(self, length: int | None, on_read: Callable[[], None]) -> None:
        self.length = length
        self._on_read = on_read
        self._pieces: list[bytes] = []
        #: Number of buffered bytes.
        self.size = 0
        self._limit = -1
        self._by_pieces = False
        #: Bytes after which `ends_within` does not wait any more; None unless it waits.
        self._enough: int | None = None
        self._waiting: Deferred[bytes] | None = None
        self._error: Exception | None = None
        #: True if no more data belongs to this body: it has ended, or is invalid.
        self.complete = False
        self.discarding = False

    @property
    def arrival(self) -> IArrival | None:
        return None if self.complete else self

    @property
    def broken(self) -> bool:
        """True when the body was invalid or refused: the start of the next request is then unknown."""
        return self._error is not None

    @property
    def has_reader(self) -> bool:
        """True while a reader waits, so that the buffer limit does not apply."""
        return self._waiting is not None or self.discarding

    def keep(self, data: bytes) -> None:
        """Append content."""
        if data and not self.discarding:
            self._pieces.append(data)
            self.size += len(data)

    def settle(self) -> None:
        """Complete the pending read, if possible. Called after content, and after the end."""
        waiting = self._waiting
        if waiting is None:
            return
        if self._enough is not None:
            if self.complete or self.size > self._enough:
                self._enough = self._waiting = None
                waiting.callback(b"")
        elif not self._by_pieces and self.size > self._limit:
            self._waiting = None
            self.discard()
            waiting.errback(too_large(self._limit))
        elif self._error is not None:
            self._waiting = None
            waiting.errback(self._error)
        elif self.complete or (self._by_pieces and self.size):
            self._waiting = None
            waiting.callback(self._take())

    def _take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        self.size = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def discard(self) -> None:
        """Discard buffered and future data."""
        self.discarding = True
        self._pieces = []
        self.size = 0

    def cancel(self) -> None:
        """The response ends before the body: discard the rest of the body, and cancel a pending read."""
        self.discard()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.errback(CancelledError())

    def lost(self) -> None:
        """The client disconnected: cancel a pending read."""
        self._error = CancelledError()
        self.complete = True
        self.settle()

    async def ends_within(self, size: int) -> bool:
        if not self.complete and self.size <= size:
            self._enough = size
            await self._wait()
        return self.complete and self.size <= size

    def refuse(self, error: Exception) -> None:
        self.discard()
        self._error = error
        self.settle()

    def _too_large(self, limit: int) -> bool:
        """True if more than `limit` bytes have arrived or are announced."""
        return self.size > limit or (self.length is not None and self.length > limit)

    async def read(self, limit: int) -> bytes:
        self._limit = limit
        if self._too_large(limit):
            self.discard()
            raise too_large(limit)
        if self._error is not None:
            raise self._error
        if self.complete:
            return self._take()
        return await self._wait()

    async def piece(self) -> bytes:
        if self._error is not None:
            raise self._error
        if self.discarding:
            raise CancelledError
        if self.size or self.complete:
            taken = self._take()
            # What was held back may arrive now.
            self._on_read()
            return taken
        self._by_pieces = True
        return await self._wait()

    async def _wait(self) -> bytes:
        waiting: Deferred[bytes] = Deferred(self._abandon)
        self._waiting = waiting
        self._on_read()
        return await waiting

    def _abandon(self, _: Deferred[bytes]) -> None:
        self._waiting = None
        self.discard()


class IncomingBody(BufferedBody):
    """Content of a known or unknown length on an HTTP/1.1 connection.

    `wanted` also sends 100 Continue if needed."""

    __slots__ = ("_decoder", "chunked", "left")

    def __init__(self, length: int, on_read: Callable[[], None]) -> None:
        self.chunked = length == CHUNKED
        super().__init__(None if self.chunked else length, on_read)
        #: Remaining bytes, if known.
        self.left = length
        self._decoder = ChunkDecoder() if self.chunked else None

    def feed(self, data: bytes) -> bytes:
        """Consume data of the body; returns the rest of `data`."""
        rest = b""
        if self._decoder is None:
            if len(data) > self.left:
                data, rest = data[: self.left], data[self.left :]
            self.left -= len(data)
            self.keep(data)
            self.complete = self.left == 0
        else:
            try:
                # Joined immediately: chunks may be single bytes, and each piece has an overhead.
                self.keep(b"".join(self._decoder.feed(data)))
            except BadChunk as error:
                # The reference responds 500 with the plain error text.
                self._error = ApiError(500, "", str(error))
                self.complete = True
            else:
                if self._decoder.ended:
                    rest = self._decoder.rest
                    self.complete = True
        if self._waiting is not None:
            self.settle()
        return rest
