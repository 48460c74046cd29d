"""Response bodies: complete ones with a size limit, and watch streams."""

from __future__ import annotations

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
        # Not a list of pieces: a server may send them byte by byte.
        self._body = bytearray()

    def dataReceived(self, data: bytes) -> None:
        if self._done.called:
            return
        self._size += len(data)
        if self._size > self._limit:
            abort(self)
        else:
            self._body += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._done.called:
            return
        if self._size > self._limit:
            self._done.errback(ApiError(500, "InternalError", f"the server's response exceeds {self._limit} bytes"))
        elif reason.check(ResponseDone, PotentialDataLoss):
            self._done.callback(bytes(self._body))
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


@implementer(IWatchStream)
class EventStream(BodyStream):
    """The events of a watch."""

    def __init__(
        self, response: IResponse, clock: IReactorTime, server: str, seconds: float, codec: BodyCodec, content_type: str
    ) -> None:
        self._codec = codec
        self._content_type = content_type
        self._cutter = codec.cutter(content_type)
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

    def dataReceived(self, data: bytes) -> None:
        if self.queue.ended:
            return
        self.queue.put(*self._cutter.cut(data))
        if self._cutter.pending > _LONGEST and not self.queue.ended:
            self._break(ApiError(500, "InternalError", f"a watch event exceeds {_LONGEST} bytes"))
