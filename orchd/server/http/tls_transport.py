"""TLS directly on the TCP transport: OpenSSL with memory BIOs and immediate socket writes.

Twisted's own wrapper costs 27 us for a frame to one of many watchers; this one a third of it. It is a transport to the
protocol above (`ISSLTransport`) and a protocol to the TCP transport below. Written data goes through OpenSSL and to the
socket in the same call; only what the socket does not accept is left to the reactor. Pending data stays unencrypted
until it can be sent, so that a large response to a slow client costs no copy.
"""

from __future__ import annotations

from collections import deque
from socket import socket
from typing import Any, cast

from OpenSSL import SSL
from twisted.internet.interfaces import (
    IAddress,
    IDelayedCall,
    IOpenSSLServerConnectionCreator,
    IProtocol,
    IProtocolFactory,
    IPullProducer,
    IPushProducer,
    IReactorTime,
    ISSLTransport,
    ISystemHandle,
    ITCPTransport,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

#: Maximum content of one record (RFC 8446, 5.1).
_RECORD = 16 << 10
#: Bytes encrypted per call.
_PIECE = 64 << 10
#: Pending bytes above which the writer is paused.
_HIGH = 64 << 10
#: Maximum overhead of a record (RFC 5246, 6.2; OpenSSL splits at 16 KiB).
_OVERHEAD = 256
_APPLICATION_DATA = 23
_HANDSHAKE_TIMEOUT = 30.0
#: Bytes of large writes, of all connections, that are encrypted in one reactor turn: some 20 ms.
_TURN = 4 << 20


class _EncryptionTurns:
    """Divides large writes of many connections, such as a large change that many watch, over reactor turns."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._left = _TURN
        self._scheduled = False
        self._waiting: deque[TlsTransport] = deque()

    def spend(self, transport: TlsTransport, size: int) -> bool:
        """May `transport` encrypt `size` more bytes in this turn? If not, its `continue_pumping` is called in a later
        one."""
        if self._left <= 0:
            self._waiting.append(transport)
            return False
        self._left -= size
        if not self._scheduled:
            self._scheduled = True
            self._clock.callLater(0, self._next)
        return True

    def _next(self) -> None:
        self._scheduled = False
        self._left = _TURN
        while self._waiting and self._left > 0:
            self._waiting.popleft().continue_pumping()


class TlsFactory(Factory):
    """Wraps protocol factories: `wrapped` for HTTP/1.1 and `wrapped_h2`, if given, for connections that negotiated
    h2."""

    noisy = False

    def __init__(
        self,
        contexts: IOpenSSLServerConnectionCreator,
        wrapped: IProtocolFactory,
        clock: IReactorTime,
        wrapped_h2: IProtocolFactory | None = None,
    ) -> None:
        self.contexts = contexts
        self.wrapped = wrapped
        self.wrapped_h2 = wrapped_h2
        self.clock = clock
        self.turns = _EncryptionTurns(clock)
        #: Handshakes that failed.
        self.failed_handshakes = 0
        self._shaking: set[TlsTransport] = set()
        self._h2: set[TlsTransport] = set()

    def buildProtocol(self, addr: IAddress | None) -> TlsTransport:
        return TlsTransport(self)

    def build(self, transport: TlsTransport, addr: Any) -> IProtocol | None:
        """Build the protocol of a connection after its handshake."""
        if transport.negotiatedProtocol == b"h2" and self.wrapped_h2 is not None:
            self._h2.add(transport)
            return self.wrapped_h2.buildProtocol(addr)
        return self.wrapped.buildProtocol(addr)

    def shaking(self, transport: TlsTransport, busy: bool) -> None:
        """For transports: a handshake begins or ends."""
        if busy:
            self._shaking.add(transport)
        else:
            self._shaking.discard(transport)

    def lost(self, transport: TlsTransport) -> None:
        """For transports: a connection has ended."""
        if transport in self._shaking:
            self.failed_handshakes += 1
        self._shaking.discard(transport)
        self._h2.discard(transport)

    def stop(self) -> None:
        """Close connections in the handshake; the protocols end the others."""
        shaking = list(self._shaking)
        self._shaking.clear()
        for transport in shaking:
            transport.abortConnection()

    def stop_h2(self) -> None:
        """Close HTTP/2 connections: twisted.web has no graceful end for them."""
        for transport in list(self._h2):
            transport.abortConnection()


@implementer(IPullProducer)
class _Drain:
    """Notifies the TLS transport that the TCP transport's buffer is empty."""

    __slots__ = ("_drained",)

    def __init__(self, drained: Any) -> None:
        self._drained = drained

    def resumeProducing(self) -> None:
        self._drained()

    def stopProducing(self) -> None:
        """The connection is lost, which is reported elsewhere."""


@implementer(ISSLTransport, IPushProducer)
class TlsTransport(Protocol):
    """One connection. See the module."""

    def __init__(self, factory: TlsFactory) -> None:
        self._factory = factory
        self.connection: SSL.Connection = factory.contexts.serverConnectionForTLS(cast(Any, self))
        self.negotiatedProtocol: bytes | None = None
        self._above: IProtocol | None = None
        self._timeout: IDelayedCall | None = None
        self._socket: socket | None = None
        #: Unencrypted pending data of the protocol above.
        self._queue: deque[bytes | memoryview] = deque()
        self._queued = 0
        #: True if the TCP transport has buffered data.
        self._blocked = False
        #: True if pending data waits for a later reactor turn.
        self._postponed = False
        self._producer: Any = None
        self._streaming = True
        self._producer_paused = False
        self._closing = False
        self._gone = False
        #: Remaining bytes of the current record, and the received part of a record header.
        self._missing = 0
        self._header = b""

    # -- TCP transport --------------------------------------------------------------------------------------------

    def connectionMade(self) -> None:
        transport = cast(Any, self.transport)
        if ITCPTransport.providedBy(transport):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        if ISystemHandle.providedBy(transport):
            handle = transport.getHandle()
            self._socket = handle if isinstance(handle, socket) else None
        transport.registerProducer(_Drain(self._drained), False)
        self._timeout = self._factory.clock.callLater(_HANDSHAKE_TIMEOUT, self._timed_out)
        self._factory.shaking(self, True)

    def _timed_out(self) -> None:
        self._timeout = None
        self.abortConnection()

    def dataReceived(self, data: bytes) -> None:
        if self._gone:
            return
        connection = self.connection
        size = len(data)
        try:
            connection.bio_write(data)
            if self._above is None:
                if not self._shake():
                    self._walk(data)
                    return
            elif (
                not self._missing
                and not self._header
                and size > 5
                and data[0] == _APPLICATION_DATA
                and (data[3] << 8) + data[4] + 5 == size
            ):
                # Exactly one record: asking OpenSSL for another would cost as much as reading one.
                self._above.dataReceived(connection.recv(size))
                return
            self._walk(data)
            while not self._gone and self._above is not None:
                self._above.dataReceived(self._read())
        except SSL.WantReadError:
            self._flush(0)
        except SSL.ZeroReturnError:
            # The client sent close_notify; for HTTP that is a disconnect.
            self.loseConnection()
        except SSL.Error:
            # Not TLS, or a TLS error. An alert may have to be sent.
            self._flush(0)
            self._queue.clear()
            self._drop()

    def _read(self) -> bytes:
        """Decrypted data of all records that have arrived, up to about `_PIECE` bytes: a client may send thousands of
        tiny ones, and what is above copies its buffer for each call. Raises SSL.Error as `recv`, if there is no data
        before it."""
        first = self.connection.recv(_PIECE)
        pieces, taken = [first], len(first)
        try:
            while taken < _PIECE:
                pieces.append(self.connection.recv(_PIECE))
                taken += len(pieces[-1])
        except SSL.Error:
            # The next read raises it again.
            pass
        return b"".join(pieces) if len(pieces) > 1 else first

    def _walk(self, data: bytes) -> None:
        """Follow the record headers in `data` (RFC 8446, 5.1), to detect whether it ends at a record boundary."""
        at, size = 0, len(data)
        while at < size:
            if self._missing:
                step = min(self._missing, size - at)
                self._missing -= step
                at += step
                continue
            part = data[at : at + 5 - len(self._header)]
            at += len(part)
            header = self._header + part
            if len(header) < 5:
                self._header = header
                return
            self._header = b""
            self._missing = (header[3] << 8) + header[4]

    def _shake(self) -> bool:
        """Continue the handshake; True when it is complete and the protocol is connected."""
        connection = self.connection
        try:
            connection.do_handshake()
        except SSL.WantReadError:
            self._flush(0)
            return False
        self._flush(0)
        self._shaken()
        self.negotiatedProtocol = connection.get_alpn_proto_negotiated() or None
        above = self._factory.build(self, self.getPeer())
        if above is None:
            self._drop()
            return False
        self._above = above
        above.makeConnection(self)
        return True

    def _shaken(self) -> None:
        self._factory.shaking(self, False)
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._gone = True
        self._factory.lost(self)
        self._shaken()
        self._queue.clear()
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.stopProducing()
        above, self._above = self._above, None
        if above is not None:
            above.connectionLost(reason)

    # -- writing --------------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if self._gone or self._closing or not data:
            return
        if self._blocked or self._queue:
            self._keep(data)
        elif len(data) > _RECORD or self._socket is None:
            self._keep(data)
            self.pump()
        else:
            # Fast path of frames and small responses, inlined: each call saved counts 500 times per event.
            connection = self.connection
            try:
                connection.send(data)
                out = connection.bio_read(len(data) + _OVERHEAD)
            except SSL.Error:
                self._drop()
                return
            try:
                sent = self._socket.send(out)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self._drop()
                return
            if sent != len(out):
                self._blocked = True
                cast(Any, self.transport).write(out[sent:])
            if len(out) == len(data) + _OVERHEAD:
                # Other pending data was sent as well.
                self._flush(0)

    def writeSequence(self, data: Any) -> None:
        if self._gone or self._closing:
            return
        for piece in data:
            self._keep(piece)
        if not self._blocked:
            self.pump()

    def _keep(self, data: bytes) -> None:
        if data:
            self._queue.append(data)
            self._queued += len(data)
            self._maybe_pause()

    def _maybe_pause(self) -> None:
        if self._producer is not None and self._streaming and not self._producer_paused and self._queued > _HIGH:
            self._producer_paused = True
            self._producer.pauseProducing()

    def _flush(self, size: int) -> None:
        """Write OpenSSL's output for `size` bytes to the socket, and the rest to the transport's buffer."""
        room = size + _OVERHEAD * (2 + size // 8192)
        while True:
            try:
                out = self.connection.bio_read(room)
            except SSL.WantReadError:
                return
            sent = 0
            if self._socket is not None and not self._blocked:
                try:
                    sent = self._socket.send(out)
                except (BlockingIOError, InterruptedError):
                    sent = 0
                except OSError:
                    self._drop()
                    return
            if sent != len(out):
                self._blocked = True
                cast(Any, self.transport).write(out[sent:] if sent else out)
            if len(out) < room:
                return

    def pump(self) -> None:
        """Encrypt and send pending data until the socket is full, or the share of this reactor turn is used up."""
        queue = self._queue
        turns = self._factory.turns
        while queue and not self._blocked and not self._gone and not self._postponed:
            if not turns.spend(self, min(self._queued, _PIECE)):
                self._postponed = True
                return
            piece = queue.popleft()
            if len(piece) > _PIECE:
                whole = memoryview(piece)
                piece = whole[:_PIECE]
                queue.appendleft(whole[_PIECE:])
            elif queue and len(piece) < _PIECE // 2:
                piece = self._gather(piece)
            self._queued -= len(piece)
            try:
                self.connection.sendall(piece)
            except SSL.Error:
                self._drop()
                return
            self._flush(len(piece))
        if not queue and not self._blocked:
            if self._closing:
                self._close()
            elif self._producer is not None and (self._producer_paused or not self._streaming):
                self._producer_paused = False
                self._producer.resumeProducing()

    def continue_pumping(self) -> None:
        """For the factory: the reactor turn that pending data has waited for."""
        self._postponed = False
        self.pump()

    def _gather(self, first: bytes | memoryview) -> bytes:
        """`first` joined with the following small pieces."""
        queue, pieces, size = self._queue, [first], len(first)
        while queue and size + len(queue[0]) <= _PIECE:
            pieces.append(queue.popleft())
            size += len(pieces[-1])
        return b"".join(pieces)

    def _drained(self) -> None:
        if self._blocked:
            self._blocked = False
            self.pump()

    # -- closing --------------------------------------------------------------------------------------------------

    def loseConnection(self) -> None:
        """Close after all pending data has been sent, with close_notify."""
        if not self._closing and not self._gone:
            self._closing = True
            if not self._queue and not self._blocked:
                self._close()

    def _close(self) -> None:
        try:
            self.connection.shutdown()
        except SSL.Error:
            """There is no session to close."""
        self._flush(0)
        transport = cast(Any, self.transport)
        transport.unregisterProducer()
        transport.loseConnection()

    def _drop(self) -> None:
        """Close a broken session."""
        self._gone = True
        transport = cast(Any, self.transport)
        transport.unregisterProducer()
        if self._above is None:
            # Send the alert first.
            transport.loseConnection()
        else:
            transport.abortConnection()

    def abortConnection(self) -> None:
        self._queue.clear()
        self._closing = self._gone = True
        cast(Any, self.transport).abortConnection()

    def loseWriteConnection(self) -> None:
        """Does nothing: TLS connections cannot be half-closed."""
        self.loseConnection()

    # -- transport of the protocol above --------------------------------------------------------------------------

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        if self._producer is not None:
            raise RuntimeError("there is a producer already")
        if self._gone:
            producer.stopProducing()
            return
        self._producer, self._streaming, self._producer_paused = producer, streaming, False
        if not streaming:
            producer.resumeProducing()

    def unregisterProducer(self) -> None:
        self._producer = None

    def pauseProducing(self) -> None:
        """Stop reading."""
        if not self._gone:
            cast(Any, self.transport).pauseProducing()

    def resumeProducing(self) -> None:
        """Read again."""
        if not self._gone:
            cast(Any, self.transport).resumeProducing()

    def stopProducing(self) -> None:
        self.loseConnection()

    def getHandle(self) -> SSL.Connection:
        """The OpenSSL connection, as in Twisted's TLS transport."""
        return self.connection

    def getPeerCertificate(self) -> Any:
        return self.connection.get_peer_certificate()

    def getPeer(self) -> Any:
        return cast(Any, self.transport).getPeer()

    def getHost(self) -> Any:
        return cast(Any, self.transport).getHost()

    def getTcpNoDelay(self) -> bool:
        return bool(cast(Any, self.transport).getTcpNoDelay())

    def setTcpNoDelay(self, enabled: bool) -> None:
        cast(Any, self.transport).setTcpNoDelay(enabled)

    def getTcpKeepAlive(self) -> bool:
        return bool(cast(Any, self.transport).getTcpKeepAlive())

    def setTcpKeepAlive(self, enabled: bool) -> None:
        cast(Any, self.transport).setTcpKeepAlive(enabled)
