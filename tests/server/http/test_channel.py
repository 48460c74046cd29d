"""A connection parses bytes to requests, serves them in order, and enforces its limits."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from orchd.errors import ApiError
from orchd.server.http import channel as channel_module
from orchd.server.http.channel import GONE
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.limits import Limits
from orchd.server.http.request_head import RequestTarget, parse_line
from orchd.server.pipeline.interfaces import Pieces, Request, Response, StreamEnded
from orchd.txkit.coroutines import start
from tests.server.http.http_doubles import Answer, Paths, read_answers

GET = b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n"


class Wire:
    """A connection to a server on a clock."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.paths = Paths()
        self.factory = ApiServerFactory(self.paths, self.clock, limits, wall=lambda: 2_000_000.0)
        self.connect()

    def connect(self) -> None:
        channel = self.factory.buildProtocol(None)
        assert channel is not None
        self.channel = channel
        self.transport = StringTransport()
        connect: Callable[[StringTransport], None] = channel.makeConnection
        connect(self.transport)

    def send(self, *data: bytes) -> None:
        for piece in data:
            self.channel.dataReceived(piece)
        self.turns()

    def turns(self, most: int = 100) -> None:
        """Run the reactor's turns until nothing is due."""
        for _ in range(most):
            if not any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
                break
            self.clock.advance(0)

    def answers(self, *, bodiless: int = 0) -> list[Answer]:
        """The responses since the last call."""
        wire = self.transport.value()
        self.transport.clear()
        return read_answers(wire, bodiless=bodiless)

    def lose(self) -> None:
        self.channel.connectionLost(connectionDone)

    @property
    def closed(self) -> bool:
        return self.transport.disconnecting or self.transport.disconnected


def _post(path: bytes, body: bytes, *headers: bytes) -> bytes:
    lines = b"".join(header + b"\r\n" for header in (b"Host: h", b"Content-Length: %d" % len(body), *headers))
    return b"POST %b HTTP/1.1\r\n%b\r\n%b" % (path, lines, body)


def test_connection_carries_many_requests() -> None:
    """One connection carries many requests; responses have a length, a date and no Connection header."""
    wire = Wire()
    for _ in range(3):
        wire.send(GET % b"/a?b=c")
        (response,) = wire.answers()
        assert response.body == b"GET /a"
        assert response.headers == {
            "content-type": "text/plain", "content-length": "6", "date": "Sat, 24 Jan 1970 03:33:20 GMT",
        }  # fmt: skip
    assert wire.paths.requests[0].query == {"b": ("c",)}
    assert wire.paths.requests[0].credentials.remote == "192.168.1.1"
    assert not wire.closed


