"""Response bodies: complete ones with a size limit, and watch streams."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.iweb import IResponse
from zope.interface import implementer

from orchd.client.bodies import BodyCodec
from orchd.client.body_stream import BodyStream, abort
from orchd.client.interfaces import IWatchStream, WatchEvent
from orchd.errors import ApiError

#: Maximum bytes of one event. Objects have a few MiB at most.
_LONGEST = 16 * 1024 * 1024


class _Whole(Protocol):
    def __init__(self, done: Deferred[bytes], limit: int) -> None:
        self._done = done
        self._limit = limit
        self._size = 0
        self._parts: list[bytes] = []

    def dataReceived(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._limit:
            abort(self)
        else:
            self._parts.append(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._done.called:
            return
        if self._size > self._limit:
            self._done.errback(ApiError(500, "InternalError", f"the server's response exceeds {self._limit} bytes"))
        elif reason.check(ResponseDone, PotentialDataLoss):
            self._done.callback(b"".join(self._parts))
        else:
            self._done.errback(reason)


def read_body(response: IResponse, limit: int) -> Deferred[bytes]:
    """Read the complete body. Fails above `limit` bytes. Cancelling aborts the connection."""

    def cancel(_: Deferred[bytes]) -> None:
        abort(protocol)

    done: Deferred[bytes] = Deferred(cancel)
    protocol = _Whole(done, limit)
    response.deliverBody(protocol)
    return done


class _EventStream(BodyStream):
    """Subclasses cut the body into events."""

    def __init__(self, response: IResponse, clock: IReactorTime, server: str, seconds: float, codec: BodyCodec, content_type: str) -> None:
        self._codec = codec
        self._content_type = content_type
        super().__init__(response, clock, server, seconds)

    async def next(self) -> WatchEvent | None:
        piece = await self.queue.next()
        if piece is None:
            return None
        try:
            return self._codec.decode_event(piece, self._content_type)
        except ApiError:
            self.close()
            raise

    def break_long(self, size: int) -> None:
        """End the stream if an event of this size is too large."""
        if size > _LONGEST and not self.queue.ended:
            self._break(ApiError(500, "InternalError", f"a watch event exceeds {_LONGEST} bytes"))


@implementer(IWatchStream)
class LineStream(_EventStream):
    """The events of a watch, each a line of the body."""

    def __init__(self, *arguments: Any) -> None:
        self._rest: list[bytes] = []
        self._rest_size = 0
        super().__init__(*arguments)

    def dataReceived(self, data: bytes) -> None:
        if self.queue.ended:
            return
        first, *lines = data.split(b"\n")
        self._rest.append(first)
        self._rest_size += len(first)
        if lines:
            whole = b"".join(self._rest)
            self._rest = [lines[-1]]
            self._rest_size = len(lines[-1])
            self.queue.put(*(line for line in (whole, *lines[:-1]) if line.strip()))
        self.break_long(self._rest_size)


@implementer(IWatchStream)
class FrameStream(_EventStream):
    """The events of a watch, each after its length in four bytes, big-endian."""

    def __init__(self, *arguments: Any) -> None:
        self._rest = b""
        #: Pieces of an event that is not complete.
        self._parts: list[bytes] = []
        self._missing = 0
        super().__init__(*arguments)

    def dataReceived(self, data: bytes) -> None:
        if self.queue.ended:
            return
        if len(data) < self._missing:
            self._parts.append(data)
            self._missing -= len(data)
            return
        data = b"".join((self._rest, *self._parts, data))
        self._parts.clear()
        at, events = 0, []
        while len(data) - at >= 4:
            size = int.from_bytes(data[at : at + 4], "big")
            if len(data) - at - 4 < size:
                break
            events.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        self._rest = data[at:]
        self.queue.put(*events)
        size = int.from_bytes(self._rest[:4], "big") if len(self._rest) >= 4 else 0
        self._missing = max(0, 4 + size - len(self._rest))
        self.break_long(size)
