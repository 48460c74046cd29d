"""Response bodies: complete ones with a size limit, and watch streams with one event per line."""

from __future__ import annotations

from collections import deque
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.iweb import IResponse
from zope.interface import implementer

from orchd.client.errors import NoAnswerError, UnreachableError
from orchd.client.interfaces import IWatchStream, WatchEvent
from orchd.client.statuses import error_of
from orchd.errors import ApiError

#: Maximum bytes of one line. Objects have a few MiB at most.
_LONGEST_LINE = 16 * 1024 * 1024
#: Buffered bytes above which the connection is paused.
_HIGH_WATER = 1024 * 1024


def abort(protocol: Protocol) -> None:
    """Abort the connection of a response body: a partly read connection cannot be reused."""
    transport = protocol.transport
    close = getattr(transport, "abortConnection", None) or getattr(transport, "loseConnection", None)
    if close is not None:
        close()


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
class LineStream(Protocol):
    """The events of a watch. Pauses the connection while its buffer is full, and aborts it after `seconds`."""

    def __init__(self, response: IResponse, clock: IReactorTime, server: str, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._paused = False
        self._over = False
        self._closed = False
        self._cut: ApiError | None = None
        self._waiting: Deferred[None] | None = None
        self._deadline: IDelayedCall | None = clock.callLater(seconds, self._late)
        response.deliverBody(self)

    # -- Protocol

    def dataReceived(self, data: bytes) -> None:
        if self._closed:
            return
        first, *lines = data.split(b"\n")
        self._rest.append(first)
        self._rest_size += len(first)
        if lines:
            whole = b"".join(self._rest)
            self._append(whole)
            for line in lines[:-1]:
                self._append(line)
            self._rest = [lines[-1]]
            self._rest_size = len(lines[-1])
            self._wake()
        if self._rest_size > _LONGEST_LINE:
            self._end(ApiError(500, "InternalError", f"a watch event exceeds {_LONGEST_LINE} bytes"))
            abort(self)
        elif self._size > _HIGH_WATER and not self._paused:
            self._paused = True
            self._transport().pauseProducing()

    def _append(self, line: bytes) -> None:
        if line.strip():
            self._lines.append(line)
            self._size += len(line)

    def _transport(self) -> Any:
        return self.transport

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if reason.check(ResponseDone, PotentialDataLoss):
            self._end(None)
        else:
            self._end(UnreachableError(self._server, reason.getErrorMessage()))

    def _late(self) -> None:
        self._deadline = None
        self._end(NoAnswerError(self._server, self._seconds))
        abort(self)

    def _end(self, why: ApiError | None) -> None:
        if self._over:
            return
        self._over = True
        self._cut = why
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def _left(self, waiting: Deferred[None]) -> None:
        if self._waiting is waiting:
            self._waiting = None

    # -- IWatchStream

    async def next(self) -> WatchEvent | None:
        while not self._lines:
            if self._over:
                if self._cut is not None and not self._closed:
                    raise self._cut
                return None
            waiting = self._waiting = Deferred(self._left)
            await waiting
        line = self._lines.popleft()
        self._size -= len(line)
        if self._paused and self._size <= _HIGH_WATER // 2:
            self._paused = False
            if not self._over:
                self._transport().resumeProducing()
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

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        over = self._over
        self._end(None)
        self._lines.clear()
        if not over:
            abort(self)