def test_repeated_request_lines_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of a connection is remembered if it is short; another line, or another version, is parsed."""
    parsed: list[bytes] = []

    def parse(line: bytes) -> RequestTarget:
        parsed.append(line)
        return parse_line(line)

    monkeypatch.setattr(channel_module, "parse_line", parse)
    wire = Wire()
    long = b"/" + b"x" * 1024
    for path in (b"/a?b=c", b"/a?b=c", b"/a?b=d", b"/a?b=d", b"/a?b=c", long, long, b"/a?b=c"):
        wire.send(GET % path)
    assert [line.split()[1] for line in parsed] == [b"/a?b=c", b"/a?b=d", b"/a?b=c", long, long]
    assert [request.query["b"] for request in wire.paths.requests if request.query] == [
        ("c",), ("c",), ("d",), ("d",), ("c",), ("c",),
    ]  # fmt: skip
    wire.answers()
    wire.send(b"GET /a?b=c HTTP/1.0\r\n\r\n")
    assert wire.answers()[0].body == b"GET /a" and wire.closed


def test_pipelined_requests_are_answered_in_order() -> None:
    """Requests that arrive together are answered in order, each after the previous response."""
    wire = Wire()
    wire.send(GET % b"/a" + GET % b"/wait" + GET % b"/b" + _post(b"/echo", b"x"))
    assert [response.body for response in wire.answers()] == [b"GET /a"]
    wire.paths.waiting[0].callback(Response(body=b"late"))
    wire.turns()
    assert [response.body for response in wire.answers()] == [b"late", b"GET /b", b"x"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 60), max_size=60))
def test_requests_may_be_split_anywhere(cuts: list[int]) -> None:
    """The responses are the same however the bytes are divided into reads."""
    data = (
        GET % b"/a"
        + _post(b"/echo", b"hello")
        + b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        + _post(b"/ignore", b"dropped")
        + GET % b"/b"
    )
    wire = Wire()
    while data:
        size = cuts.pop() if cuts else len(data)
        wire.send(data[:size])
        data = data[size:]
    assert [response.body for response in wire.answers()] == [b"GET /a", b"hello", b"abcde", b"POST /ignore", b"GET /b"]
    assert not wire.closed


def test_continue_is_sent_when_the_body_is_read() -> None:
    """100 Continue is sent once, when the body is read."""
    wire = Wire()
    wire.send(_post(b"/echo", b"hello", b"Expect: 100-continue")[:-5])
    assert [response.code for response in wire.answers()] == [100]
    wire.send(b"he", b"llo")
    assert [response.body for response in wire.answers()] == [b"hello"]


def test_unread_expect_continue_closes_the_connection() -> None:
    """If the verb does not read the body, no 100 Continue is sent and the connection closes, since the body may or may
    not follow."""
    wire = Wire()
    wire.send(_post(b"/ignore", b"hello", b"Expect: 100-continue")[:-5])
    (response,) = wire.answers()
    assert (response.code, response.headers["connection"]) == (200, "close")


def test_head_has_the_length_of_get() -> None:
    """A response to HEAD has the length of that to GET, and no body."""
    wire = Wire()
    wire.send(b"HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n")
    (response,) = wire.answers(bodiless=1)
    assert (response.headers["content-length"], response.body) == ("7", b"")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"HTTP/1.0\r\n\r\n", "close"),
        (b"HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"),
        (b"HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "close"),
    ],
)
def test_connection_close_and_http_1_0(sent: bytes, expected: str) -> None:
    """Connections of HTTP/1.0 clients, and those with Connection: close, are closed."""
    wire = Wire()
    wire.send(b"GET / " + sent)
    (response,) = wire.answers()
    assert response.headers["connection"] == expected
    assert wire.closed is (expected == "close")


def test_body_too_large() -> None:
    """A body above the verb's limit is rejected before it is read, and the rest of it does not reset the connection."""
    wire = Wire(Limits(discard=10_000, linger=3))
    head = b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n"
    wire.send(head)
    (response,) = wire.answers()
    assert (response.code, response.headers["connection"]) == (413, "close")
    assert json.loads(response.body)["reason"] == "RequestEntityTooLarge"
    assert not wire.closed
    wire.send(b"x" * 100_000)
    wire.clock.advance(3)
    assert wire.closed


def test_small_body_too_large() -> None:
    """If little is left of a rejected body, it is discarded and the connection continues."""
    wire = Wire()
    wire.send(_post(b"/echo", b"x" * 2000) + GET % b"/next")
    assert [response.code for response in wire.answers()] == [413, 200]


def test_chunked_body_too_large() -> None:
    """A chunked body is rejected as soon as it exceeds the limit."""
    wire = Wire()
    wire.send(
        b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + b"200\r\n" + b"x" * 512 + b"\r\n"
    )
    assert wire.answers() == []
    wire.send(b"200\r\n" + b"x" * 512 + b"\r\n")
    assert [response.code for response in wire.answers()] == [413]


def test_invalid_chunked_coding_is_500() -> None:
    """Invalid chunked coding is a 500 with the reference's message, and closes the connection."""
    wire = Wire()
    wire.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n")
    (response,) = wire.answers()
    status = json.loads(response.body)
    assert (response.code, status["message"]) == (500, "malformed chunked encoding")
    assert "reason" not in status
    assert wire.closed


def test_read_ahead_is_bounded() -> None:
    """The transport is paused while a body or later requests wait for a slow verb."""
    wire = Wire(Limits(read_ahead=1000))
    wire.send(b"POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n" + b"x" * 1500)
    assert wire.transport.producerState == "paused"
    wire.paths.waiting[0].callback(Response())
    assert wire.transport.producerState == "producing"
    wire.send(b"x" * 3500 + GET % b"/wait" + b"x" * 1001)
    assert wire.transport.producerState == "paused"


