"""Watches over WebSockets (RFC 6455): every event is one message, of text where the event is JSON.

For clients that cannot read a streaming response, mainly browsers. Data sent by the client is discarded.
"""

from __future__ import annotations

import re
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import generate_accept_token
from zope.interface import implementer

from orchd.server.pipeline.interfaces import ISink, IStream, Request, Response, StreamEnded
from orchd.txkit.drain_waiters import DrainWaiters

#: Characters of a subprotocol name (RFC 6455, 4.1).
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
#: Length prefix of protobuf events, in bytes; omitted in messages, which are delimited.
_LENGTH = 4


def respond(request: Request, stream: IStream, *, text: bool) -> Response:
    """Perform the handshake and start `stream` on the connection; 400 for an invalid handshake."""
    key = request.header("sec-websocket-key").strip()
    if request.header("sec-websocket-version").strip() != "13":
        return _refusal("missing or bad WebSocket Version", ("Sec-WebSocket-Version", "13"))
    if not key or not key.isascii():
        return _refusal("mismatch challenge/response")
    offered = request.header("sec-websocket-protocol").partition(",")[0].strip()
    if offered and not _TOKEN.fullmatch(offered):
        return _refusal("malformed Sec-WebSocket-Protocol")
    accept = generate_accept_token(key.encode("ascii")).decode()
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept}",
    ]
    if offered:
        lines.append(f"Sec-WebSocket-Protocol: {offered}")
    # Validate everything before taking over the connection: a later failure would leave it open.
    head = "\r\n".join([*lines, "", ""]).encode("ascii")
    assert request.hijack is not None
    taken = request.hijack()
    taken.transport.write(head)
    socket = WatchSocket(stream, text=text)
    taken.to(socket)
    socket.begin()
    # The connection was taken over: the returned response is not sent.
    return Response(code=101)


def _refusal(why: str, *headers: tuple[str, str]) -> Response:
    return Response(code=400, content_type="text/plain; charset=utf-8", headers=list(headers), body=why.encode())


@implementer(ISink, IPushProducer)
class WatchSocket(Protocol):
    """The server's end. States: open, closed (nothing more is sent)."""

    transport: Any

    def __init__(self, stream: IStream, *, text: bool) -> None:
        self._stream = stream
        self._text = text
        self._closed = False
        self._paused = False
        self._wire = Connection(ConnectionType.SERVER)
        #: The last ping received while the client does not read; None without one.
        self._pinged: Ping | None = None
        self._drain = DrainWaiters()
        #: Bytes written since the transport paused us.
        self.buffered = 0

    def begin(self) -> None:
        """Allow the stream to write."""
        self.transport.registerProducer(self, True)
        self._stream.start(self)

    # ISink

    def write(self, data: bytes) -> None:
        if not self._closed:
            self._send(TextMessage(data=data.decode()) if self._text else BytesMessage(data=data[_LENGTH:]))

    def writable(self) -> Deferred[None]:
        return self._drain.writable(StreamEnded, closed=self._closed, paused=self._paused)

    def finish(self) -> None:
        self._finish(CloseReason.NORMAL_CLOSURE)

    def _finish(self, code: int) -> None:
        if not self._closed:
            self._send(CloseConnection(code=code))
            self._close()
            self.transport.loseConnection()

    def abort(self) -> None:
        if not self._closed:
            self._close()
            self.transport.abortConnection()

    # IPushProducer

    def pauseProducing(self) -> None:
        self._paused = True

    def resumeProducing(self) -> None:
        self._paused = False
        self.buffered = 0
        pinged, self._pinged = self._pinged, None
        if pinged is not None and not self._closed:
            self._send(pinged.response())
        self._drain.opened()

    def stopProducing(self) -> None:
        self._client_closed()

    # Protocol

    def dataReceived(self, data: bytes) -> None:
        if self._closed:
            return
        self._wire.receive_data(data)
        for event in self._wire.events():
            if isinstance(event, Ping):
                self._ping(event)
            elif isinstance(event, CloseConnection):
                # Of a malformed frame, unless the client closes: it is refused and still open then.
                malformed = self._wire.state is ConnectionState.OPEN
                self._finish(event.code if malformed else CloseReason.NORMAL_CLOSURE)
                self._stream.stop()
                return

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._client_closed()

    def _ping(self, ping: Ping) -> None:
        """Send the pong for a ping. While the client does not read, only the last ping is retained, and its pong is
        sent later (RFC 6455, 5.5.3), to bound memory."""
        if self._paused:
            self._pinged = ping
        else:
            self._send(ping.response())

    def _send(self, event: Event) -> None:
        frame = self._wire.send(event)
        self.transport.write(frame)
        if self._paused:
            self.buffered += len(frame)

    def _client_closed(self) -> None:
        if not self._closed:
            self._close()
            self._stream.stop()

    def _close(self) -> None:
        self._closed = True
        self.transport.unregisterProducer()
        self._drain.lost(StreamEnded)
