"""Incoming request bodies, with bounded buffering."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred
from zope.interface import implementer

from orchd.errors import ApiError, too_large
from orchd.server.http.chunked import BadChunk, ChunkDecoder
from orchd.server.http.request_head import CHUNKED
from orchd.server.pipeline.interfaces import IBody


@implementer(IBody)
class NoBody:
    """The body of a request without one."""

    value = None
    __slots__ = ()

    async def read(self, limit: int) -> bytes:
        return b""


@implementer(IBody)
class IncomingBody:
    """Content of a known or unknown length that the connection feeds in.

    `wanted` is called when a reader starts: the connection then sends 100 Continue if needed, and resumes reading.
    """

    value = None
    __slots__ = (
        "_decoder", "_error", "_limit", "_pieces", "_waiting", "_wanted", "chunked", "complete", "discarding", "left", "size",
    )  # fmt: skip

    def __init__(self, length: int, wanted: Callable[[], None]) -> None:
        self.chunked = length == CHUNKED
        #: Remaining bytes, if known.
        self.left = length
        self._decoder = ChunkDecoder() if self.chunked else None
        self._wanted = wanted
        self._pieces: list[bytes] = []
        #: Number of buffered bytes.
        self.size = 0
        self._limit = -1
        self._waiting: Deferred[bytes] | None = None
        self._error: Exception | None = None
        #: True if no more data belongs to this body: it has ended, or is invalid.
        self.complete = False
        self.discarding = False

    @property
    def broken(self) -> bool:
        """True when the coding was invalid: the start of the next request is then unknown."""
        return self._error is not None

    @property
    def has_reader(self) -> bool:
        """True while a reader waits, so that the buffer limit does not apply."""
        return self._waiting is not None or self.discarding

    def feed(self, data: bytes) -> bytes:
        """Consume data of the body; returns the rest of `data`."""
        rest = b""
        if self._decoder is None:
            if len(data) > self.left:
                data, rest = data[: self.left], data[self.left :]
            self.left -= len(data)
            self._keep(data)
            self.complete = self.left == 0
        else:
            try:
                # Joined immediately: chunks may be single bytes, and each piece has an overhead.
                self._keep(b"".join(self._decoder.feed(data)))
            except BadChunk as error:
                # The reference responds 500 with the plain error text.
                self._error = ApiError(500, "", str(error))
                self.complete = True
            else:
                if self._decoder.ended:
                    rest = self._decoder.rest
                    self.complete = True
        if self._waiting is not None:
            self._settle()
        return rest

    def _keep(self, data: bytes) -> None:
        if data and not self.discarding:
            self._pieces.append(data)
            self.size += len(data)

    def _settle(self) -> None:
        """Complete the pending read, if possible."""
        waiting = self._waiting
        assert waiting is not None
        if self.size > self._limit:
            self._waiting = None
            self.discard()
            waiting.errback(too_large(self._limit))
        elif self._error is not None:
            self._waiting = None
            waiting.errback(self._error)
        elif self.complete:
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

    def lost(self) -> None:
        """The client disconnected: cancel a pending read."""
        self._error = CancelledError()
        self.complete = True
        if self._waiting is not None:
            self._settle()

    async def read(self, limit: int) -> bytes:
        self._limit = limit
        if self.size > limit or self.left > limit - self.size:
            self.discard()
            raise too_large(limit)
        if self._error is not None:
            raise self._error
        if self.complete:
            return self._take()
        self._waiting = Deferred(self._abandon)
        waiting = self._waiting
        self._wanted()
        return await waiting

    def _abandon(self, _: Deferred[bytes]) -> None:
        self._waiting = None
        self.discard()