def test_read_ahead_of_all_connections_is_bounded() -> None:
    """While all connections hold too much, those that hold more than a little are paused, until others have left."""
    wire = Wire(Limits(read_ahead=1000, read_ahead_total=1500, read_ahead_each=100))
    head, channels = b"POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n", []
    for size in (900, 900, 90):
        wire.connect()
        channels.append((wire.channel, wire.transport))
        wire.send(head + b"x" * size)
        # Above the limit, with the next data.
        wire.send(b"x" * 5)
    states = [transport.producerState for _, transport in channels]
    assert states == ["producing", "paused", "producing"] and wire.factory.read_ahead == 905 + 905 + 95
    channels[0][0].connectionLost(connectionDone)
    wire.clock.advance(1)
    assert channels[1][1].producerState == "producing" and wire.factory.read_ahead == 905 + 95
    wire.paths.waiting[1].callback(Response())
    wire.paths.waiting[2].callback(Response())
    assert wire.factory.read_ahead == 0


def test_unfinished_heads_count_as_read_ahead() -> None:
    """Connections that send large heads are paused together with those that send bodies."""
    wire = Wire(Limits(read_ahead_total=1000, read_ahead_each=100))
    wire.send(b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 1000)
    wire.send(b"x")
    assert wire.transport.producerState == "paused"


def test_refused_body_ends_the_connection() -> None:
    """A body that is refused while it arrives fails its reader; the client can read the response while it sends."""
    wire = Wire()
    wire.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\n", b"x")
    arrival = wire.paths.requests[0].body.arrival
    assert arrival is not None
    arrival.refuse(ApiError(429, "", "later"))
    (response,) = wire.answers()
    assert (response.code, response.headers["connection"]) == (429, "close") and not wire.closed
    wire.send(b"x" * 499)
    wire.clock.advance(6)
    assert wire.closed


def test_forwarded_body_is_read_as_fast_as_it_is_taken() -> None:
    """A reader of pieces gets what has arrived; while it takes nothing, the transport is paused above the limit."""
    wire = Wire(Limits(read_ahead=1000))
    wire.send(b"POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n")
    body = wire.paths.requests[0].body
    assert body.length == 5000
    pieces: list[bytes] = []
    start(body.piece()).addCallback(pieces.append)
    wire.send(b"x" * 300)
    assert pieces == [b"x" * 300] and wire.transport.producerState == "producing"
    wire.send(b"y" * 600, b"y" * 600)
    assert wire.transport.producerState == "paused"
    start(body.piece()).addCallback(pieces.append)
    assert pieces[1:] == [b"y" * 1200] and wire.transport.producerState == "producing"
    wire.send(b"z" * 3500)
    for _ in range(2):
        start(body.piece()).addCallback(pieces.append)
    assert pieces[2:] == [b"z" * 3500, b""]


def test_answer_cancels_the_reader_of_a_body() -> None:
    """A reader that waits for the rest of a body is cancelled when the request has been answered without it."""
    wire = Wire()
    wire.send(b"POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\n")
    failures: list[Failure] = []
    start(wire.paths.requests[0].body.piece()).addErrback(failures.append)
    wire.paths.waiting[0].callback(Response())
    assert [type(failure.value) for failure in failures] == [CancelledError]


def test_read_ahead_is_bounded_while_the_client_does_not_read() -> None:
    """A client that sends a body but reads no response is not read beyond the limit."""
    wire = Wire(Limits(read_ahead=1000))
    wire.send(b"POST /stream HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n")
    wire.channel.pauseProducing()
    wire.send(b"x" * 1500)
    assert wire.transport.producerState == "paused"


def test_large_head_is_431() -> None:
    """A head above the limit is 431 in plain text; the client has time to read it."""
    wire = Wire(Limits(head=1000))
    wire.send(b"GET / HTTP/1.1\r\nHost: h\r\nX: ", b"x" * 2000)
    (response,) = wire.answers()
    assert (response.code, response.body) == (431, b"431 Request Header Fields Too Large")
    wire.send(b"x" * 2000)
    assert wire.answers() == []
    wire.clock.advance(1)
    assert wire.closed


