"""`WebSocket`: the client's end of a WebSocket connection (RFC 6455), with bounds on what waits in both directions."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import orjson
from h11 import LocalProtocolError as InvalidHead
from twisted.internet.defer import Deferred
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Message,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import RemoteProtocolError
from zope.interface import implementer

from orchd.client.errors import UnreachableError
from orchd.client.interfaces import IWebSocket
from orchd.client.piece_queue import QueuedProtocol
from orchd.client.statuses import error_of
from orchd.errors import ApiError

#: Bytes of a refusal's body, and of one message.
_MOST_REFUSAL, _MOST_MESSAGE = 1024 * 1024, 32 * 1024 * 1024


class _Lost(Exception):
    """The connection has ended while a writer waited."""


@implementer(IWebSocket)
class WebSocket(QueuedProtocol):
    """States: handshake, open, closed. `opened` fires with the WebSocket when the server has agreed to one of
    `protocols`, and fails with ApiError otherwise; cancelling it aborts the connection. Raises ValueError for headers
    that HTTP does not allow."""

    def __init__(
        self, server: str, target: str, host: str, headers: Sequence[tuple[str, str]], protocols: Sequence[str]
    ) -> None:
        super().__init__()
        self._server = server
        self._offered = list(protocols)
        self._wire = WSConnection(ConnectionType.CLIENT)
        extra = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        try:
            self._head = self._wire.send(
                Request(host=host, target=target, subprotocols=self._offered, extra_headers=extra)
            )
        except InvalidHead as error:
            raise ValueError(str(error)) from None
        #: Status code and body of a refusal.
        self._refused: int | None = None
        self._refusal = b""
        self._parts: list[bytes] = []
        self._size = 0
        self._closed = False
        self.protocol = ""
        self.opened: Deferred[WebSocket] = Deferred(lambda _: self.transport.abortConnection())

    # -- IWebSocket

    async def next(self) -> bytes | None:
        return await self._queue.next()

    async def send(self, message: bytes) -> None:
        if self._closed:
            return
        self._send(BytesMessage(data=message))
        if self._paused:
            # The failure is reported to the reader of the stream.
            with contextlib.suppress(_Lost):
                await self._drain.wait()

    def close(self) -> None:
        if not self._closed:
            self._send(CloseConnection(code=CloseReason.NORMAL_CLOSURE))
        self._end(None)
        self._queue.clear()

    # -- Protocol

    def connectionMade(self) -> None:
        super().connectionMade()
        self.transport.write(self._head)

    def dataReceived(self, data: bytes) -> None:
        if self._closed:
            return
        try:
            self._wire.receive_data(data)
        except (RemoteProtocolError, ValueError) as error:
            self._fail(f"the response to a WebSocket handshake does not fit it: {error}")
            return
        for event in self._wire.events():
            self._handle(event)
            if self._closed:
                return

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._refused is not None:
            self._refuse()
        why = f"the connection was lost: {reason.getErrorMessage()}"
        if self.opened.called:
            # The server was there; what it connects to may have ended.
            self._end(ApiError(502, "BadGateway", f"{self._server}: {why}"))
            return
        error = UnreachableError(self._server, why)
        self.opened.errback(error)
        self._end(error)

    def _end(self, error: ApiError | None) -> None:
        if not self._closed:
            self._closed = True
            self.transport.unregisterProducer()
            self.transport.loseConnection()
            self._drain.lost(_Lost)
        self._queue.end(error)

    def _fail(self, why: str) -> None:
        error = ApiError(502, "BadGateway", f"{self._server}: {why}")
        if not self.opened.called:
            self.opened.errback(error)
        self._end(error)
        self.transport.abortConnection()

    # -- events

    def _send(self, event: Event) -> None:
        self.transport.write(self._wire.send(event))

    def _handle(self, event: Event) -> None:
        match event:
            case AcceptConnection(subprotocol=None):
                self._fail(f"none of the protocols {', '.join(self._offered)} is spoken there")
            case AcceptConnection(subprotocol=str(chosen)):
                self.protocol = chosen
                self.opened.callback(self)
            case RejectConnection():
                self._refused = event.status_code
                if not event.has_body:
                    self._refuse()
            case RejectData():
                self._refusal += event.data
                if event.body_finished or len(self._refusal) > _MOST_REFUSAL:
                    self._refuse()
            case Message():
                self._collect(event)
            case Ping() if not self._paused:
                self._send(event.response())
            case CloseConnection() if self._wire.state is ConnectionState.OPEN:
                self._fail(f"malformed WebSocket frame: {event.reason}")
            case CloseConnection():
                self._send(event.response())
                self._end(None)

    def _refuse(self) -> None:
        """Fail with what the server said instead of agreeing."""
        code, self._refused = self._refused or 0, None
        if not self.opened.called:
            data = self._refusal[:_MOST_REFUSAL]
            try:
                status: Any = orjson.loads(data)
            except orjson.JSONDecodeError:
                status = data.decode("utf-8", "replace")
            error = error_of(status, code)
            self.opened.errback(error)
            self._end(error)
        self.transport.abortConnection()

    def _collect(self, piece: Message[Any]) -> None:
        data = piece.data.encode() if isinstance(piece, TextMessage) else piece.data
        self._size += len(data)
        if self._size > _MOST_MESSAGE:
            self._fail("a WebSocket message is too large")
            return
        self._parts.append(data)
        if piece.message_finished:
            whole, self._parts, self._size = b"".join(self._parts), [], 0
            self._queue.put(whole)
