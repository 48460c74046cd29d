"""A queue of byte pieces from a connection to one reader, with backpressure, and a protocol that has one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.txkit.drain_waiters import DrainWaiters

#: Queued bytes above which the connection is paused; it is resumed below half of this.
HIGH_WATER = 1024 * 1024


class PieceQueue:
    """States: open, ended (queued pieces can still be read). `hold` is called with True to pause the connection and
    with False to resume it."""

    def __init__(self, hold: Callable[[bool], object]) -> None:
        self._hold = hold
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._held = False
        self._error: ApiError | None = None
        self._waiting: Deferred[None] | None = None
        self.ended = False

    def put(self, *pieces: bytes) -> None:
        """Add pieces, in order; ignored after the end."""
        if self.ended or not pieces:
            return
        self._pieces.extend(pieces)
        self._size += sum(map(len, pieces))
        if self._size > HIGH_WATER and not self._held:
            self._held = True
            self._hold(True)
        self._wake()

    def end(self, error: ApiError | None) -> bool:
        """End the queue: after the queued pieces, `next` raises `error` or returns None. False if it had ended
        before."""
        if self.ended:
            return False
        self.ended, self._error = True, error
        self._wake()
        return True

    def clear(self) -> None:
        """Drop the queued pieces and the error."""
        self._pieces.clear()
        self._size = 0
        self._error = None

    async def next(self) -> bytes | None:
        """The next piece; None at the end. Raises the error of the end, every time."""
        while not self._pieces:
            if self.ended:
                if self._error is not None:
                    raise self._error
                return None
            waiting = self._waiting = Deferred(self._forget)
            await waiting
        piece = self._pieces.popleft()
        self._size -= len(piece)
        if self._held and self._size <= HIGH_WATER // 2:
            self._held = False
            if not self.ended:
                self._hold(False)
        return piece

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def _forget(self, waiting: Deferred[None]) -> None:
        self._waiting = None


@implementer(IPushProducer)
class QueuedProtocol(Protocol):
    """The transport is paused while the reader of `_queue` is slow; writers wait in `_drain` while `_paused`, which
    says that the transport's buffer is full."""

    transport: Any

    def __init__(self) -> None:
        self._queue = PieceQueue(self._hold)
        self._paused = False
        self._drain = DrainWaiters()

    def connectionMade(self) -> None:
        self.transport.registerProducer(self, True)

    def _hold(self, hold: bool) -> None:
        if hold:
            self.transport.pauseProducing()
        else:
            self.transport.resumeProducing()

    def pauseProducing(self) -> None:
        self._paused = True

    def resumeProducing(self) -> None:
        self._paused = False
        self._drain.opened()

    def stopProducing(self) -> None:
        """The end of the connection follows."""
