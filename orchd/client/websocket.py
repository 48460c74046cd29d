"""`WebSocket`: the client's end of a WebSocket connection (RFC 6455), with bounds on what waits in both directions."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.client.errors import UnreachableError
from orchd.client.interfaces import IWebSocket
from orchd.client.piece_queue import PieceQueue
from orchd.client.statuses import error_of
from orchd.errors import ApiError
from orchd.kinds.digits import is_whole
from orchd.txkit.drain_waiters import DrainWaiters

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_NORMAL = (1000).to_bytes(2, "big")
#: Bytes of a handshake's answer, of a refusal's body, and of one message.
_MOST_HEAD, _MOST_REFUSAL, _MOST_MESSAGE = 64 * 1024, 1024 * 1024, 32 * 1024 * 1024
#: Most bytes of a control frame's payload.
_MOST_CONTROL = 125


class _Lost(Exception):
    """The connection has ended while a writer waited."""


def handshake(target: str, host: str, headers: Sequence[tuple[str, str]], protocols: Sequence[str], key: str) -> bytes:
    """The head of the request that opens a WebSocket. Raises ValueError for headers with line breaks."""
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
    lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
    lines.append(f"Sec-WebSocket-Protocol: {', '.join(protocols)}")
    if any(character in line for line in lines for character in "\r\n\0"):
        raise ValueError("a header contains a line break")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def masked(payload: bytes, mask: bytes) -> bytes:
    """A payload as clients send it (RFC 6455, 5.3)."""
    size = len(payload)
    pattern = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")).to_bytes(size, "big")


@implementer(IWebSocket, IPushProducer)
class WebSocket(Protocol):
    """States: handshake, open, closed. `opened` fires with the WebSocket when the server has agreed to one of `protocols`, and
    fails with ApiError otherwise; cancelling it aborts the connection."""

    transport: Any

    def __init__(self, server: str, target: str, host: str, headers: Sequence[tuple[str, str]], protocols: Sequence[str]) -> None:
        self._server = server
        self._offered = tuple(protocols)
        self._key = b64encode(secrets.token_bytes(16))
        self._head = handshake(target, host, headers, protocols, self._key.decode())
        self._received = b""
        self._refused: int | None = None
        self._parts: list[bytes] = []
        self._closed = False
        self._paused = False
        self._drain = DrainWaiters()
        self._queue = PieceQueue(self._hold)
        self.protocol = ""
        self.opened: Deferred[WebSocket] = Deferred(lambda _: self.transport.abortConnection())

    # -- IWebSocket

    async def next(self) -> bytes | None:
        return await self._queue.next()

    async def send(self, message: bytes) -> None:
        if self._closed:
            return
        self._frame_out(_BINARY, message)
        if self._paused:
            # The failure is reported to the reader of the stream.
            with contextlib.suppress(_Lost):
                await self._drain.wait()

    def close(self) -> None:
        if not self._closed:
            self._frame_out(_CLOSE, _NORMAL)
        self._end(None)
        self._queue.clear()

    # -- IPushProducer: the transport's buffer

    def pauseProducing(self) -> None:
        self._paused = True

    def resumeProducing(self) -> None:
        self._paused = False
        self._drain.opened()

    def stopProducing(self) -> None:
        """The end of the connection follows."""

    # -- Protocol

    def connectionMade(self) -> None:
        self.transport.registerProducer(self, True)
        self.transport.write(self._head)

    def dataReceived(self, data: bytes) -> None:
        self._received += data
        if not self.opened.called and not self._agreed():
            return
        while not self._closed and self._frame():
            """One more frame was complete."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._refused is not None:
            self._refuse()
        why = UnreachableError(self._server, f"the connection was lost: {reason.getErrorMessage()}")
        if not self.opened.called:
            self.opened.errback(why)
        self._end(why)

    def _hold(self, hold: bool) -> None:
        if hold:
            self.transport.pauseProducing()
        else:
            self.transport.resumeProducing()

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

    # -- handshake

    def _agreed(self) -> bool:
        """Read the answer to the handshake. True if the server accepted the upgrade."""
        if self._refused is not None:
            self._read_refusal()
            return False
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            if len(self._received) > _MOST_HEAD:
                self._fail("the answer to a WebSocket handshake does not end")
            return False
        status, *lines = head.decode("latin-1").split("\r\n")
        words = status.split(None, 2)
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(words) < 2 or not is_whole(words[1]) or len(words[1]) != 3:
            self._fail("the answer to a WebSocket handshake is not HTTP")
            return False
        self._received = rest
        if words[1] != "101":
            self._refused = int(words[1])
            length = fields.get("content-length", "")
            self._left = int(length) if is_whole(length) and len(length) < 10 else _MOST_REFUSAL
            self._read_refusal()
            return False
        accept = b64encode(hashlib.sha1(self._key + _MAGIC, usedforsecurity=False).digest()).decode()
        chosen = fields.get("sec-websocket-protocol", "")
        if fields.get("upgrade", "").lower() != "websocket" or fields.get("sec-websocket-accept") != accept:
            self._fail("the answer to a WebSocket handshake does not fit it")
            return False
        if chosen not in self._offered:
            self._fail(f"none of the protocols {', '.join(self._offered)} is spoken there")
            return False
        self.protocol = chosen
        self.opened.callback(self)
        return True

    def _read_refusal(self) -> None:
        if len(self._received) >= min(self._left, _MOST_REFUSAL):
            self._refuse()
            self.transport.abortConnection()

    def _refuse(self) -> None:
        """Fail with what the server said instead of agreeing."""
        code, self._refused = self._refused or 0, None
        if self.opened.called:
            return
        data = self._received[: min(self._left, _MOST_REFUSAL)]
        try:
            status: Any = orjson.loads(data)
        except orjson.JSONDecodeError:
            status = data.decode("utf-8", "replace")
        error = error_of(status, code)
        self.opened.errback(error)
        self._end(error)

    # -- frames

    def _frame(self) -> bool:
        """Take the next frame from what was received; False when it is not complete."""
        data = self._received
        if len(data) < 2:
            return False
        opcode, size, at = data[0] & 0x0F, data[1] & 0x7F, 2
        if data[0] & 0x70 or data[1] & 0x80:
            self._fail("a WebSocket frame is masked or has reserved bits")
            return False
        if size >= 126:
            width = 2 if size == 126 else 8
            if len(data) < at + width:
                return False
            size, at = int.from_bytes(data[at : at + width], "big"), at + width
        control = opcode >= _CLOSE
        if (control and (size > _MOST_CONTROL or not data[0] & 0x80)) or size + sum(map(len, self._parts)) > _MOST_MESSAGE:
            self._fail("a WebSocket frame is too large")
            return False
        if len(data) < at + size:
            return False
        payload, self._received = data[at : at + size], data[at + size :]
        if control:
            self._control(opcode, payload)
        elif opcode > _BINARY or (opcode == _CONTINUATION) != bool(self._parts):
            self._fail("a WebSocket frame is out of place")
        else:
            self._parts.append(payload)
            if data[0] & 0x80:
                whole, self._parts = b"".join(self._parts), []
                self._queue.put(whole)
        return True

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == _CLOSE:
            self._frame_out(_CLOSE, payload[:2])
            self._end(None)
        elif opcode == _PING and not self._paused:
            self._frame_out(_PONG, payload)
        elif opcode not in (_PING, _PONG):
            self._fail("a WebSocket frame is of an unknown sort")

    def _frame_out(self, opcode: int, payload: bytes) -> None:
        size, mask = len(payload), secrets.token_bytes(4)
        if size < 126:
            head = bytes((0x80 | opcode, 0x80 | size))
        elif size < 1 << 16:
            head = bytes((0x80 | opcode, 0x80 | 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((0x80 | opcode, 0x80 | 127)) + size.to_bytes(8, "big")
        self.transport.write(head + mask + masked(payload, mask))