@pytest.mark.parametrize(
    "data",
    [b"\x16\x03\x01\x02\x00\x01\n", b"GET / HTTP/1.1\nHost: h\n\n", b"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", b"\x00" * 50 + b"\r\n\r\n"],
)  # fmt: skip
def test_invalid_request_is_400(data: bytes) -> None:
    """An invalid request is a plain 400, and no later bytes are parsed."""
    wire = Wire()
    wire.send(data)
    (response,) = wire.answers()
    assert (response.code, response.body, response.headers["connection"]) == (400, b"400 Bad Request", "close")
    wire.send(GET % b"/a")
    assert wire.answers() == []
    assert wire.paths.requests == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=10))
def test_any_bytes_are_handled(pieces: list[bytes]) -> None:
    """No input raises an exception."""
    wire = Wire(Limits(head=200))
    wire.send(*pieces)
    wire.clock.advance(60)
    wire.lose()
    assert not wire.clock.getDelayedCalls()


def test_idle_and_slow_connections_time_out() -> None:
    """Connections that are silent, send a head slowly or are idle between requests are closed."""
    wire = Wire(Limits(head_timeout=10, idle_timeout=20))
    wire.clock.pump([1] * 12)
    assert wire.closed
    wire.connect()
    wire.send(GET % b"/a", b"GET")
    for _ in range(12):
        wire.send(b"x")
        wire.clock.advance(1)
    assert wire.closed
    wire.connect()
    wire.send(GET % b"/a")
    wire.clock.pump([1] * 15)
    assert not wire.closed
    wire.clock.pump([1] * 7)
    assert wire.closed


def test_running_requests_do_not_time_out() -> None:
    """The duration of a request is limited by the pipeline, not by the connection."""
    wire = Wire(Limits(head_timeout=10, idle_timeout=20))
    wire.send(GET % b"/wait")
    wire.clock.pump([1] * 100)
    assert not wire.closed


def test_disconnect_cancels() -> None:
    """A disconnect cancels the request and the read of its body."""
    wire = Wire()
    wire.send(GET % b"/wait")
    wire.lose()
    assert wire.paths.cancelled == ["/wait"]
    wire.connect()
    wire.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
    wire.lose()
    assert wire.paths.cancelled == ["/wait", "CancelledError"]
    assert wire.channel.state == GONE


def test_streamed_response_is_chunked() -> None:
    """A streamed response is chunked, with one chunk per write, sent at once; afterwards the connection is reusable."""
    wire = Wire()
    wire.send(GET % b"/stream")
    feed = wire.paths.feeds[0]
    head = wire.transport.value()
    assert head.endswith(b"Transfer-Encoding: chunked\r\n\r\n")
    wire.transport.clear()
    feed.sink.write(b"hello")
    assert wire.transport.value() == b"5\r\nhello\r\n"
    feed.sink.write(b"")
    feed.sink.finish()
    feed.sink.write(b"late")
    assert wire.transport.value() == b"5\r\nhello\r\n0\r\n\r\n"
    wire.transport.clear()
    wire.send(GET % b"/a")
    assert [response.body for response in wire.answers()] == [b"GET /a"]


def test_large_chunks_are_not_copied() -> None:
    """A large chunk is passed to the transport without a copy, so that slow clients hold no copies of their own."""
    wire = Wire()
    wire.send(GET % b"/stream")
    wire.transport.clear()
    pieces: list[bytes] = []
    sink = wire.paths.feeds[0].sink
    sink._send = pieces.append
    frame = b"x" * 70_000
    sink.write(frame)
    assert pieces == [b"11170\r\n", frame, b"\r\n"]
    assert pieces[1] is frame


def test_http_1_0_stream_ends_with_the_connection() -> None:
    """HTTP/1.0 has no chunks: closing the connection ends the stream."""
    wire = Wire()
    wire.send(b"GET /stream HTTP/1.0\r\n\r\n")
    wire.transport.clear()
    wire.paths.feeds[0].sink.write(b"hello")
    wire.paths.feeds[0].sink.finish()
    assert wire.transport.value() == b"hello"
    assert wire.closed


