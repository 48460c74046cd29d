"""One call as a server sees it: a stream of requests and a stream of responses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd.store.grpc.framing import Deframer, frames_of
from orchd.store.grpc.status import OK, UNKNOWN, StatusError
from orchd.txkit.coroutines import enter
from orchd.txkit.deadlines import Deadline
from orchd.txkit.log import Logger

_log = Logger()


class Consumer(Protocol):
    """The service's side of a streaming call. No method raises anything but StatusError, which ends the call."""

    def message(self, data: bytes) -> None:
        """The client sent a message."""

    def half_closed(self) -> None:
        """The client will send no more."""

    def drained(self) -> None:
        """Everything queued has been handed to the connection."""

    def closed(self) -> None:
        """The call has ended, by whichever side: release everything. Called once."""


#: The response to a unary request, in pieces that are not copied, once it is known. Fails with StatusError.
UnaryResult = Coroutine[Deferred[Any], Any, Sequence[bytes]] | Deferred[Any]
#: A unary method. Raises StatusError.
Unary = Callable[[bytes], UnaryResult]
#: A streaming method: the consumer of a new call.
Streaming = Callable[["Call"], Consumer]


@dataclass(frozen=True, slots=True)
class Method:
    """One of `unary` and `streaming`."""

    unary: Unary | None = None
    streaming: Streaming | None = None


class Link(Protocol):
    """The connection as a call uses it."""

    def pump(self, call: Call) -> None:
        """Send what the windows admit, at the end of this turn of the reactor; the rest follows."""

    def flush(self) -> None:
        """Send at once what is to be sent at the end of this turn."""

    def finished(self, call: Call, code: int, message: str) -> None:
        """Send the status after what is queued."""


class Call:
    """`backlog` is the number of bytes that were queued and not sent."""

    __slots__ = (
        "backlog", "consumer", "deadline", "heads_sent", "link", "method", "out", "received", "running", "status",
        "stream", "taken",
    )  # fmt: skip

    def __init__(self, link: Link, stream: int, method: Method, largest: int) -> None:
        self.link = link
        self.stream = stream
        self.method = method
        self.received = Deframer(largest)
        #: Bytes received since the last window update.
        self.taken = 0
        self.out: deque[bytes] = deque()
        self.backlog = 0
        self.heads_sent = False
        #: The status, once the service has given it.
        self.status: tuple[int, str] | None = None
        self.deadline: Deadline | None = None
        self.running: Deferred[Sequence[bytes]] | None = None
        self.consumer: Consumer | None = method.streaming(self) if method.streaming is not None else None

    def send(self, pieces: Sequence[bytes]) -> None:
        """Queue one message. Does nothing after the end."""
        if self.status is None:
            self._queue(pieces)
            self.link.pump(self)

    def _queue(self, pieces: Sequence[bytes]) -> None:
        frames, size = frames_of(pieces)
        self.out += frames
        self.backlog += size

    def end(self, code: int = OK, message: str = "") -> None:
        """End the call with a status. Does nothing after the end."""
        if self.status is None:
            self.status = (code, message)
            self.link.finished(self, code, message)

    def take(self, data: bytes) -> None:
        """Data of the client. Raises nothing: its mistakes end the call."""
        if self.status is not None:
            return
        received = self.received
        try:
            message = received.first(data)
            while message is not None:
                if self.consumer is not None:
                    self.consumer.message(message)
                elif self.running is None:
                    self._run(message)
                message = received.next() if received.size and self.status is None else None
        except Exception:
            # Any exception: the other calls of the connection go on.
            self._failed(Failure())

    def half_close(self) -> None:
        """The client's side has ended."""
        try:
            if self.received.size:
                raise StatusError(UNKNOWN, "the request ends within a message")
            if self.consumer is not None:
                self.consumer.half_closed()
            elif self.status is None and self.running is None:
                raise StatusError(UNKNOWN, "the request has no message")
        except StatusError as error:
            self.end(error.code, str(error))

    def release(self) -> None:
        """The stream is gone: stop whatever runs for it. A write that was submitted continues."""
        if self.deadline is not None:
            self.deadline.cancel()
        self.out.clear()
        self.backlog = 0
        consumer, self.consumer = self.consumer, None
        if consumer is not None:
            consumer.closed()
        running, self.running = self.running, None
        if running is not None and not running.called:
            self.status = self.status or (UNKNOWN, "")
            running.cancel()

    def _run(self, message: bytes) -> None:
        assert self.method.unary is not None
        response = self.method.unary(message)
        if isinstance(response, Deferred):
            self.running = response
            response.addCallbacks(self._respond, self._failed).addErrback(self._failed)
        else:
            self.running = enter(response, self._respond, self._failed)

    def _respond(self, pieces: Sequence[bytes]) -> None:
        if self.status is None:
            self._queue(pieces)
            self.end()

    def _failed(self, failure: Failure) -> None:
        if self.status is not None:
            return
        error = failure.value
        if isinstance(error, StatusError):
            self.end(error.code, str(error))
            return
        _log.failure("a call failed", failure)
        self.end(UNKNOWN, "internal error")
