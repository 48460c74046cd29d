"""Connections of HTTP clients: their reuse, and responses that are none."""

from __future__ import annotations

from typing import Any, cast

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol
from twisted.internet.testing import StringTransport
from twisted.logger import ILogObserver, globalLogPublisher
from twisted.python.failure import Failure
from twisted.web._newclient import Request, ResponseFailed
from twisted.web.http_headers import Headers

from orchd.txkit.response_heads import bounded_heads_pool


@pytest.mark.parametrize(
    ("version", "connection", "kept"),
    [
        ("1.1", None, True),
        ("1.1", "keep-alive", True),
        ("1.1", "close", False),
        ("1.1", "Close", False),
        ("1.1", "keep-alive, close", False),
        ("1.0", None, False),
        ("1.0", "close", False),
        ("1.0", "Keep-Alive", True),
    ],
)
def test_connection_is_used_again_only_if_the_server_keeps_it(version: str, connection: str | None, kept: bool) -> None:
    """An HTTP/1.0 server closes the connection after the response unless it sends Connection: keep-alive."""
    idle: list[object] = []
    factory: Any = bounded_heads_pool(None, persistent=True)._factory
    protocol = factory(idle.append, "metadata").buildProtocol(None)
    transport = StringTransport()
    protocol.makeConnection(transport)
    answers: list[Any] = []
    protocol.request(Request(b"POST", b"/", Headers({b"host": [b"a"]}), None, persistent=True)).addCallback(
        answers.append
    )
    line = "" if connection is None else f"Connection: {connection}\r\n"
    protocol.dataReceived(f"HTTP/{version} 200 OK\r\n{line}Content-Length: 0\r\n\r\n".encode())
    assert answers[0].code == 200
    assert (idle == [protocol], transport.disconnecting) == (kept, not kept)


class _Body(Protocol):
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.ended = ""

    def dataReceived(self, data: bytes) -> None:
        self.pieces.append(data)

    def connectionLost(self, reason: Failure = Failure(Exception())) -> None:  # noqa: B008
        self.ended = reason.type.__name__  # type: ignore[union-attr]  # of every failure


def _ask() -> tuple[Any, StringTransport, list[Any]]:
    """A connection on which a request waits for its response, its transport, and where the response or the failure
    appears."""
    factory: Any = bounded_heads_pool(None, persistent=True)._factory
    protocol = factory(lambda _: None, "metadata").buildProtocol(None)
    transport = StringTransport()
    protocol.makeConnection(transport)
    answers: list[Any] = []
    protocol.request(Request(b"GET", b"/", Headers({b"host": [b"a"]}), None, persistent=True)).addBoth(answers.append)
    return protocol, transport, answers


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 101, "more than 100 interim responses"),
        (b"HTTP/1.1 99999 OK\r\n\r\n", "malformed HTTP status code"),
        (b"HTTP/1.1 000 OK\r\n\r\n", "malformed HTTP status code"),
    ],
)
def test_responses_that_are_none_fail(head: bytes, why: str) -> None:
    """Interim responses without end, and status codes that cannot be sent on, end the request and the connection."""
    protocol, transport, answers = _ask()
    protocol.dataReceived(head)
    assert answers[0].check(ResponseFailed) and why in str(answers[0].value.reasons[0].value)
    assert transport.disconnecting or transport.disconnected


def test_interim_responses_are_not_logged() -> None:
    """Some interim responses precede the response, and the log has nothing of them."""
    protocol, _, answers = _ask()
    seen: list[Any] = []
    observer = cast(ILogObserver, seen.append)
    globalLogPublisher.addObserver(observer)
    try:
        protocol.dataReceived(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100 + b"HTTP/1.1 204 OK\r\n\r\n")
    finally:
        globalLogPublisher.removeObserver(observer)
    assert (answers[0].code, seen) == (204, [])


def test_small_chunks_are_handed_on_together() -> None:
    """The content of the chunks that arrive together is one piece; the body ends with the last chunk."""
    protocol, _, answers = _ask()
    protocol.dataReceived(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 50)
    body = _Body()
    answers[0].deliverBody(body)
    protocol.dataReceived(b"1;a=b\r\ny\r\n" * 1000 + b"2\r\nz")
    protocol.dataReceived(b"z\r\n0\r\n\r\n")
    assert (body.pieces, body.ended) == ([b"x" * 50, b"y" * 1000 + b"z", b"z"], "ResponseDone")


@pytest.mark.parametrize("rest", [b"", b"zz\r\n"])
def test_incomplete_and_malformed_chunks_fail(rest: bytes) -> None:
    """A body fails that ends before its last chunk, or has a chunk without a size."""
    protocol, _, answers = _ask()
    protocol.dataReceived(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
    body = _Body()
    answers[0].deliverBody(body)
    if rest:
        protocol.dataReceived(rest)
    protocol.connectionLost(Failure(ConnectionDone()))
    assert (body.pieces, body.ended) == ([b"x"], "ResponseFailed")


@pytest.mark.parametrize("tls", [False, True])
def test_a_turn_receives_little(tls: bool) -> None:
    """A connection reads at most 32 KiB at once, and 4 KiB at its begin and after many lines, below TLS too."""
    factory: Any = bounded_heads_pool(None, persistent=True)._factory
    protocol = factory(lambda _: None, "metadata").buildProtocol(None)
    raw, transport = StringTransport(), StringTransport()
    for each in (raw, transport):
        cast(Any, each).bufferSize = 1 << 16
    if tls:
        cast(Any, transport).transport = raw
    protocol.makeConnection(transport)
    sizes = [cast(Any, raw if tls else transport).bufferSize]
    protocol.request(Request(b"GET", b"/", Headers({b"host": [b"a"]}), None, persistent=True))
    for data in (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nX: " + b"x" * 400 + b"\r\n\r\n", b"\n" * 100, b"x" * 100):
        protocol.dataReceived(data)
        sizes.append(cast(Any, raw if tls else transport).bufferSize)
    assert sizes == [4 << 10, 32 << 10, 4 << 10, 32 << 10]
