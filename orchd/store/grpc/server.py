"""A gRPC server's connections: HTTP/2 streams to calls and back (RFC 9113, "gRPC over HTTP2").

A client's mistake ends its call with a status, or its connection if HTTP/2 itself is broken. Everything that waits is
bounded: the size of a request, the incomplete requests of a connection, its calls, its responses that the client does
not read, and connections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final
from urllib.parse import quote

from twisted.internet.interfaces import IAddress, IPushProducer, IReactorTime, ITCPTransport
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.store.grpc.call import Call, Method
from orchd.store.grpc.http2 import ENHANCE_YOUR_CALM, NO_ERROR, REFUSED_STREAM, Http2, Http2Error, header_block
from orchd.store.grpc.sending import Sender
from orchd.store.grpc.status import DEADLINE_EXCEEDED, INTERNAL, OK, RESOURCE_EXHAUSTED, UNAVAILABLE, UNIMPLEMENTED
from orchd.txkit.deadlines import Deadlines
from orchd.txkit.http2_frames import FramePacer
from orchd.txkit.log import Logger

_log = Logger()
#: Flow control windows of requests in bytes, of one stream and of the connection.
_STREAM_WINDOW: Final = 1024 * 1024
_CONNECTION_WINDOW: Final = 16 * 1024 * 1024
#: Frames without content that a client may send at once and per second: Go's clients send a PING per burst of data.
_BURST: Final = 20_000
_RATE: Final = 10_000
#: Bytes of one response that are framed before other calls have their turn: some milliseconds.
_PORTION: Final = 512 * 1024
#: Seconds until a new connection must have sent a request's head.
_GREETING: Final = 20.0
#: Units of grpc-timeout in seconds.
_UNITS: Final = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_TIMEOUT: Final = re.compile(rb"(\d{1,8})([HMSmun])\Z")
_HEADS: Final = ((b":status", b"200"), (b"content-type", b"application/grpc"))
_HEADS_BLOCK: Final = header_block(_HEADS)
_TRAILERS_OK: Final = header_block(((b"grpc-status", b"0"),))
_NOT_GRPC: Final = header_block(((b":status", b"415"), (b"content-length", b"0")))
_NO_POST: Final = header_block(((b":status", b"405"), (b"allow", b"POST")))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Sizes in bytes: of one request, and of a connection's incomplete requests and unread responses. `calls` is the
    number of concurrent calls of a connection."""

    request: int = 4 * 1024 * 1024
    incomplete: int = 64 * 1024 * 1024
    unread: int = 256 * 1024 * 1024
    calls: int = 1000
    connections: int = 1000


