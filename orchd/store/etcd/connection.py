"""gRPC calls over one HTTP/2 connection ("gRPC over HTTP2", RFC 9113).

A call is a stream: request headers, messages with a five-byte prefix (compressed flag, length), response headers,
messages, trailers with the status. Nothing is compressed. Flow control windows are large, because a single owner reads
all streams.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import unquote

from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from orchd.store.etcd.failures import SILENT_CLOSE, CallError, explain
from orchd.store.grpc.framing import Deframer, prefixed
from orchd.store.grpc.http2 import CANCEL, NO_ERROR, REFUSED_STREAM, Http2, Http2Error, header_block
from orchd.store.grpc.sending import Sender
from orchd.store.grpc.status import CANCELLED, UNAVAILABLE, UNKNOWN

#: Flow control windows in bytes, of one stream and of the connection.
_STREAM_WINDOW: Final = 16 * 1024 * 1024
_CONNECTION_WINDOW: Final = 64 * 1024 * 1024
#: Maximum number of concurrent calls on a connection; more wait in order.
_MOST_CALLS: Final = 1000
_USED_UP: Final = "the connection has no stream numbers left"


class Call:
    """One call. `on_message` receives each message's bytes, `on_end` once None or the failure; neither after
    `cancel`."""

    __slots__ = (
        "_connection", "cancelled", "half_closed", "id", "on_end", "on_message", "out", "path", "received", "taken",
        "timeout",
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
    """Created by a factory, connected by an endpoint. `lost(reason)` is called when it accepts no more calls.

    `at_once` sends a call when it is made, not with the others of the reactor turn: a server on this machine then works
    on it while this process makes the next one."""

    def __init__(
        self, authority: str, scheme: str, lost: Callable[[Connection, str], object], clock: IReactorTime,
        *, at_once: bool = False,
    ) -> None:  # fmt: skip
        self._authority = authority.encode()
        self._scheme = scheme.encode()
        self._lost = lost
        self._http = Http2(self, client=True, window=_STREAM_WINDOW, connection_window=_CONNECTION_WINDOW)
        self._sender = Sender(self._http, clock)
        self._send = self._sender.now if at_once else self._sender.soon
        #: Header blocks by path and timeout.
        self._blocks: dict[tuple[str, int], bytes] = {}
        self._calls: dict[int, Call] = {}
        self._waiting: deque[Call] = deque()
        #: Calls whose data waits for a window update.
        self._blocked: dict[Call, None] = {}
        #: True while frames are processed: what they cause is sent together.
        self._receiving = False
        #: True if calls can be made, and the reason why they no longer can.
        self.open = False
        self._reason = ""
        #: True once the server has sent anything.
        self.heard = False
        #: True if it ends because it has no stream numbers left, which is no fault of the server.
        self.retired = False

    # Lifecycle.

    def connectionMade(self) -> None:
        self._sender.connected(self.transport)
        self._http.start()
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
            self._http.go_away()
            self._sender.now()
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

    def _retire(self, reason: str) -> None:
        """Prepare a replacement: pending calls move to the new connection, watches restart there, other calls end
        here."""
        self.open, self.retired, self._reason = False, True, reason
        waiting = list(self._waiting)
        self._waiting.clear()
        lost, self._lost = self._lost, _nobody
        lost(self, self._reason)
        for call in waiting:
            self._finish(call, CallError(UNAVAILABLE, self._reason, sent=False))
        for stream, call in list(self._calls.items()):
            if not call.timeout:
                self._ended(stream, CallError(UNAVAILABLE, self._reason))
        if not self._calls and self.transport is not None:
            self.transport.loseConnection()

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
        if self.open and self._http.used_up:
            self._retire(_USED_UP)
        if not self.open:
            raise CallError(UNAVAILABLE, self._reason or "not connected", sent=False)
        self._waiting.append(call)
        self._open_more()
        return call

    def _open_more(self) -> None:
        most = min(_MOST_CALLS, self._http.most_streams)
        while self._waiting and len(self._calls) < most and self.open:
            if self._http.used_up:
                self._retire(_USED_UP)
                return
            call = self._waiting.popleft()
            call.id = self._http.open()
            self._calls[call.id] = call
            self._http.send_headers(call.id, self._heads(call))
            self.pump(call)

    def _heads(self, call: Call) -> bytes:
        # In whole seconds, so that blocks recur; the caller enforces the exact timeout.
        seconds = int(call.timeout + 1) if call.timeout else 0
        block = self._blocks.get((call.path, seconds))
        if block is None:
            headers = [
                (b":method", b"POST"),
                (b":scheme", self._scheme),
                (b":path", call.path.encode()),
                (b":authority", self._authority),
                (b"te", b"trailers"),
                (b"content-type", b"application/grpc"),
                # A watch must end rather than continue at a member without quorum.
                (b"grpc-timeout", b"%dS" % seconds) if seconds else (b"hasleader", b"true"),
            ]
            block = self._blocks[call.path, seconds] = header_block(headers)
        return block

    def pump(self, call: Call) -> None:
        """Send a call's data as far as the window allows."""
        if not call.out or not call.id or call.id not in self._calls:
            return
        self._http.send_data(call.id, call.out, last=call.half_closed)
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
            self._http.reset(stream, CANCEL)
            self._flush()

    def _finish(self, call: Call, error: CallError | None) -> None:
        if not call.cancelled:
            call.cancelled = True
            call.on_end(error)

    def _flush(self) -> None:
        if not self._receiving:
            self._send()

    # Received frames.

    def dataReceived(self, data: bytes) -> None:
        self.heard = self._receiving = True
        try:
            self._http.receive(data)
        except Http2Error as error:
            self._receiving = False
            self._sender.now()
            self.abort(explain(f"the server broke HTTP/2: {error}"))
            return
        self._receiving = False
        self._flush()

    def data_received(self, stream: int, data: bytes, ended: bool) -> None:
        call = self._calls.get(stream)
        if call is None:
            return
        received = call.received
        message = received.first(data)
        while message is not None:
            call.on_message(message)
            message = received.next() if received.size and not call.cancelled else None
        if ended:
            self._ended(stream, CallError(UNKNOWN, "the response has no status"))

    def headers_received(self, stream: int, headers: Mapping[bytes, bytes], ended: bool) -> None:
        if b"grpc-status" in headers:
            # A response without messages consists of trailers only.
            self._trailers(stream, headers)
        elif headers.get(b":status", b"200") != b"200":
            status = headers[b":status"].decode("latin-1")
            self._ended(
                stream, CallError(UNAVAILABLE, f"HTTP status {status}: not an etcd server, or a proxy in front of one")
            )
        elif ended:
            self._ended(stream, CallError(UNKNOWN, "the response has no status"))

    def stream_reset(self, stream: int, code: int) -> None:
        refused = code == REFUSED_STREAM
        status = UNAVAILABLE if refused or code == NO_ERROR else CANCELLED
        self._ended(stream, CallError(status, f"stream reset: {code}", sent=not refused))

    def windows_opened(self) -> None:
        for call in list(self._blocked):
            self.pump(call)
        self._open_more()

    def going_away(self, last: int, code: int) -> None:
        """The server has not processed calls above its last stream; it still responds to the others, unless it reports
        an error."""
        reason = "the server is going away"
        for stream, call in list(self._calls.items()):
            if stream > last:
                del self._calls[stream]
                self._blocked.pop(call, None)
                self._finish(call, CallError(UNAVAILABLE, reason, sent=False))
        if code != NO_ERROR or not self.open:
            self.abort(reason)
        else:
            self._retire(reason)

    def _trailers(self, stream: int, headers: Mapping[bytes, bytes]) -> None:
        code = headers[b"grpc-status"]
        if code == b"0":
            self._ended(stream, None)
        else:
            message = unquote(headers.get(b"grpc-message", b"").decode("latin-1"))
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


def _nobody(connection: Connection, reason: str) -> None:
    """Does nothing: the connection was reported as lost already."""
