"""gRPC calls over one HTTP/2 connection ("gRPC over HTTP2", RFC 9113).

A call is a stream: request headers, messages with a five-byte prefix (compressed flag, length), response headers,
messages, trailers with the status. Nothing is compressed. Flow control windows are large, because a single owner reads
all streams.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from orchd.store.etcd.failures import SILENT_CLOSE, CallError, explain
from orchd.store.grpc.framing import Deframer, prefixed, send_admitted
from orchd.store.grpc.status import CANCELLED, UNAVAILABLE, UNKNOWN

#: Flow control windows in bytes, of one stream and of the connection.
_STREAM_WINDOW: Final = 16 * 1024 * 1024
_CONNECTION_WINDOW: Final = 64 * 1024 * 1024
#: Maximum number of concurrent calls on a connection; more wait in order.
_MOST_CALLS: Final = 1000
#: Maximum number of streams per connection (RFC 9113, 5.1.1): some days of full load.
_LAST_STREAM: Final = (1 << 31) - 1


class Call:
    """One call. `on_message` receives each message's bytes, `on_end` once None or the failure; neither after
    `cancel`."""

    __slots__ = (
        "_connection", "cancelled", "half_closed", "id", "on_end", "on_message", "out", "path", "received", "taken", "timeout",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        path: str,
        timeout: float,
        on_message: Callable[[bytes], object],
        on_end: Callable[[CallError | None], object],
    ) -> None:
        self._connection = connection
        self.path = path
        #: Timeout in seconds sent to the server; 0: none.
        self.timeout = timeout
        self.on_message = on_message
        self.on_end = on_end
        #: The stream id, 0 while it waits to be opened.
        self.id = 0
        self.received = Deframer()
        #: Unsent data, and whether the stream ends after it.
        self.out: deque[bytes] = deque()
        self.half_closed = False
        self.cancelled = False
        #: Bytes received since the last window update of the stream.
        self.taken = 0

    def send(self, message: bytes, *, last: bool = False) -> None:
        self.out.append(prefixed(message))
        self.half_closed = self.half_closed or last
        self._connection.pump(self)

    def cancel(self) -> None:
        """Drop the call, and reset its stream."""
        if not self.cancelled:
            self.cancelled = True
            self._connection.forget(self)


class Connection(Protocol):
    """Created by a factory, connected by an endpoint. `lost(reason)` is called when it accepts no more calls."""

    def __init__(self, authority: str, scheme: str, lost: Callable[[Connection, str], object]) -> None:
        self._authority = authority.encode()
        self._scheme = scheme.encode()
        self._lost = lost
        self._http: Any = H2Connection(
            config=H2Configuration(
                client_side=True,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        self._calls: dict[int, Call] = {}
        self._waiting: deque[Call] = deque()
        #: Calls whose data waits for a window update.
        self._blocked: dict[Call, None] = {}
        self._taken = 0
        #: True if calls can be made, and the reason why they no longer can.
        self.open = False
        self._reason = ""
        #: True once the server has sent anything.
        self.heard = False
        #: True if it ends because it has no stream numbers left, which is no fault of the server.
        self.retired = False

    # Lifecycle.

    def connectionMade(self) -> None:
        http = self._http
        http.initiate_connection()
        http.update_settings({SettingCodes.ENABLE_PUSH: 0, SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW})
        http.increment_flow_control_window(_CONNECTION_WINDOW)
        self.open = True
        self._flush()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        why = reason.getErrorMessage() or repr(reason.value)
        if not self.heard and self._scheme == b"http":
            why = f"{SILENT_CLOSE}: {why}"
        self._end(self._reason or explain(why))

    def abort(self, reason: str) -> None:
        """End every call and the connection immediately."""
        self._end(reason)
        if self.transport is not None:
            self.transport.abortConnection()  # type: ignore[attr-defined]  # TCP and TLS transports both have it

    def close(self) -> None:
        """Close the connection gracefully; calls should have ended."""
        self.open = False
        if self.transport is not None:
            self._http.close_connection()
            self._flush()
            self.transport.loseConnection()

    def _end(self, reason: str) -> None:
        self._reason = self._reason or reason
        self.open = False
        waiting, running = list(self._waiting), list(self._calls.values())
        self._waiting.clear()
        self._calls.clear()
        self._blocked.clear()
        lost, self._lost = self._lost, _nobody
        lost(self, self._reason)
        for call in running:
            self._finish(call, CallError(UNAVAILABLE, self._reason))
        for call in waiting:
            self._finish(call, CallError(UNAVAILABLE, self._reason, sent=False))

    def _used_up(self) -> bool:
        return bool(self._http.highest_outbound_stream_id + 2 > _LAST_STREAM)

    def _retire(self) -> None:
        """Prepare a replacement: pending calls move to the new connection, watches restart there, other calls end
        here."""
        self.open, self.retired, self._reason = False, True, "the connection has no stream numbers left"
        waiting = list(self._waiting)
        self._waiting.clear()
        lost, self._lost = self._lost, _nobody
        lost(self, self._reason)
        for call in waiting:
            self._finish(call, CallError(UNAVAILABLE, self._reason, sent=False))
        for stream, call in list(self._calls.items()):
            if not call.timeout:
                self._ended(stream, CallError(UNAVAILABLE, self._reason))

    # Calls.

    def call(
        self,
        path: str,
        on_message: Callable[[bytes], object],
        on_end: Callable[[CallError | None], object],
        *,
        timeout: float = 0.0,
    ) -> Call:
        """Begin a call; send its messages with `Call.send`."""
        call = Call(self, path, timeout, on_message, on_end)
        if self.open and self._used_up():
            self._retire()
        if not self.open:
            raise CallError(UNAVAILABLE, self._reason or "not connected", sent=False)
        self._waiting.append(call)
        self._open_more()
        return call

    def _open_more(self) -> None:
        most = min(_MOST_CALLS, self._http.remote_settings.max_concurrent_streams)
        while self._waiting and len(self._calls) < most and self.open:
            if self._used_up():
                self._retire()
                return
            call = self._waiting.popleft()
            call.id = self._http.get_next_available_stream_id()
            self._calls[call.id] = call
            headers = [
                (b":method", b"POST"),
                (b":scheme", self._scheme),
                (b":path", call.path.encode()),
                (b":authority", self._authority),
                (b"te", b"trailers"),
                (b"content-type", b"application/grpc"),
            ]
            if call.timeout:
                # In whole seconds, to be compressible; the caller enforces the exact timeout.
                headers.append((b"grpc-timeout", b"%dS" % (call.timeout + 1)))
            else:
                # A watch must end rather than continue at a member without quorum.
                headers.append((b"hasleader", b"true"))
            self._http.send_headers(call.id, headers)
            self.pump(call)

    def pump(self, call: Call) -> None:
        """Send a call's data as far as the window allows."""
        if not call.out or not call.id or call.id not in self._calls:
            return
        send_admitted(self._http, call.id, call.out, last=call.half_closed)
        if call.out:
            self._blocked[call] = None
        else:
            self._blocked.pop(call, None)
        self._flush()

    def forget(self, call: Call) -> None:
        if call.id and self._calls.pop(call.id, None) is not None:
            self._reset(call.id)
            self._blocked.pop(call, None)
            self._open_more()
        elif call in self._waiting:
            self._waiting.remove(call)

    def _reset(self, stream: int) -> None:
        if self.open:
            try:
                self._http.reset_stream(stream, ErrorCodes.CANCEL)
            except ProtocolError:
                # It ended concurrently.
                return
            self._flush()

    def _finish(self, call: Call, error: CallError | None) -> None:
        if not call.cancelled:
            call.cancelled = True
            call.on_end(error)

    def _flush(self) -> None:
        data = self._http.data_to_send()
        if data and self.transport is not None:
            self.transport.write(data)

    # Received frames.

    def dataReceived(self, data: bytes) -> None:
        self.heard = True
        try:
            happened = self._http.receive_data(data)
        except ProtocolError as error:
            self._flush()
            self.abort(explain(f"the server broke HTTP/2: {error}"))
            return
        for event in happened:
            kind = type(event)
            if kind is events.DataReceived:
                self._data(event)
            elif kind is events.ResponseReceived:
                self._headers(event.stream_id, event.headers)
            elif kind is events.TrailersReceived:
                self._trailers(event.stream_id, event.headers)
            elif kind is events.StreamEnded:
                self._ended(event.stream_id, CallError(UNKNOWN, "the answer has no status"))
            elif kind is events.StreamReset:
                refused = event.error_code == ErrorCodes.REFUSED_STREAM
                code = UNAVAILABLE if refused or event.error_code == ErrorCodes.NO_ERROR else CANCELLED
                self._ended(event.stream_id, CallError(code, f"stream reset: {event.error_code}", sent=not refused))
            elif kind is events.WindowUpdated or kind is events.RemoteSettingsChanged:
                for call in list(self._blocked):
                    self.pump(call)
                self._open_more()
            elif kind is events.ConnectionTerminated:
                # h2 accepts nothing more on this connection, so running calls cannot continue either.
                self._terminated(event)
                return
        self._flush()

    def _data(self, event: Any) -> None:
        size = event.flow_controlled_length
        self._taken += size
        if self._taken > _CONNECTION_WINDOW // 2:
            self._http.increment_flow_control_window(self._taken)
            self._taken = 0
        call = self._calls.get(event.stream_id)
        if call is None:
            return
        call.taken += size
        if call.taken > _STREAM_WINDOW // 2 and event.stream_ended is None:
            self._http.increment_flow_control_window(call.taken, event.stream_id)
            call.taken = 0
        call.received.add(event.data)
        while not call.cancelled and (message := call.received.next()) is not None:
            call.on_message(message)

    def _headers(self, stream: int, headers: list[tuple[bytes, bytes]]) -> None:
        found = dict(headers)
        if b"grpc-status" in found:
            # A response without messages consists of trailers only.
            self._trailers(stream, headers)
        elif found.get(b":status") != b"200":
            status = found.get(b":status", b"").decode("latin-1")
            self._ended(
                stream, CallError(UNAVAILABLE, f"HTTP status {status}: not an etcd server, or a proxy in front of one")
            )

    def _trailers(self, stream: int, headers: list[tuple[bytes, bytes]]) -> None:
        found = dict(headers)
        code = found.get(b"grpc-status", b"")
        if code == b"0":
            self._ended(stream, None)
        else:
            message = unquote(found.get(b"grpc-message", b"").decode("latin-1"))
            self._ended(stream, CallError(int(code) if code.isdigit() else UNKNOWN, message))

    def _ended(self, stream: int, error: CallError | None) -> None:
        call = self._calls.pop(stream, None)
        if call is None:
            return
        self._blocked.pop(call, None)
        if call.out or not call.half_closed:
            self._reset(stream)
        self._finish(call, error)
        if self._waiting:
            self._open_more()
        elif not self.open and not self._calls and self.transport is not None:
            self.transport.loseConnection()

    def _terminated(self, event: Any) -> None:
        """GOAWAY: the server has not processed calls above its last stream id."""
        self.open = False
        last = event.last_stream_id or 0
        for stream, call in list(self._calls.items()):
            if stream > last:
                del self._calls[stream]
                self._finish(call, CallError(UNAVAILABLE, "the server is going away", sent=False))
        self.abort("the server is going away")


def _nobody(connection: Connection, reason: str) -> None:
    """Does nothing: the connection was reported as lost already."""