def test_disconnect_stops_the_stream() -> None:
    """When the client disconnects, the stream is stopped and writes to it have no effect."""
    wire = Wire()
    wire.send(GET % b"/stream")
    feed = wire.paths.feeds[0]
    wire.lose()
    assert feed.stopped == 1
    feed.sink.write(b"x")
    feed.sink.finish()
    failed: list[Failure] = []
    start(_await(feed.sink.writable)).addErrback(failed.append)
    assert failed[0].check(StreamEnded)


async def _await(wait: Callable[[], object]) -> object:
    return await wait()  # type: ignore[misc]  # the double's sink is untyped


def test_stream_backpressure() -> None:
    """`buffered` counts what is written while the transport is full; `writable` fires when it has space again."""
    wire = Wire(Limits(stall_timeout=30))
    wire.send(GET % b"/stream")
    sink = wire.paths.feeds[0].sink
    sink.write(b"x")
    assert sink.buffered == 0
    wire.channel.pauseProducing()
    sink.write(b"12345")
    assert sink.buffered == 10
    done: list[object] = []
    start(_await(sink.writable)).addCallback(done.append)
    assert not done
    wire.channel.resumeProducing()
    assert (sink.buffered, done) == (0, [None])
    wire.channel.pauseProducing()
    wire.clock.pump([1] * 40)
    assert wire.transport.disconnected


class Parts:
    """A large body that records how far it was produced."""

    def __init__(self, count: int) -> None:
        self.made = 0
        self.body = Pieces(count * 40_000, lambda: self._pieces(count))

    def _pieces(self, count: int) -> Iterator[bytes]:
        for number in range(count):
            self.made += 1
            yield str(number).encode() * 40_000


def test_one_pipelined_request_per_reactor_turn() -> None:
    """Requests that arrive together do not block other connections."""
    wire = Wire()
    wire.channel.dataReceived(GET % b"/a" * 5)
    begun = [len(wire.paths.requests)]
    for _ in range(4):
        # Clock.advance would run calls for the same moment in the same turn.
        wire.channel._next.cancel()  # type: ignore[union-attr]  # there is one
        wire.channel._advance_now()
        begun.append(len(wire.paths.requests))
    assert begun == [1, 2, 3, 4, 5] and wire.channel._next is None


def test_unread_response_delays_the_next_request() -> None:
    """A client that does not read has at most one pending response, however many requests it sends, and reading from it
    stops."""
    wire = Wire(Limits(read_ahead=1000))
    wire.send(GET % b"/a")
    wire.channel.pauseProducing()
    wire.send(*[GET % b"/a" * 10] * 10)
    assert len(wire.paths.requests) == 1 and wire.transport.producerState == "paused"
    wire.channel.resumeProducing()
    wire.turns()
    assert len(wire.paths.requests) == 101 and wire.transport.producerState == "producing"


def test_slow_reader_is_not_idle() -> None:
    """The timeout of the next head starts when the client has taken the previous response."""
    wire = Wire(Limits(head_timeout=10, stall_timeout=100))
    wire.send(GET % b"/a")
    wire.channel.pauseProducing()
    wire.send(GET % b"/b")
    wire.clock.pump([1.0] * 50)
    assert not wire.closed
    wire.channel.resumeProducing()
    wire.turns()
    assert [response.body for response in wire.answers()] == [b"GET /a", b"GET /b"]


def test_lost_connection_drops_pending_requests() -> None:
    """Pending requests of a lost connection are dropped."""
    wire = Wire()
    wire.channel.dataReceived(GET % b"/a" * 5)
    wire.lose()
    wire.turns()
    assert len(wire.paths.requests) == 1 and not wire.clock.getDelayedCalls()


def test_large_body_is_produced_on_demand() -> None:
    """A body is produced only as the transport has space; the next request's response follows it."""
    wire, parts = Wire(), Parts(9)
    wire.paths.special["/parts"] = lambda request: Response(content_type="text/plain", body=parts.body)
    wire.channel.pauseProducing()
    wire.send(GET % b"/parts" + GET % b"/a")
    assert parts.made == 0
    wire.channel.resumeProducing()
    wire.turns()
    assert parts.made == 9
    big, small = wire.answers()
    assert big.body == b"".join(str(number).encode() * 40_000 for number in range(9)) and small.body == b"GET /a"


