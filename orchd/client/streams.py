"""Response bodies: complete ones with a size limit, and watch streams with one event per line."""

from __future__ import annotations

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.iweb import IResponse
from zope.interface import implementer

from orchd.client.body_stream import BodyStream, abort
from orchd.client.interfaces import IWatchStream, WatchEvent
from orchd.client.statuses import error_of
from orchd.errors import ApiError

#: Maximum bytes of one line. Objects have a few MiB at most.
_LONGEST_LINE = 16 * 1024 * 1024


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


@implementer(IWatchStream)
class LineStream(BodyStream):
    """The events of a watch, each a line of the body."""

    def __init__(self, response: IResponse, clock: IReactorTime, server: str, seconds: float) -> None:
        self._rest: list[bytes] = []
        self._rest_size = 0
        super().__init__(response, clock, server, seconds)

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
        if self._rest_size > _LONGEST_LINE and not self.queue.ended:
            self._break(ApiError(500, "InternalError", f"a watch event exceeds {_LONGEST_LINE} bytes"))

    async def next(self) -> WatchEvent | None:
        line = await self.queue.next()
        if line is None:
            return None
        try:
            event = orjson.loads(line)
            kind, obj = event["type"], event["object"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            self.close()
            raise ApiError(500, "InternalError", f"malformed watch event: {error}") from None
        if kind == "ERROR":
            self.close()
            raise error_of(obj, 500)
        return WatchEvent(kind, obj)