@implementer(IPushProducer)
class ServerConnection(Protocol):
    """One client."""

    def __init__(self, factory: ServerFactory, clock: IReactorTime, limits: CallLimits) -> None:
        self.factory = factory
        self._clock = clock
        self._limits = limits
        self._http = Http2(
            self, client=False, window=_STREAM_WINDOW, connection_window=_CONNECTION_WINDOW, most=limits.calls
        )
        self._sender = Sender(self._http, clock)
        self._pacer = FramePacer(clock, requests=50, burst=_BURST, rate=_RATE)
        self._calls: dict[int, Call] = {}
        #: Calls with something to send that wait for a window or the transport, in order of their turns.
        self._blocked: dict[Call, None] = {}
        self._arrived = b""
        self._more: Any = None
        self._greeting: Any = None
        self._turn: Any = None
        self._taken = 0
        self._paused = False
        self._closing = False
        self._deferred_flush = False

    # Lifecycle.

    def connectionMade(self) -> None:
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpKeepAlive(True)
            self.transport.setTcpNoDelay(True)
        self.transport.registerProducer(self, True)  # type: ignore[union-attr]  # connected
        self._sender.connected(self.transport)
        self._http.start()
        self._greeting = self._clock.callLater(_GREETING, self._abort, "nothing was asked")
        self._sender.now()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.factory.lost(self)
        self._closing = True
        for timer in (self._more, self._greeting, self._turn):
            if timer is not None and timer.active():
                timer.cancel()
        self._more = None
        calls = list(self._calls.values())
        self._calls.clear()
        self._blocked.clear()
        for call in calls:
            call.release()

    def _abort(self, why: str) -> None:
        _log.info("a connection of the served store is closed: {why}", why=why)
        self._closing = True
        if self.transport is not None:
            self.transport.abortConnection()  # type: ignore[attr-defined]  # TCP, Unix and TLS transports have it

    def retire(self) -> None:
        """Accept no more calls, end streaming ones, and close when the others are done."""
        for call in list(self._calls.values()):
            if call.method.streaming is not None:
                call.end(UNAVAILABLE, "etcdserver: server stopped")
        self._closing = True
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._closing and not self._calls and self.transport is not None:
            # Not before: clients end their calls at it.
            self._http.go_away()
            self._sender.now()
            self.transport.loseConnection()

    # Producer: the transport says when it takes more.

    def pauseProducing(self) -> None:
        self._paused = True

    def resumeProducing(self) -> None:
        self._paused = False
        self._go_on_sending()

    def stopProducing(self) -> None:
        self._paused = True

    # Frames.

    def dataReceived(self, data: bytes) -> None:
        self._arrived += data
        if self._more is None:
            self._go_on()

    def _go_on(self) -> None:
        """Process a portion of what has arrived."""
        waited, self._more = self._more is not None, None
        size = self._pacer.take(self._arrived)
        taken, self._arrived = self._arrived[:size], self._arrived[size:]
        if self._pacer.exceeded:
            self._http.go_away(ENHANCE_YOUR_CALM)
            self._sender.now()
            self._abort("too many frames without content")
            return
        if taken and not self._process(taken):
            return
        transport: Any = self.transport
        if self._pacer.more(len(self._arrived)):
            self._more = self._clock.callLater(0, self._go_on)
            if not waited:
                transport.pauseProducing()
        elif waited:
            transport.resumeProducing()

    def _process(self, data: bytes) -> bool:
        """False after an error of the client, which ends the connection."""
        self._deferred_flush = True
        try:
            self._http.receive(data)
        except Http2Error as error:
            self._deferred_flush = False
            self._sender.now()
            self._abort(f"the client broke HTTP/2: {error}")
            return False
        self._deferred_flush = False
        self._pump_blocked()
        self._sender.now()
        return True

    # Owner of streams.

    def headers_received(self, stream: int, headers: Mapping[bytes, bytes], ended: bool) -> None:
        call = self._calls.get(stream)
        if call is None:
            self._request(stream, headers)
            call = self._calls.get(stream)
        if ended and call is not None:
            call.half_close()

    def data_received(self, stream: int, data: bytes, ended: bool) -> None:
        call = self._calls.get(stream)
        if call is None:
            return
        call.take(data)
        if call.received.size and sum(each.received.size for each in self._calls.values()) > self._limits.incomplete:
            call.end(RESOURCE_EXHAUSTED, "etcdserver: too many requests")
        if ended:
            call.half_close()

    def stream_reset(self, stream: int, code: int) -> None:
        call = self._calls.pop(stream, None)
        if call is not None:
            self._blocked.pop(call, None)
            call.release()
            self._close_if_idle()

    def windows_opened(self) -> None:
        """Does nothing: whatever waits is tried after each portion."""

    def going_away(self, last: int, code: int) -> None:
        self._closing = True
        self._close_if_idle()

    def _request(self, stream: int, headers: Mapping[bytes, bytes]) -> None:
        if self._greeting is not None and self._greeting.active():
            self._greeting.cancel()
        if self._closing:
            self._http.reset(stream, REFUSED_STREAM)
            return
        if not headers.get(b"content-type", b"").startswith(b"application/grpc"):
            self._respond(stream, _NOT_GRPC)
            return
        if headers.get(b":method") != b"POST":
            self._respond(stream, _NO_POST)
            return
        path = headers.get(b":path", b"")
        method = self.factory.methods.get(path)
        if method is None:
            name = path.decode("ascii", "replace")[:200]
            self._refuse(stream, UNIMPLEMENTED, f"{name} is not implemented by this store")
            return
        seconds = _seconds(headers.get(b"grpc-timeout"))
        if seconds is None:
            self._refuse(stream, INTERNAL, "malformed grpc-timeout")
            return
        if self._blocked and sum(call.backlog for call in self._blocked) > self._limits.unread:
            self._refuse(stream, RESOURCE_EXHAUSTED, "etcdserver: too many requests")
            return
        call = self._calls[stream] = Call(self, stream, method, self._limits.request)
        if seconds:
            call.deadline = self.factory.deadlines.after(
                seconds, partial(call.end, DEADLINE_EXCEEDED, "etcdserver: context deadline exceeded")
            )

    def _refuse(self, stream: int, code: int, message: str) -> None:
        self._respond(stream, header_block((*_HEADS, *_trailers(code, message))))

    def _respond(self, stream: int, block: bytes) -> None:
        """Refuse a request that has no call, and reset its stream if the request is not complete (RFC 9113, 8.1)."""
        self._http.send_headers(stream, block, last=True)
        self._http.reset(stream, NO_ERROR)

    # Sending.

    def pump(self, call: Call) -> None:
        """Send what windows and transport admit of a call."""
        if call.out or call.status is not None:
            self._blocked[call] = None
        if not self._deferred_flush:
            self._pump_blocked()
            # With the other responses to writes of the same commit, and its events.
            self._sender.soon()

    def flush(self) -> None:
        self._sender.now()

    def finished(self, call: Call, code: int, message: str) -> None:
        if code != OK:
            # What was queued is part of no complete response.
            call.out.clear()
            call.backlog = 0
        self.pump(call)

    def _go_on_sending(self) -> None:
        self._turn = None
        self._pump_blocked()
        self._sender.now()

    def _pump_blocked(self) -> None:
        """Each call that waits has one portion sent, if its window is open."""
        for call in list(self._blocked):
            if self._paused:
                return
            if call.stream not in self._calls:
                self._blocked.pop(call, None)
                continue
            # At the end of the queue, if anything remains.
            self._blocked.pop(call, None)
            self._send(call)

    def _send(self, call: Call) -> None:
        http, stream = self._http, call.stream
        if not call.heads_sent and call.out:
            call.heads_sent = True
            http.send_headers(stream, _HEADS_BLOCK)
        if call.out:
            sent = http.send_data(stream, call.out, last=False, most=_PORTION)
            call.backlog -= sent
            if call.out:
                self._blocked[call] = None
                if sent >= _PORTION and self._turn is None:
                    self._turn = self._clock.callLater(0, self._go_on_sending)
                return
        if call.status is not None:
            self._end(call, *call.status)
        elif call.consumer is not None:
            call.consumer.drained()

    def _end(self, call: Call, code: int, message: str) -> None:
        if call.heads_sent and code == OK:
            block = _TRAILERS_OK
        else:
            trailers = _trailers(code, message) if code else ((b"grpc-status", b"0"),)
            block = header_block(trailers if call.heads_sent else (*_HEADS, *trailers))
        del self._calls[call.stream]
        call.release()
        self._respond(call.stream, block)
        self._close_if_idle()


