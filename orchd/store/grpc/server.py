"""A gRPC server's connections: HTTP/2 streams to calls and back (RFC 9113, "gRPC over HTTP2").

A client's mistake ends its call with a status, or its connection if HTTP/2 itself is broken. Everything that waits is bounded: the size
of a request, the incomplete requests of a connection, its calls, its responses that the client does not read, and connections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from twisted.internet.interfaces import IAddress, IPushProducer, IReactorTime, ITCPTransport
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.store.grpc.call import Call, Method
from orchd.store.grpc.framing import send_admitted
from orchd.store.grpc.status import DEADLINE_EXCEEDED, INTERNAL, OK, RESOURCE_EXHAUSTED, UNAVAILABLE, UNIMPLEMENTED
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
_TRAILERS_OK: Final = ((b"grpc-status", b"0"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Sizes in bytes: of one request, and of a connection's incomplete requests and unread responses. `calls` is the number of
    concurrent calls of a connection."""

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
        http: Any = H2Connection(
            config=H2Configuration(
                client_side=False,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                # Only four headers are read, each with a check of its own, and nothing is passed on.
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        http.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: limits.calls, SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW,
                SettingCodes.MAX_HEADER_LIST_SIZE: 16 * 1024,
            },
        )  # fmt: skip
        self._http = http
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
        self._http.initiate_connection()
        self._http.increment_flow_control_window(_CONNECTION_WINDOW)
        self._greeting = self._clock.callLater(_GREETING, self._abort, "nothing was asked")
        self._flush()

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
        """Accept no more calls, end streaming ones, and close when the others are answered."""
        for call in list(self._calls.values()):
            if call.method.streaming is not None:
                call.end(UNAVAILABLE, "etcdserver: server stopped")
        self._closing = True
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._closing and not self._calls and self.transport is not None:
            # Not before: clients end their calls at it.
            self._http.close_connection()
            self._flush()
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
            self._http.close_connection(error_code=ErrorCodes.ENHANCE_YOUR_CALM)
            self._flush()
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
            for event in self._http.receive_data(data):
                self._event(event)
        except ProtocolError as error:
            self._deferred_flush = False
            self._flush()
            self._abort(f"the client broke HTTP/2: {error}")
            return False
        self._deferred_flush = False
        self._pump_blocked()
        self._flush()
        return True

    def _event(self, event: Any) -> None:
        kind = type(event)
        if kind is events.DataReceived:
            self._data(event)
        elif kind is events.RequestReceived:
            self._request(event.stream_id, dict(event.headers))
        elif kind is events.StreamEnded:
            call = self._calls.get(event.stream_id)
            if call is not None:
                call.half_close()
        elif kind is events.StreamReset:
            call = self._calls.pop(event.stream_id, None)
            if call is not None:
                self._blocked.pop(call, None)
                call.release()
                self._close_if_idle()
        elif kind is events.ConnectionTerminated:
            self._closing = True
            self._close_if_idle()

    def _request(self, stream: int, headers: Mapping[bytes, bytes]) -> None:
        if self._greeting is not None and self._greeting.active():
            self._greeting.cancel()
        if self._closing:
            self._http.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
            return
        if not headers.get(b"content-type", b"").startswith(b"application/grpc"):
            self._http.send_headers(stream, [(b":status", b"415"), (b"content-length", b"0")], end_stream=True)
            return
        if headers.get(b":method") != b"POST":
            self._http.send_headers(stream, [(b":status", b"405"), (b"allow", b"POST")], end_stream=True)
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
        if sum(call.backlog for call in self._blocked) > self._limits.unread:
            self._refuse(stream, RESOURCE_EXHAUSTED, "etcdserver: too many requests")
            return
        call = self._calls[stream] = Call(self, stream, method, self._limits.request)
        if seconds:
            call.deadline = self._clock.callLater(
                seconds, call.end, DEADLINE_EXCEEDED, "etcdserver: context deadline exceeded"
            )

    def _refuse(self, stream: int, code: int, message: str) -> None:
        self._http.send_headers(stream, [*_HEADS, *_trailers(code, message)], end_stream=True)

    def _data(self, event: Any) -> None:
        size = event.flow_controlled_length
        http = self._http
        self._taken += size
        if self._taken > _CONNECTION_WINDOW // 2:
            http.increment_flow_control_window(self._taken)
            self._taken = 0
        call = self._calls.get(event.stream_id)
        if call is None:
            return
        call.taken += size
        if call.taken > _STREAM_WINDOW // 2 and event.stream_ended is None:
            http.increment_flow_control_window(call.taken, event.stream_id)
            call.taken = 0
        call.take(event.data)
        if call.received.size and sum(each.received.size for each in self._calls.values()) > self._limits.incomplete:
            call.end(RESOURCE_EXHAUSTED, "etcdserver: too many requests")

    # Sending.

    def pump(self, call: Call) -> None:
        """Send what windows and transport admit of a call."""
        if call.out or call.status is not None:
            self._blocked[call] = None
        if not self._deferred_flush:
            self._pump_blocked()
            self._flush()

    def finished(self, call: Call, code: int, message: str) -> None:
        if code != OK:
            # What was queued is part of no complete answer.
            call.out.clear()
            call.backlog = 0
        self.pump(call)

    def _go_on_sending(self) -> None:
        self._turn = None
        self._pump_blocked()
        self._flush()

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
            http.send_headers(stream, _HEADS)
        if call.out:
            sent = send_admitted(http, stream, call.out, last=False, most=_PORTION)
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
        http, stream = self._http, call.stream
        trailers = _TRAILERS_OK if code == OK else _trailers(code, message)
        http.send_headers(stream, trailers if call.heads_sent else (*_HEADS, *trailers), end_stream=True)
        del self._calls[stream]
        call.release()
        try:
            # The client may still send, to nobody (RFC 9113, 8.1).
            if not http.streams[stream].closed:
                http.reset_stream(stream, ErrorCodes.NO_ERROR)
        except (KeyError, ProtocolError):
            # It has ended on both sides.
            pass
        self._close_if_idle()

    def _flush(self) -> None:
        data = self._http.data_to_send()
        if data and self.transport is not None:
            self.transport.write(data)


def _trailers(code: int, message: str) -> tuple[tuple[bytes, bytes], ...]:
    text = quote(message, safe=" !\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~").encode()
    return ((b"grpc-status", b"%d" % code), (b"grpc-message", text))


def _seconds(timeout: bytes | None) -> float | None:
    """A grpc-timeout in seconds; 0.0 without one, None for a malformed one."""
    if timeout is None:
        return 0.0
    found = _TIMEOUT.match(timeout)
    return None if found is None else max(1e-9, int(found[1]) * _UNITS[found[2]])


class ServerFactory(Factory):
    """Accepts connections of clients that call `methods`, which are found by their paths."""

    noisy = False

    def __init__(self, methods: Mapping[bytes, Method], clock: IReactorTime, limits: CallLimits = CallLimits()) -> None:
        self.methods = methods
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
        """End all connections as their calls are answered."""
        for connection in list(self._connections):
            connection.retire()

    def abort(self) -> None:
        """End all connections now."""
        for connection in list(self._connections):
            if connection.transport is not None:
                connection.transport.abortConnection()  # type: ignore[attr-defined]  # TCP, Unix and TLS transports have it

    @property
    def connections(self) -> int:
        return len(self._connections)
