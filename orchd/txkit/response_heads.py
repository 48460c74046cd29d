"""Connections of `twisted.web.client.Agent` with a limit on the size of response heads, that are used again only if the
server keeps them open.

Twisted limits the length of a header line but not the number of lines, so that a peer could exhaust memory. It logs
each interim response, and hands on each chunk of a body by itself, however small. It takes connections of HTTP/1.0
servers, which close them after a response, for persistent ones: the next request would fail if it were sent before the
end of the connection arrives.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, ClassVar, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint, ITCPTransport
from twisted.logger import ILogObserver
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS, HTTP11ClientProtocol, HTTPClientParser, ParseError
from twisted.web.client import Agent, HTTPConnectionPool, _HTTP11ClientFactory
from twisted.web.http import _DataLoss, _MalformedChunkedDataError
from twisted.web.http_headers import Headers
from twisted.web.iweb import IBodyProducer, IResponse

from orchd.txkit.chunked import BadChunk, ChunkDecoder
from orchd.txkit.log import Logger

#: Maximum bytes of a response head, including preceding interim responses, and maximum number of those.
MOST_HEAD, _MOST_INTERIM = 256 * 1024, 100
#: Maximum bytes that a connection receives in one turn, and maximum at its begin and after bytes with more than one
#: line in `_DENSE`: of the worst heads and chunks each byte takes a tenth of a microsecond, and many connections may be
#: read in one turn.
_READ, _READ_LINES = 32 << 10, 4 << 10
_DENSE = 32
#: Status codes that can be sent on.
_LEAST_STATUS, _MOST_STATUS = 100, 999


class HeadTooLargeError(Exception):
    """The head of a response exceeds `MOST_HEAD` bytes."""

    def __init__(self) -> None:
        super().__init__(f"net/http: server response headers exceeded {MOST_HEAD} bytes; aborted")


class TooManyInterimResponsesError(Exception):
    """More than `_MOST_INTERIM` interim responses precede a response."""

    def __init__(self) -> None:
        super().__init__(f"more than {_MOST_INTERIM} interim responses")


def _keeps_open(response: HTTPClientParser) -> bool:
    """True if the server of a response takes further requests on the connection (RFC 9112, 9.3)."""
    values = response.connHeaders.getRawHeaders(b"connection", [])
    options = {option.strip().lower() for value in values for option in value.split(b",")}
    if b"close" in options:
        return False
    return response.response.version >= (b"HTTP", 1, 1) or b"keep-alive" in options


class _Chunks:
    """Transfer decoder for Twisted's parser, which hands on the content of all chunks that were received together as
    one piece."""

    def __init__(self, content: Callable[[bytes], None], finish: Callable[[bytes], None]) -> None:
        self._decoder = ChunkDecoder()
        self._content = content
        self._finish = finish

    def dataReceived(self, data: bytes) -> None:
        try:
            pieces = self._decoder.feed(data)
        except BadChunk as error:
            raise _MalformedChunkedDataError(str(error)) from None
        if pieces:
            self._content(b"".join(pieces))
        if self._decoder.ended:
            self._finish(self._decoder.rest)

    def noMoreData(self) -> None:
        if not self._decoder.ended:
            raise _DataLoss("the chunked body is not complete")


class _Parser(HTTPClientParser):
    _transferDecoders: ClassVar[dict[bytes, Any]] = {b"chunked": _Chunks}  # type: ignore[misc]  # shared by all
    #: Nothing of each interim response in the log.
    _log = Logger(observer=cast(ILogObserver, lambda event: None))
    _interim = 0

    def allHeadersReceived(self) -> None:
        code = self.response.code
        if not _LEAST_STATUS <= code <= _MOST_STATUS:
            raise ParseError("malformed HTTP status code", str(code).encode())
        if code < 200:
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                raise TooManyInterimResponsesError
        receive: Callable[[], None] = super().allHeadersReceived
        receive()


class _Protocol(HTTP11ClientProtocol):
    """Counts the bytes received while the response head is incomplete, and hands a response on when its head has
    arrived, also before the end of the request: a server that responds while it reads would otherwise wait for this
    client, and it for the server.
    """

    _head = 0
    _handed_on = False
    #: The transport below TLS, if there is any; None for one whose reads have no limit.
    _socket: Any = None

    def makeConnection(self, transport: Any) -> None:
        connect: Callable[[Any], None] = super().makeConnection
        connect(transport)
        raw = getattr(transport, "transport", transport)
        if hasattr(raw, "bufferSize"):
            self._socket = raw
            raw.bufferSize = _READ_LINES

    def request(self, request: Any) -> Deferred[IResponse]:
        send: Callable[[Any], Deferred[IResponse]] = super().request
        finished = send(request)
        if self._parser is not None:
            # Made by the base class, which knows no other.
            self._parser.__class__ = _Parser
        if self._state == "TRANSMITTING" and self._responseDeferred is not None:
            self._responseDeferred.addCallback(self._hand_on)
        self._let_abort()
        return finished

    def _let_abort(self) -> None:
        """Give the transport of the response's body `abortConnection`. Twisted's has only `loseConnection`, after which
        a TLS connection continues to receive until the server closes it too."""
        proxy: Any = self._transportProxy

        def abort() -> None:
            # After the end of the response the connection may serve another request.
            if proxy._producer is not None:
                cast(ITCPTransport, self.transport).abortConnection()

        if proxy is not None:
            proxy.abortConnection = abort

    def _hand_on(self, response: IResponse) -> IResponse:
        waiting = self._finishedRequest
        if self._state == "TRANSMITTING" and waiting is not None:
            self._handed_on = True
            # For the base class, which fires it when the request has been sent, or has failed.
            self._finishedRequest = Deferred()
            self._finishedRequest.addErrback(lambda _: None)
            waiting.callback(response)
        return response

    def _finishResponse_TRANSMITTING(self, rest: builtins.bytes) -> None:
        # The server does not want the rest of the request, of which some may wait to be written.
        request = self._currentRequest
        finish: Callable[[builtins.bytes], None] = super()._finishResponse_WAITING
        finish(rest)
        if request is not None:
            cast(Any, request).stopWriting()
        cast(ITCPTransport, self.transport).abortConnection()

    def _connectionLost_TRANSMITTING(self, reason: Failure) -> None:
        lose: Callable[[Failure], None] = super()._connectionLost_TRANSMITTING
        lose(reason)
        self._end_response(reason)

    def _connectionLost_GENERATION_FAILED(self, reason: Failure) -> None:
        lose: Callable[[Failure], None] = super()._connectionLost_GENERATION_FAILED
        lose(reason)
        self._end_response(reason)

    def _end_response(self, reason: Failure) -> None:
        """A response that was handed on ends with the connection; the base class knows none."""
        if self._handed_on:
            disconnect: Callable[[Failure], None] = self._disconnectParser
            disconnect(reason)

    def dataReceived(self, bytes: builtins.bytes) -> None:
        if self._socket is not None:
            self._socket.bufferSize = _READ_LINES if bytes.count(b"\n") * _DENSE > len(bytes) else _READ
        parse: Callable[[builtins.bytes], None] = super().dataReceived
        parse(bytes)
        parser = self._parser
        if parser is None or parser.state not in (STATUS, HEADER):
            self._head = 0
            return
        self._head += len(bytes)
        if self._head > MOST_HEAD:
            fail: Callable[[Failure], None] = self._giveUp
            fail(Failure(HeadTooLargeError()))
            cast(ITCPTransport, self.transport).abortConnection()

    def _finishResponse_WAITING(self, rest: builtins.bytes) -> None:
        parser, request = self._parser, self._currentRequest
        if parser is not None and request is not None and not _keeps_open(parser):
            request.persistent = False
        finish: Callable[[builtins.bytes], None] = super()._finishResponse_WAITING
        finish(rest)


class _Factory(_HTTP11ClientFactory):
    # Nothing of each connection in the log.
    noisy = False

    def buildProtocol(self, addr: Any) -> _Protocol:
        make: Callable[[Any], _Protocol] = _Protocol
        return make(self._quiescentCallback)


class EndpointAgent(Agent):
    """Sends requests to endpoints, each on a connection of its own. Neither endpoint nor request target comes from a
    URL."""

    def __init__(self, reactor: Any) -> None:
        begin: Callable[..., None] = super().__init__
        begin(reactor, pool=bounded_heads_pool(reactor, persistent=False))

    def request_at(
        self,
        endpoint: IStreamClientEndpoint,
        method: bytes,
        target: bytes,
        headers: Headers,
        body: IBodyProducer | None,
    ) -> Deferred[IResponse]:
        """The response to ``method target``. `headers` contain Host. `target` is sent as it is."""
        send: Callable[..., Deferred[IResponse]] = self._requestWithEndpoint
        return send((b"", b"", 0), endpoint, method, None, headers, body, target)


def bounded_heads_pool(reactor: Any, *, persistent: bool) -> HTTPConnectionPool:
    """A connection pool whose requests fail with ResponseFailed around HeadTooLargeError."""
    pool = HTTPConnectionPool(reactor, persistent=persistent)
    pool._factory = _Factory
    return pool