def test_large_bodies_follow_each_other() -> None:
    """A transport that pauses within each write gets each body whole and in order."""
    wire = Wire()
    all_parts = [Parts(5), Parts(7)]
    waiting = list(all_parts)
    wire.paths.special["/parts"] = lambda request: Response(content_type="text/plain", body=waiting.pop(0).body)
    write = wire.channel._transport.write

    def grudging(data: bytes) -> None:
        wire.channel.pauseProducing()
        write(data)
        wire.channel.resumeProducing()

    wire.channel._transport.write = grudging  # type: ignore[method-assign]  # a double of one method
    wire.send(GET % b"/parts" + GET % b"/parts" + GET % b"/a")
    sizes = [len(response.body) for response in wire.answers()]
    assert sizes == [200_000, 280_000, 6] and [parts.made for parts in all_parts] == [5, 7]


def test_unread_large_body_is_dropped() -> None:
    """If the client disconnects, or does not read for too long, the rest is not produced."""
    wire, parts = Wire(Limits(stall_timeout=30)), Parts(9)
    wire.paths.special["/parts"] = lambda request: Response(content_type="text/plain", body=parts.body)
    wire.channel.pauseProducing()
    wire.send(GET % b"/parts")
    wire.clock.pump([1] * 40)
    assert wire.transport.disconnected and parts.made == 0
    wire.lose()
    wire.channel.resumeProducing()
    assert parts.made == 0


