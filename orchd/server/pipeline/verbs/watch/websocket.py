"""Watches over WebSockets (RFC 6455): every event is one message, of text where the event is JSON.

For clients that cannot read a streaming response, mainly browsers. Data sent by the client is discarded.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.server.pipeline.interfaces import ISink, IStream, Request, Response, StreamEnded
from orchd.txkit.drain_waiters import DrainWaiters

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x1, 0x2, 0x8, 0x9, 0xA
_NORMAL = (1000).to_bytes(2, "big")
#: Characters of a subprotocol name (RFC 6455, 4.1).
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
#: Length prefix of protobuf events, in bytes; omitted in messages, which are delimited.
_LENGTH = 4


def is_requested(request: Request) -> bool:
    """True if the client requests a WebSocket on a connection that supports it."""
    return (
        request.hijack is not None
        and request.header("upgrade").lower() == "websocket"
        and any("upgrade" in value.lower() for value in request.headers.get("connection", ()))
    )


def answer(request: Request, stream: IStream, *, text: bool) -> Response:
    """Perform the handshake and start `stream` on the connection; 400 for an invalid handshake."""
    key = request.header("sec-websocket-key").strip()
    if request.header("sec-websocket-version").strip() != "13":
        return _refusal("missing or bad WebSocket Version", ("Sec-WebSocket-Version", "13"))
    if not key or not key.isascii():
        return _refusal("mismatch challenge/response")
    offered = request.header("sec-websocket-protocol").partition(",")[0].strip()
    if offered and not _TOKEN.fullmatch(offered):
        return _refusal("malformed Sec-WebSocket-Protocol")
    accept = b64encode(hashlib.sha1(key.encode("ascii") + _MAGIC, usedforsecurity=False).digest()).decode()
    lines = [
        "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {accept}",
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
        self._received = b""
        #: Payload of the last ping received while the client does not read; None without one.
        self._pinged: bytes | None = None
        #: Remaining bytes of the client's current frame, to be discarded.
        self._left = 0
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
            self._send(_TEXT, data) if self._text else self._send(_BINARY, data[_LENGTH:])

    def writable(self) -> Deferred[None]:
        return self._drain.writable(StreamEnded, closed=self._closed, paused=self._paused)

    def finish(self) -> None:
        if not self._closed:
            self._send(_CLOSE, _NORMAL)
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
            self._send(_PONG, pinged)
        self._drain.opened()

    def stopProducing(self) -> None:
        self._client_closed()

    # Protocol

    def dataReceived(self, data: bytes) -> None:
        data = self._received + data if self._received else data
        at = 0
        while not self._closed:
            size = self._frame(data, at)
            if not size:
                break
            at += size
        self._received = b"" if self._closed else data[at:]

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._client_closed()

    def _frame(self, data: bytes, at: int) -> int:
        """Consume the client's frame at `at`, or the available part of a discarded one; returns its size, 0 when
        incomplete."""
        if self._left:
            taken = min(self._left, len(data) - at)
            self._left -= taken
            return taken
        if len(data) - at < 2:
            return 0
        opcode, length, head = data[at] & 0x0F, data[at + 1] & 0x7F, 2
        if length >= 126:
            size = 2 if length == 126 else 8
            if len(data) - at < head + size:
                return 0
            length, head = int.from_bytes(data[at + head : at + head + size], "big"), head + size
        masked = 4 if data[at + 1] & 0x80 else 0
        if opcode < _CLOSE:
            self._left = masked + length
            return head
        if length > 125:
            # RFC 6455, 5.5: limit of control frames.
            self._end()
            return 0
        begin = at + head + masked
        if len(data) < begin + length:
            return 0
        mask, payload = data[at + head : begin], data[begin : begin + length]
        if masked:
            payload = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        if opcode == _CLOSE:
            self._end()
        elif opcode == _PING:
            self._ping(payload)
        return head + masked + length

    def _end(self) -> None:
        self.finish()
        self._stream.stop()

    def _ping(self, payload: bytes) -> None:
        """Answer a ping. While the client does not read, only the last ping is retained and answered later (RFC 6455,
        5.5.3), to bound memory."""
        if self._paused:
            self._pinged = payload
        else:
            self._send(_PONG, payload)

    def _send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes((0x80 | opcode, size))
        elif size < 1 << 16:
            head = bytes((0x80 | opcode, 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((0x80 | opcode, 127)) + size.to_bytes(8, "big")
        self.transport.write(head + payload)
        if self._paused:
            self.buffered += len(head) + size

    def _client_closed(self) -> None:
        if not self._closed:
            self._close()
            self._stream.stop()

    def _close(self) -> None:
        self._closed = True
        self.transport.unregisterProducer()
        self._drain.lost(StreamEnded)
