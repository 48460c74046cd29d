"""One HTTP/1.1 connection: parses requests, passes them to the pipeline in order, writes responses.

Runs on any Twisted transport (`tls.py` has two with TLS). It has its own parser for speed, and because the reference
accepts any token as a method, which llhttp does not: the header block of a connection's requests rarely changes, so
comparing it with the previous one is cheaper than any parser.

States of a connection::

    state      reads                        leaves when
    HEAD       a request head, as long as   it is complete -> BUSY; unreadable -> CLOSING
               the transport takes responses
    BUSY       the body; later requests     the response is written -> HEAD, or DRAIN when body is left, or CLOSING
               wait in the buffer
    DRAIN      the rest of the body         it has ended -> HEAD; too long -> CLOSING
    CLOSING    and discards, for a while    the client closes, or time is up
    TAKEN      for the protocol that took   never

Of pipelined requests one begins in each turn of the reactor, and none while the transport has not taken the last
response: a client that does not read makes the server hold one response, and many requests do not delay other
connections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IProtocol, IPushProducer, ITransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.server.authn.interfaces import Credentials
from orchd.server.http.peer import certificate_chain, remote_address
from orchd.server.http.request_body import IncomingBody, NoBody
from orchd.server.http.request_head import BadHead, Fields, RequestTarget, parse_fields, parse_line
from orchd.server.http.response_sinks import ChunkSink
from orchd.server.http.responses import BODILESS, CONTINUE, head, refusal
from orchd.server.http.takeover import Takeover, Transport
from orchd.server.pipeline.interfaces import Body, IStream, Pieces, Request, Response, size_of
from orchd.txkit.coroutines import enter
from orchd.txkit.log import Logger

if TYPE_CHECKING:
    from orchd.server.http.factory import ApiServerFactory

HEAD, BUSY, DRAIN, CLOSING, TAKEN, GONE = range(6)
_END = b"\r\n\r\n"
_EMPTY_LINES = re.compile(rb"(?:\r\n)+")
_NO_BODY = NoBody()
#: Bodies up to this size are joined with their head, so that both are sent in one TLS record.
_JOIN = 64 << 10
#: Length in bytes of a request line that is remembered.
_REMEMBERED = 1024
#: Seconds during which data after an invalid request is read and discarded before the connection is closed.
_REFUSED = 0.5


@implementer(IPushProducer)
class HttpChannel(Protocol):
    """See the module. Made by `ApiServerFactory`; `paused` is True while the transport accepts no more data."""

    _log = Logger()

    def __init__(self, factory: ApiServerFactory) -> None:
        self._factory = factory
        self._limits = factory.limits
        self.state = HEAD
        #: Time of the last state change that timeouts measure from.
        self.since = factory.clock.seconds()
        self.paused = False
        self.paused_since = 0.0
        #: Bytes of a response made for this client alone that it has not taken; 0 when the transport takes more.
        self.unread = 0
        self._buffer = b""
        #: Length of the prefix of `_buffer` that contains no end of a head.
        self._searched = 0
        self._reading = True
        #: This connection's part of the factory's `read_ahead`.
        self._counted = 0
        #: The last request line and header lines, which clients repeat, with what they say.
        self._line = b""
        self._target: RequestTarget | None = None
        self._block: bytes | None = None
        self._fields: Fields | None = None
        self._body: IncomingBody | None = None
        self._told_continue = True
        self._request: RequestTarget | None = None
        self._keep = True
        #: True if input must be read before the connection is closed.
        self._lingering = False
        self._gzip = False
        self._running: Deferred[Any] | None = None
        self._serial = 0
        self._sink: ChunkSink | None = None
        self._stream: Any = None
        #: The unsent rest of a large body, and whether it is being written now.
        self._pieces: Iterator[bytes] | None = None
        self._writing = False
        self._taker: IProtocol | None = None
        self._fresh = True
        self._certificates: tuple[bytes, ...] = ()
        self._remote = ""
        self._advancing = False
        #: The scheduled call that begins the next pipelined request.
        self._next: IDelayedCall | None = None

    # -- transport callbacks --------------------------------------------------------------------------------------

    def connectionMade(self) -> None:
        self._transport = cast(Transport, self.transport)
        #: Used by sinks: writes without an intermediate call.
        self.send = self._transport.write
        self._remote = remote_address(self.transport)
        self._transport.registerProducer(self, True)
        self._factory.opened(self)

    def dataReceived(self, data: bytes) -> None:
        if self._fresh:
            # The handshake ends with the first byte, not earlier.
            self._fresh = False
            self._certificates = certificate_chain(self.transport)
        if self.state == CLOSING:
            return
        if self.state == TAKEN:
            if self._taker is None:
                self._buffer += data
            else:
                self._taker.dataReceived(data)
            return
        body = self._body
        if body is not None and not body.complete:
            data = body.feed(data)
            self._watch_reading()
            if not data:
                if self.state == DRAIN and body.complete:
                    self._advance()
                return
        if not self._buffer:
            self._buffer = data
            if self.state == HEAD and not self._advancing:
                self.since = self._factory.clock.seconds()
        else:
            self._buffer += data
        self._advance()
        self._watch_reading()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        state, self.state = self.state, GONE
        self._factory.closed(self)
        self._factory.read_ahead -= self._counted
        self._counted = 0
        if state == TAKEN:
            if self._taker is not None:
                self._taker.connectionLost(reason)
            return
        self._buffer = b""
        self._pieces = None
        self._forget_next()
        if self._sink is not None:
            self._end_stream()
        body, self._body = self._body, None
        if body is not None:
            # It refers to the channel, and would keep both until a collection.
            body.lost()
        if self._running is not None:
            # Reads are cancelled; the pipeline shields writes.
            self._running.cancel()

    def pauseProducing(self) -> None:
        self.paused = True
        self.paused_since = self._factory.clock.seconds()

    def resumeProducing(self) -> None:
        self.paused = False
        self.unread = 0
        if self.state == HEAD:
            self.since = self._factory.clock.seconds()
        if self._sink is not None:
            self._sink.resume()
        elif self._pieces is not None:
            self._write_pieces()
        elif self._buffer:
            self._advance_later()

    def stopProducing(self) -> None:
        """The transport is closing; connectionLost follows."""

    # -- requests -------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Process the buffer up to the next request."""
        if self._advancing or self._next is not None:
            return
        self._advancing = True
        serial = self._serial
        try:
            while self._serial == serial and self._step():
                pass
        finally:
            self._advancing = False
        if self._serial != serial and self._buffer and self.state in (HEAD, DRAIN):
            self._advance_later()

    def _advance_later(self) -> None:
        """Continue in the next turn of the reactor, after other connections."""
        if self._next is None and self.state in (HEAD, DRAIN):
            self._next = self._factory.clock.callLater(0, self._advance_now)

    def _advance_now(self) -> None:
        self._next = None
        self._advance()
        self._watch_reading()

    def _forget_next(self) -> None:
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting.cancel()

    def _step(self) -> bool:
        if self.state == DRAIN:
            body = self._body
            if body is not None and not body.complete:
                return False
            self._body = None
            self.state = HEAD
            self.since = self._factory.clock.seconds()
        if self.state != HEAD or not self._buffer or self.paused:
            return False
        data = self._buffer
        if self._searched == 0 and data[:2] == b"\r\n":
            # Empty lines before a request are skipped (RFC 9112, 2.2).
            self._buffer = data[_EMPTY_LINES.match(data).end() :]  # type: ignore[union-attr]  # it begins with one
            return True
        end = data.find(_END, max(0, self._searched - 3))
        if end < 0 or end > self._limits.head:
            if end >= 0 or len(data) > self._limits.head:
                self._refuse(BadHead(431))
            elif data.count(b"\n", self._searched) != data.count(b"\r\n", max(0, self._searched - 1)):
                self._refuse(BadHead(400))
            else:
                self._searched = len(data)
            return False
        self._searched = 0
        self._buffer = data[end + 4 :]
        try:
            self._begin(data[:end])
        except BadHead as bad:
            self._refuse(bad)
        return self.state in (HEAD, DRAIN)

    def _begin(self, text: bytes) -> None:
        """Pass the request with this head to the pipeline."""
        line, _, block = text.partition(b"\r\n")
        target = self._target if line == self._line else None
        if target is None:
            target = parse_line(line)
            if len(line) <= _REMEMBERED:
                self._line, self._target = line, target
        if target.modern and block == self._block:
            fields = self._fields
            assert fields is not None
        else:
            fields = parse_fields(block, modern=target.modern)
            if target.modern:
                self._block, self._fields = block, fields
        factory = self._factory
        now = factory.clock.seconds()
        body: IncomingBody | None = None
        if fields.length != 0:
            body = IncomingBody(fields.length, self._body_wanted)
            self._told_continue = not fields.expects_continue
            if self._buffer:
                self._buffer = body.feed(self._buffer)
        self._body = body
        self._request = target
        self._gzip = fields.gzip
        self._keep = fields.keep_alive is not False if target.modern else fields.keep_alive is True
        self.state = BUSY
        self.since = now
        self._serial += 1
        request = Request(
            method=target.method,
            path=target.path,
            raw_path=target.raw_path,
            query=target.query,
            headers=fields.headers,
            body=_NO_BODY if body is None else body,
            credentials=Credentials(
                headers=fields.headers, certificates=self._certificates, remote=self._remote, path=target.path
            ),
            received=now,
            # HTTP/1.0 knows no upgrades (RFC 9110, 7.8).
            hijack=self._take_over if target.modern else None,
        )
        self._running = enter(factory.pipeline.handle(request), self._respond, self._failed)

    def _body_wanted(self) -> None:
        if not self._told_continue:
            self._told_continue = True
            self._transport.write(CONTINUE)
        self._watch_reading()

    def _watch_reading(self) -> None:
        """Stop reading while the buffer exceeds its limit; resume below it."""
        waiting = 0
        if self.state in (CLOSING, TAKEN, GONE):
            reading = self.state != GONE
        else:
            waiting = len(self._buffer)
            if self._body is not None and not self._body.has_reader:
                waiting += self._body.size
            held_back = self.paused or self._next is not None
            limits = self._limits
            reading = (self.state == HEAD and not held_back) or waiting <= limits.read_ahead
            if waiting > limits.read_ahead_each and self._factory.read_ahead > limits.read_ahead_total:
                reading = False
        self._factory.read_ahead += waiting - self._counted
        self._counted = waiting
        if reading != self._reading:
            self._reading = reading
            if reading:
                self._transport.resumeProducing()
            elif self.state != GONE:
                self._transport.pauseProducing()

    def _refuse(self, bad: BadHead) -> None:
        """Respond to an invalid request and end the connection: the start of the next request is unknown."""
        self.state = BUSY
        self._keep = False
        self._transport.write(refusal(bad))
        self._linger(_REFUSED)

    # -- responses ------------------------------------------------------------------------------------------------

    def _failed(self, failure: Failure) -> None:
        """The pipeline handles all errors; failures here are cancelled requests, or bugs."""
        self._running = None
        if self.state in (GONE, TAKEN):
            if not failure.check(CancelledError):
                self._log.failure("a request failed after its client had disconnected", failure=failure)
            # Its frames refer to the failure: they would keep the request and its body until a collection.
            failure.cleanFailure()
            return
        self._log.failure("the pipeline failed", failure=failure)
        if self.state == BUSY and self._sink is None:
            self._keep = False
            text = b"Internal Server Error\n"
            self._write(Response(code=500, content_type="text/plain; charset=utf-8"), text, len(text))
        else:
            self.abort()

    def _respond(self, response: Response) -> None:
        self._running = None
        if self.state != BUSY:
            stream = response.stream
            if stream is not None:
                stream.stop()
            return
        if response.close:
            self._keep = False
            self._lingering = True
        if response.stream is not None:
            self._respond_stream(response, response.stream)
            return
        body = response.body
        size = size_of(body)
        above = self._limits.gzip_above
        if self._gzip and above is not None and size > above and not _has(response, "content-encoding"):
            compressing = self._factory.compress([body] if isinstance(body, bytes) else body)
            compressing.addCallback(self._respond_compressed, response)
            compressing.addErrback(self._failed)
            return
        self._write(response, body, size)

    def _respond_compressed(self, pieces: list[bytes], response: Response) -> None:
        if self.state == BUSY:
            response.headers = [*response.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
            size = sum(map(len, pieces))
            self._write(response, pieces, size)
            self.unread = size if self.paused else 0

    def _write(self, response: Response, body: Body, size: int) -> None:
        """Send a complete response and continue."""
        bodiless = response.code in BODILESS
        framing = "" if bodiless else f"Content-Length: {size}\r\n"
        try:
            text = head(response, framing + self._connection(), self._factory.date.at(self._factory.wall()))
        except ValueError:
            self._failed(Failure())
            return
        target = self._request
        if bodiless or not size or (target is not None and target.method == "HEAD"):
            self._transport.write(text)
        elif size <= _JOIN:
            self._transport.write(text + body if isinstance(body, bytes) else b"".join((text, *body)))
        elif isinstance(body, Pieces):
            self._transport.write(text)
            self._pieces = iter(body)
            self._write_pieces()
            return
        else:
            self._transport.writeSequence([text, body] if isinstance(body, bytes) else [text, *body])
            # Pieces of lists are shared with the cache: those cost nothing.
            self.unread = size if self.paused and isinstance(body, bytes) else 0
        self._finished()

    def _write_pieces(self) -> None:
        """Continue a large body, as far as the transport accepts it."""
        pieces = self._pieces
        if pieces is None or self._writing:
            # The transport resumed us during the write: the loop below continues.
            return
        self._writing = True
        try:
            while not self.paused and self.state == BUSY:
                piece = next(pieces, None)
                if piece is None:
                    self._pieces = None
                    break
                self._transport.write(piece)
        finally:
            self._writing = False
        if self._pieces is None and self.state == BUSY:
            self._finished()

    def _connection(self) -> str:
        """The Connection header, if needed, after deciding whether another request can follow."""
        body = self._body
        if self._factory.stopping or (
            body is not None
            and (
                body.broken
                or not self._told_continue
                or (not body.complete and (body.chunked or body.left > self._limits.discard))
            )
        ):
            self._keep = False
        if not self._keep:
            return "Connection: close\r\n"
        return "" if self._request is None or self._request.modern else "Connection: keep-alive\r\n"

    def _respond_stream(self, response: Response, stream: IStream) -> None:
        target = self._request
        assert target is not None
        if not target.modern:
            self._keep = False
        framing = ("Transfer-Encoding: chunked\r\n" if target.modern else "") + self._connection()
        try:
            text = head(response, framing, self._factory.date.at(self._factory.wall()))
        except ValueError:
            stream.stop()
            self._failed(Failure())
            return
        self._transport.write(text)
        if target.method == "HEAD":
            stream.stop()
            self._finished()
            return
        self._stream = stream
        self._sink = ChunkSink(self, self._factory.chunks, raw=not target.modern)
        stream.start(self._sink)

    def stream_finished(self) -> None:
        """Called by the sink: the last byte of a streamed response has been written."""
        self._sink = None
        self._stream = None
        self._finished()

    def _end_stream(self) -> None:
        """Detach the stream from the connection."""
        sink, stream = self._sink, self._stream
        self._sink = self._stream = None
        if sink is not None:
            sink.lost()
        if stream is not None:
            stream.stop()

    def _finished(self) -> None:
        """After a response: continue with the next request, or close."""
        body = self._body
        if not self._keep:
            unread = self._lingering or (body is not None and not body.complete)
            if body is not None:
                body.cancel()
            self._linger(self._limits.linger if unread else 0)
            return
        self._request = None
        self.since = self._factory.clock.seconds()
        if body is not None and not body.complete:
            body.cancel()
            self.state = DRAIN
        else:
            self._body = None
            self.state = HEAD
        if not self._reading or self._counted:
            self._watch_reading()
        if self._buffer and not self._advancing:
            self._advance_later()

    # -- closing --------------------------------------------------------------------------------------------------

    def _linger(self, seconds: float) -> None:
        """Close after discarding further input: closing with unread bytes would reset the connection, and the client
        might not receive the response."""
        self.state = CLOSING
        self._buffer = b""
        self._forget_next()
        self._watch_reading()
        if seconds:
            self._factory.clock.callLater(seconds, self._close)
        else:
            self._close()

    def _close(self) -> None:
        if self.state == CLOSING:
            # Twisted's TLS waits for its producer to finish before it closes.
            self._transport.unregisterProducer()
            self._transport.loseConnection()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self.state != GONE:
            self._transport.abortConnection()

    def check(self, now: float) -> None:
        """Called about every second: enforce timeouts."""
        limits = self._limits
        if not self._reading:
            # Others may have left room since.
            self._watch_reading()
        if self.paused and self.state != TAKEN:
            # A client with unsent response data only has to read it.
            if now - self.paused_since > limits.stall_timeout:
                self.abort()
        elif self.state == HEAD:
            if now - self.since > (limits.head_timeout if self._buffer or not self._serial else limits.idle_timeout):
                self._linger(0)
        elif self.state == DRAIN and now - self.since > limits.head_timeout:
            self.abort()

    def stop(self) -> None:
        """Server shutdown: close an idle connection now, others after the current response. Streams end now."""
        self._keep = False
        if self.state in (HEAD, DRAIN):
            self._linger(0)
        elif self._sink is not None:
            sink, stream = self._sink, self._stream
            if stream is not None:
                stream.stop()
            sink.finish()

    def _take_over(self) -> Takeover:
        """`Request.hijack`: the pipeline's response is ignored, the caller owns the connection."""
        if self.state != BUSY or self._sink is not None:
            raise RuntimeError("the request has been served")
        self.state = TAKEN
        self._watch_reading()
        self._transport.unregisterProducer()
        self._factory.closed(self)
        return Takeover(self._transport, self._hand_over)

    def _hand_over(self, taker: IProtocol) -> None:
        self._taker = taker
        taker.makeConnection(cast(ITransport, self._transport))
        data, self._buffer = self._buffer, b""
        if data:
            taker.dataReceived(data)


def _has(response: Response, name: str) -> bool:
    return any(key.lower() == name for key, _ in response.headers)