def test_large_body_is_compressed() -> None:
    """A large body is compressed like any other."""
    wire, parts = Wire(), Parts(9)
    wire.paths.special["/parts"] = lambda request: Response(content_type="text/plain", body=parts.body)
    wire.send(b"GET /parts HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
    (packed,) = wire.answers()
    assert len(gzip.decompress(packed.body)) == 360_000
    wire.send(b"HEAD /parts HTTP/1.1\r\nHost: h\r\n\r\n")
    (head,) = wire.answers(bodiless=1)
    assert head.headers["content-length"] == "360000" and parts.made == 9


def test_large_responses_are_compressed_on_request() -> None:
    """Large responses are compressed if the client accepts gzip; small ones and other types are not."""
    wire = Wire()
    wire.send(b"GET /big HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
    (response,) = wire.answers()
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(response.body) == b"0123456789" * 30000
    wire.send(GET % b"/big", b"GET /a HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
    assert ["content-encoding" in response.headers for response in wire.answers()] == [False, False]


def test_pipeline_exception_is_500() -> None:
    """An exception of the pipeline is a plain 500, and closes the connection."""
    wire = Wire()
    wire.send(GET % b"/bug")
    (response,) = wire.answers()
    assert (response.code, response.headers["connection"]) == (500, "close")


def test_header_line_breaks_are_refused() -> None:
    """A line break in a response header is a bug: it becomes a 500 and is never sent."""
    wire = Wire()
    wire.paths.special["/inject"] = lambda _: Response(headers=[("X", "a\r\nSet-Cookie: b")])
    wire.send(GET % b"/inject")
    (response,) = wire.answers()
    assert response.code == 500
    assert "set-cookie" not in response.headers


def test_stop_closes_idle_connections_and_waits_for_requests() -> None:
    """Stopping closes idle connections, ends streams orderly and completes requests."""
    wire = Wire()
    idle = wire.channel, wire.transport
    wire.connect()
    wire.send(GET % b"/stream")
    streaming = wire.channel, wire.transport
    wire.connect()
    wire.send(GET % b"/wait")
    stopped: list[None] = []
    start(wire.factory.stop(10)).addCallback(stopped.append)
    assert idle[1].disconnecting
    assert wire.paths.feeds[0].stopped == 1
    assert streaming[1].value().endswith(b"0\r\n\r\n")
    assert streaming[1].disconnecting
    assert not wire.closed
    wire.paths.waiting[0].callback(Response())
    assert wire.answers()[0].headers["connection"] == "close"
    assert wire.closed
    for channel in (idle[0], streaming[0], wire.channel):
        assert not stopped
        channel.connectionLost(connectionDone)
    assert stopped == [None]
    assert wire.factory.buildProtocol(None) is None
    assert not wire.clock.getDelayedCalls()


def test_stop_aborts_after_the_grace_period() -> None:
    """Connections that do not end within the grace period are aborted."""
    wire = Wire()
    wire.send(GET % b"/wait")
    start(wire.factory.stop(5))
    wire.clock.advance(6)
    assert wire.transport.disconnected


def test_request_can_take_over_its_connection() -> None:
    """A request can take over its connection, with the bytes after its head."""

    class Taker(Protocol):
        def __init__(self) -> None:
            self.got = b""
            self.lost = False

        def dataReceived(self, data: bytes) -> None:
            self.got += data

        def connectionLost(self, reason: Failure = connectionDone) -> None:
            self.lost = True

    wire = Wire()
    taker = Taker()

    def take(request: Request) -> Response:
        assert request.hijack is not None
        takeover = request.hijack()
        takeover.transport.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        takeover.to(taker)
        return Response(body=b"ignored")

    wire.paths.special["/take"] = take
    wire.send(GET % b"/take" + b"early", b"later")
    assert taker.got == b"earlylater"
    assert wire.transport.value() == b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    wire.lose()
    assert taker.lost


def test_response_may_close_the_connection() -> None:
    """Bytes after the request are discarded for a while, and are not parsed as requests."""
    wire = Wire()
    wire.paths.special["/last"] = lambda request: Response(content_type="text/plain", body=b"no", close=True)
    wire.send(GET % b"/last" + GET % b"/a")
    (response,) = wire.answers()
    assert (response.body, response.headers["connection"]) == (b"no", "close")
    assert [request.path for request in wire.paths.requests] == ["/last"]
    assert not wire.transport.disconnecting
    wire.clock.advance(60)
    assert wire.transport.disconnecting


def test_upgrade_needs_http_1_1() -> None:
    """An HTTP/1.0 request cannot take over its connection."""
    wire = Wire()
    wire.send(b"GET /a HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
    other = Wire()
    other.send(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
    assert wire.paths.requests[0].hijack is None and other.paths.requests[0].hijack is not None


class Full(StringTransport):
    """A transport that pauses its producer at each write."""

    protocol: Any

    def __init__(self) -> None:
        StringTransport.__init__(self)

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        StringTransport.registerProducer(self, producer, streaming)
        self.asked = producer

    def write(self, data: bytes) -> None:
        StringTransport.write(self, data)
        self.asked.pauseProducing()

    def writeSequence(self, data: Any) -> None:
        StringTransport.writeSequence(self, list(data))
        self.asked.pauseProducing()

    def abortConnection(self) -> None:
        StringTransport.abortConnection(self)
        self.protocol.connectionLost(Failure(connectionDone))


def _behind(factory: ApiServerFactory, clock: Clock, path: bytes = b"/own") -> Full:
    """A client that has a pending response and reads nothing."""
    channel = factory.buildProtocol(None)
    assert channel is not None
    transport = Full()
    transport.protocol = channel
    connect: Callable[[StringTransport], None] = channel.makeConnection
    connect(transport)
    channel.dataReceived(GET % path)
    clock.advance(0)
    return transport


def test_unread_responses_are_bounded_in_total() -> None:
    """Above a total, the connections that have not read for longest are aborted, after some time. Bytes that lists
    share with the cache are not counted."""
    clock, paths = Clock(), Paths()
    paths.special["/own"] = lambda request: Response(body=b"x" * 100_000)
    paths.special["/shared"] = lambda request: Response(body=[b"x" * 50_000] * 2)
    factory = ApiServerFactory(paths, clock, Limits(unread_total=250_000, unread_patience=5.0, gzip_above=None))
    first = _behind(factory, clock)
    clock.advance(1)
    others = [_behind(factory, clock) for _ in range(2)]
    shared = _behind(factory, clock, b"/shared")
    clock.advance(3)
    assert len(factory) == 4
    clock.pump([1] * 3)
    assert first.disconnected and not any(other.disconnected for other in (*others, shared))
    late = _behind(factory, clock)
    others[0].asked.resumeProducing()
    clock.pump([1] * 8)
    assert not any(other.disconnected for other in (*others, shared, late))
