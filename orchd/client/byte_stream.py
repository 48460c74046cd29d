"""The body of an endless answer as pieces of bytes, with a bound on what waits to be read."""

from __future__ import annotations

from collections import deque
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone, ResponseFailed
from twisted.web.http import PotentialDataLoss
from twisted.web.iweb import IResponse
from zope.interface import implementer

from orchd.client.errors import NoAnswerError, UnreachableError
from orchd.client.interfaces import IByteStream
from orchd.client.streams import abort
from orchd.errors import ApiError

#: Bytes that may wait to be asked for before the server is made to wait.
_HIGH_WATER = 1024 * 1024


@implementer(IByteStream)
class ByteStream(Protocol):
    """Pieces of a response's body in order. The server is made to wait while too much waits here. After `seconds` the
    connection is closed and `next` raises NoAnswerError."""

    def __init__(self, response: IResponse, clock: IReactorTime, server: str, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._paused = False
        self._over = False
        self._error: ApiError | None = None
        self._waiting: Deferred[None] | None = None
        self._deadline: IDelayedCall | None = clock.callLater(seconds, self._expire)
        response.deliverBody(self)

    # -- Protocol

    def dataReceived(self, data: bytes) -> None:
        if self._over:
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size > _HIGH_WATER and not self._paused:
            self._paused = True
            self._producer().pauseProducing()
        self._wake()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if reason.check(ResponseDone, PotentialDataLoss):
            self._end(None)
            return
        inner = reason.value.reasons if isinstance(reason.value, ResponseFailed) else [reason]
        self._end(UnreachableError(self._server, ", ".join(each.getErrorMessage() for each in inner)))

    def _producer(self) -> Any:
        return self.transport

    def _expire(self) -> None:
        self._deadline = None
        self._end(NoAnswerError(self._server, self._seconds))
        abort(self)

    def _end(self, error: ApiError | None) -> None:
        if self._over:
            return
        self._over, self._error = True, error
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def _forget(self, waiting: Deferred[None]) -> None:
        if self._waiting is waiting:
            self._waiting = None

    # -- IByteStream

    async def next(self) -> bytes | None:
        while not self._pieces:
            if self._over:
                if self._error is not None:
                    raise self._error
                return None
            waiting = self._waiting = Deferred(self._forget)
            await waiting
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._paused and self._size <= _HIGH_WATER // 2:
            self._paused = False
            if not self._over:
                self._producer().resumeProducing()
        return piece

    def close(self) -> None:
        if not self._over:
            self._end(None)
            abort(self)
        self._pieces.clear()
        self._error = None
