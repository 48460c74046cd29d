"""Base class of streams over response bodies: the reader's queue, a time limit and the end of the stream."""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone, ResponseFailed
from twisted.web.http import PotentialDataLoss
from twisted.web.iweb import IResponse

from orchd.client.errors import NoResponseError, UnreachableError
from orchd.client.piece_queue import PieceQueue
from orchd.errors import ApiError


def abort(protocol: Protocol) -> None:
    """Abort the connection of a response body: a partly read connection cannot be reused."""
    transport = protocol.transport
    close = getattr(transport, "abortConnection", None) or getattr(transport, "loseConnection", None)
    if close is not None:
        close()


class BodyStream(Protocol):
    """Subclasses put pieces of the body into `queue`. The connection is paused while the queue is above its limit.
    After `seconds` it is aborted, and the queue ends with NoResponseError."""

    def __init__(self, response: IResponse, clock: IReactorTime, server: str, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self.queue = PieceQueue(self._hold)
        self._deadline: IDelayedCall | None = clock.callLater(seconds, self._late)
        response.deliverBody(self)

    def _hold(self, hold: bool) -> None:
        transport: Any = self.transport
        if hold:
            transport.pauseProducing()
        else:
            transport.resumeProducing()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if reason.check(ResponseDone, PotentialDataLoss):
            self._end(None)
            return
        inner = reason.value.reasons if isinstance(reason.value, ResponseFailed) else [reason]
        self._end(UnreachableError(self._server, ", ".join(each.getErrorMessage() for each in inner)))

    def _late(self) -> None:
        self._deadline = None
        self._break(NoResponseError(self._server, self._seconds))

    def _break(self, error: ApiError) -> None:
        """End with an error, and abort the connection."""
        self._end(error)
        abort(self)

    def _end(self, error: ApiError | None) -> None:
        if self.queue.end(error) and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def close(self) -> None:
        """Abort the connection and drop unread pieces. Idempotent."""
        running = not self.queue.ended
        self._end(None)
        self.queue.clear()
        if running:
            abort(self)
