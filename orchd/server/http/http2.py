"""HTTP/2 connections (RFC 9113), enabled by --http2-max-streams-per-connection: Twisted's implementation, with limits
on streams and on small frames.

Frames are processed a few at a time, one request per turn of the reactor, and reading pauses while frames are pending.
Frames that carry neither a request nor content (PING, SETTINGS, PRIORITY, RST_STREAM, empty DATA ...) are counted; a
connection that exceeds the limit is closed with ENHANCE_YOUR_CALM. Every reset counts, whether its request was served
before it or not.

A request begins with its headers. The window of its stream opens as its body is read, that of the connection when
content arrives: an unread body holds one window of memory, and delays no other stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from hpack import Decoder, HeaderTuple
from hyperframe.frame import GoAwayFrame
from priority import DeadlockError  # type: ignore[import-untyped]  # it has no annotations
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IAddress, IDelayedCall, IReactorTime
from twisted.internet.protocol import Factory, connectionDone
from twisted.python.failure import Failure
from twisted.web._http2 import _END_STREAM_SENTINEL, H2Connection
from twisted.web.server import Request as WebRequest

from orchd.server.http.limits import Limits
from orchd.server.http.request_body import BufferedBody
from orchd.server.http.resource import ApiSite
from orchd.server.pipeline.interfaces import IPipeline
from orchd.txkit.http2_frames import FramePacer

#: Empty frames and resets that a client may send at once, and in each second.
_BURST: Final = 1000
_RATE: Final = 50
#: Received bytes for which a window is opened at once: smaller updates would only cost frames.
_UPDATE: Final = 16 << 10


class StreamRequest(WebRequest):
    """A request whose body is read as it arrives, and whose content twisted.web neither keeps nor parses."""

    def __init__(self, channel: Any, queued: bool = False) -> None:
        WebRequest.__init__(self, channel, queued)
        self.body = BufferedBody(None, self._open_window)
        #: Received bytes for which the window of the stream was not opened.
        self._held = 0

    def gotLength(self, length: int | None) -> None:
        """No file for the content."""

    def begin(self) -> None:
        """Process the request, of which the headers have arrived."""
        stream = cast(Any, self.channel)
        if self.body.complete:
            self.body.length = 0
        elif length := (self.requestHeaders.getRawHeaders(b"content-length") or [b""])[0]:
            # The library has refused what is no number.
            self.body.length = int(length)
        # Requests of the method CONNECT have no path.
        self.method, self.uri, self.clientproto = stream.command, stream.path or b"", b"HTTP/2"
        self.path = self.uri.partition(b"?")[0]
        self.args = {}
        process: Callable[[], None] = self.process
        process()

    def receive(self, data: bytes, size: int) -> None:
        """Take content, which has used `size` bytes of the window."""
        self._held += size
        self.body.keep(data)
        self.body.settle()
        self._open_window()

    def end(self) -> None:
        """The body is complete."""
        self.body.complete = True
        self.body.settle()

    def _open_window(self) -> None:
        body = self.body
        if self._held >= _UPDATE and not body.complete and (body.has_reader or not body.size):
            held, self._held = self._held, 0
            # Without one the request has been served.
            stream: Any = getattr(self, "channel", None)
            if stream is not None:
                stream._conn.open_window(held, stream.streamID)

    def connectionLost(self, reason: Failure) -> None:
        self.body.lost()
        WebRequest.connectionLost(self, reason)


class TrimmingDecoder(Decoder):
    """Removes blanks around the values of fields, as HTTP/1.1 does (RFC 9112, 5.1) and the reference: the library would
    end the connection for a value such as ``Bearer `` with an empty token."""

    def decode(self, data: bytes, raw: bool = False) -> Any:
        return [self._trim(field) for field in Decoder.decode(self, data, raw)]

    @staticmethod
    def _trim(field: Any) -> HeaderTuple:
        value = field[1].strip(b" \t")
        # Pseudo-header fields are no text that a person writes: blanks in them stay an error.
        if len(value) == len(field[1]) or field[0].startswith(b":"):
            return cast(HeaderTuple, field)
        return cast(HeaderTuple, type(field)(field[0], value))


class BoundedConnection(H2Connection):
    """One connection; see the module."""

    def __init__(self, clock: IReactorTime) -> None:
        H2Connection.__init__(self, clock)
        decoder = TrimmingDecoder()
        decoder.max_header_list_size = self.conn.decoder.max_header_list_size
        self.conn.decoder = decoder
        self._clock = clock
        #: What has arrived and was not handed on.
        self._arrived = b""
        self._pacer = FramePacer(clock, requests=1, burst=_BURST, rate=_RATE)
        self._more: IDelayedCall | None = None
        #: Says of each request whether the client is to connect anew after it.
        self.says_goodbye: Callable[[], bool] = lambda: False
        self._going = False
        #: Received bytes for which the window of the connection was not opened.
        self._held = 0

    def _requestReceived(self, event: Any) -> None:
        if not self._stillProducing:
            # A frame before it has closed the connection: no response can be sent any more, and the rest of the request
            # is ignored.
            return
        H2Connection._requestReceived(self, event)
        if not self._going and self.says_goodbye():
            self._going = True
            # The base class would also end streams in progress.
            frame = GoAwayFrame(0, last_stream_id=event.stream_id, error_code=ErrorCodes.NO_ERROR)
            transport: Any = self.transport
            transport.write(frame.serialize())

        stream: Any = self.streams.get(event.stream_id)
        if stream is not None:
            if event.stream_ended is not None:
                stream._request.end()
            stream._request.begin()

    def _requestDataReceived(self, event: Any) -> None:
        size: int = event.flow_controlled_length
        if not self._stillProducing:
            return
        self._held += size
        if self._held >= _UPDATE:
            held, self._held = self._held, 0
            self.open_window(held, None)
        stream: Any = self.streams.get(event.stream_id)
        if stream is not None:
            stream._request.receive(event.data, size)

    def open_window(self, size: int, stream: int | None) -> None:
        """Let the client send `size` bytes more, on a stream or (None) on the connection."""
        if self._stillProducing:
            self.conn.increment_flow_control_window(size, stream)
            cast(Any, self)._tryToWriteControlData()

    def _requestEnded(self, event: Any) -> None:
        stream: Any = self.streams.get(event.stream_id)
        if self._stillProducing and stream is not None:
            stream._request.end()

    def endRequest(self, streamID: int) -> None:
        stream: Any = self.streams.get(streamID)
        if stream is not None:
            stream._request.body.cancel()
            H2Connection.endRequest(self, streamID)

    def abortRequest(self, streamID: int) -> None:
        stream: Any = self.streams.get(streamID)
        if stream is not None:
            stream._request.body.cancel()
            # NO_ERROR, which the base class sends, would mean that the response is complete.
            self.conn.reset_stream(streamID, ErrorCodes.INTERNAL_ERROR)
            if cast(Any, self)._tryToWriteControlData():
                self._requestDone(streamID)

    def _requestAborted(self, event: Any) -> None:
        # A frame before it may have completed the request, and its response.
        if self._stillProducing and event.stream_id in self.streams:
            H2Connection._requestAborted(self, event)

    def _requestDone(self, stream: int) -> None:
        H2Connection._requestDone(self, stream)
        if self._going and not self.streams:
            transport: Any = self.transport
            transport.loseConnection()

    def dataReceived(self, data: bytes) -> None:
        self._arrived += data
        if self._more is None:
            self._go_on()

    def _go_on(self) -> None:
        """Hand on what may be handed on in this turn."""
        waited, self._more = self._more is not None, None
        size = self._pacer.take(self._arrived)
        taken, self._arrived = self._arrived[:size], self._arrived[size:]
        if self._pacer.exceeded:
            self.conn.close_connection(error_code=ErrorCodes.ENHANCE_YOUR_CALM)
            self._arrived = b""
            self._terminate(Failure(ConnectionLost("too many frames without content")))
            return
        if taken:
            H2Connection.dataReceived(self, taken)
            self._continue_sending()
        if not self._stillProducing:
            self._arrived = b""
        transport: Any = self.transport
        if self._pacer.more(len(self._arrived)):
            self._more = self._clock.callLater(0, self._go_on)
            if not waited:
                transport.pauseProducing()
            return
        if waited:
            transport.resumeProducing()

    def _sendPrioritisedData(self, *_: object) -> None:
        """Send one frame of the stream whose turn it is, and come back while any stream can go on.

        Unlike the base class, this leaves a stream alone while its window is empty, and takes frames off a response
        without copying the rest of it."""
        if not self._stillProducing:
            return
        stream = self._ready_stream()
        if stream is None:
            self._sendingDeferred = Deferred()
            self._sendingDeferred.addCallback(self._sendPrioritisedData)
            return
        if self._consumerBlocked is not None:
            self._consumerBlocked.addCallback(self._sendPrioritisedData)
            return
        base: Any = self
        base.resetTimeout()
        queue = self._outboundStreamQueues[stream]
        content = queue.popleft()
        transport: Any = self.transport
        if content is _END_STREAM_SENTINEL:
            self.conn.end_stream(stream)
            request: Any = self.streams[stream]
            if not request._request.body.complete:
                # The rest of the body is not wanted (RFC 9113, 8.1).
                self.conn.reset_stream(stream, ErrorCodes.NO_ERROR)
            transport.write(self.conn.data_to_send())
            base._requestDone(stream)
        else:
            most = min(self.conn.max_outbound_frame_size, self.conn.local_flow_control_window(stream))
            if len(content) > most:
                whole = memoryview(content)
                content = whole[:most]
                queue.appendleft(whole[most:])
            if len(content):
                self.conn.send_data(stream, bytes(content))
                transport.write(self.conn.data_to_send())
            if not queue:
                self.priority.block(stream)
            if base.remainingOutboundWindow(stream) <= 0:
                self.streams[stream].flowControlBlocked()
        self._clock.callLater(0, self._sendPrioritisedData)

    def _ready_stream(self) -> int | None:
        """The next stream by priority that has data and an open window; None if no stream can send."""
        while True:
            try:
                stream: int = next(self.priority)
            except DeadlockError:
                return None
            queue = self._outboundStreamQueues[stream]
            if queue and (queue[0] is _END_STREAM_SENTINEL or self.conn.local_flow_control_window(stream) > 0):
                return stream
            # A WINDOW_UPDATE schedules it again.
            self.priority.block(stream)

    def _continue_sending(self) -> None:
        """Go on with streams whose windows have been opened: by a frame for them, for the connection, or by
        settings."""
        if self._sendingDeferred is None or not self._stillProducing:
            return
        ready = [
            stream
            for stream, queue in self._outboundStreamQueues.items()
            if queue and self.conn.local_flow_control_window(stream) > 0
        ]
        for stream in ready:
            self.priority.unblock(stream)
        if ready:
            waiting, self._sendingDeferred = self._sendingDeferred, None
            waiting.callback(None)

    def timeoutConnection(self) -> None:
        """End a connection that has no request. Requests have limits of their own, and a watch may be silent for
        long."""
        if self.streams:
            cast(Any, self).setTimeout(self.timeOut)
        else:
            H2Connection.timeoutConnection(self)

    def connectionLost(self, reason: Failure = connectionDone, _cancelTimeouts: bool = True) -> None:
        more, self._more = self._more, None
        if more is not None:
            more.cancel()
        H2Connection.connectionLost(self, reason, _cancelTimeouts)

    @property
    def waiting(self) -> int:
        """Bytes of responses that the client has not taken."""
        return sum(
            len(piece)
            for queue in self._outboundStreamQueues.values()
            for piece in queue
            if isinstance(piece, bytes | memoryview)
        )


class Http2Factory(Factory):
    """Creates connections that negotiated h2 by ALPN, each with up to `streams` concurrent requests. `says_goodbye` is
    called for each request: True sends GOAWAY (RFC 9113, 6.8), so that the client opens a new connection, possibly to
    another server.
    """

    noisy = False

    def __init__(
        self,
        pipeline: IPipeline,
        clock: IReactorTime,
        *,
        streams: int,
        limits: Limits | None = None,
        says_goodbye: Callable[[], bool] = lambda: False,
    ) -> None:
        self._says_goodbye = says_goodbye
        self._site = ApiSite(pipeline, clock, limits)
        self._clock = clock
        self._streams = streams

    def buildProtocol(self, addr: IAddress | None) -> Any:
        protocol: Any = BoundedConnection(self._clock)
        protocol.says_goodbye = self._says_goodbye
        protocol.conn.local_settings = Settings(
            client=False, initial_values={SettingCodes.MAX_CONCURRENT_STREAMS: self._streams}
        )
        protocol.requestFactory = StreamRequest
        protocol.site = protocol.factory = self._site
        protocol.timeOut = self._site.timeOut
        protocol.callLater = self._clock.callLater
        return protocol