def _trailers(code: int, message: str) -> tuple[tuple[bytes, bytes], ...]:
    text = quote(message, safe=" !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~").encode()
    return ((b"grpc-status", b"%d" % code), (b"grpc-message", text))


@lru_cache(maxsize=256)
def _seconds(timeout: bytes | None) -> float | None:
    """A grpc-timeout in seconds; 0.0 without one, None for a malformed one."""
    if timeout is None:
        return 0.0
    match = _TIMEOUT.match(timeout)
    return None if match is None else max(1e-9, int(match[1]) * _UNITS[match[2]])


class ServerFactory(Factory):
    """Accepts connections of clients that call `methods`, which are found by their paths."""

    noisy = False

    def __init__(self, methods: Mapping[bytes, Method], clock: IReactorTime, limits: CallLimits = CallLimits()) -> None:
        self.methods = methods
        self.deadlines = Deadlines(clock)
        self._clock = clock
        self._limits = limits
        self._connections: dict[ServerConnection, None] = {}

    def buildProtocol(self, addr: IAddress | None) -> ServerConnection | None:
        if len(self._connections) >= self._limits.connections:
            _log.warn("a connection to the served store is refused: there are {count}", count=len(self._connections))
            return None
        connection = ServerConnection(self, self._clock, self._limits)
        self._connections[connection] = None
        return connection

    def lost(self, connection: ServerConnection) -> None:
        self._connections.pop(connection, None)

    def retire(self) -> None:
        """End all connections as their calls are done."""
        for connection in list(self._connections):
            connection.retire()

    def abort(self) -> None:
        """End all connections now."""
        for connection in list(self._connections):
            if connection.transport is not None:
                # TCP, Unix and TLS transports have it.
                connection.transport.abortConnection()  # type: ignore[attr-defined]
        self.deadlines.stop()

    @property
    def connections(self) -> int:
        return len(self._connections)
