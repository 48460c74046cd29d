"""HTTP/2 connections resist floods of small frames."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import LogLevel, globalLogPublisher

from orchd.errors import ApiError
from orchd.server.http.http2 import BoundedConnection, Http2Factory
from orchd.server.pipeline.interfaces import Request, Response
from orchd.txkit.coroutines import start
from tests.server.http.http_doubles import Paths

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 2, 3, 4, 6, 7, 8


def frame(kind: int, payload: bytes = b"", *, stream: int = 0, flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def post(stream: int, path: bytes) -> bytes:
    """The headers of a request with a body."""
    block = get(stream, path)[9:].replace(b"\0\x07:method\x03GET", b"\0\x07:method\x04POST")
    return frame(HEADERS, block, stream=stream, flags=4)


def get(stream: int, path: bytes = b"/a", *more: tuple[bytes, bytes]) -> bytes:
    """A request with literal headers (RFC 7541, 6.2.2)."""
    fields = ((b":method", b"GET"), (b":scheme", b"https"), (b":path", path), (b":authority", b"h"), *more)
    block = b"".join(b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in fields)
    return frame(HEADERS, block, stream=stream, flags=5)


class Wire:
    """A connection on a clock, after its preface."""

    def __init__(self, settings: bytes = b"") -> None:
        self.clock = Clock()
        self.paths = Paths()
        self.connection: BoundedConnection = Http2Factory(self.paths, self.clock, streams=100).buildProtocol(None)
        self.transport = StringTransport()
        connect: Callable[[StringTransport], None] = self.connection.makeConnection
        connect(self.transport)
        self.send(PREFACE + frame(SETTINGS, settings))

    def send(self, data: bytes) -> None:
        self.connection.dataReceived(data)

    def turns(self) -> int:
        """Run the connection until nothing is due; returns the number of reactor turns."""
        count = 0
        while self.connection._more is not None:
            # Clock.advance would run calls for the same moment in the same turn.
            self.connection._more.cancel()
            self.connection._go_on()
            count += 1
        return count

    def kinds(self) -> list[int]:
        """The types of the frames that were sent since the last call."""
        wire, out = self.transport.value(), []
        self.transport.clear()
        while wire:
            out.append(wire[3])
            wire = wire[9 + int.from_bytes(wire[:3], "big") :]
        return out


@pytest.mark.parametrize(
    "flood",
    [
        frame(PING, b"12345678"),
        frame(SETTINGS),
        frame(SETTINGS, struct.pack(">HI", 4, 65535) * 200),
        frame(PRIORITY, b"\0\0\0\0\x10", stream=7),
        frame(0x77),
    ],
)
def test_empty_frame_flood_closes_the_connection(flood: bytes) -> None:
    """A connection with only such frames is closed with ENHANCE_YOUR_CALM."""
    wire = Wire()
    for _ in range(2000):
        if wire.transport.disconnecting:
            break
        wire.send(flood)
        wire.turns()
    assert wire.transport.disconnecting
    # GOAWAY with ENHANCE_YOUR_CALM ends what was sent.
    assert wire.transport.value()[-17:-8] == frame(7, b"12345678")[:9] and wire.transport.value()[-4:] == b"\0\0\0\x0b"


@pytest.mark.parametrize(
    ("value", "received"),
    [(b"Bearer ", "Bearer"), (b" Bearer token\t", "Bearer token"), (b" ", ""), (b"", ""), (b"a b", "a b")],
)
def test_blanks_around_a_value_are_removed(value: bytes, received: str) -> None:
    """As over HTTP/1.1; the connection stays."""
    wire = Wire()
    wire.send(get(1, b"/a", (b"authorization", value)))
    wire.turns()
    assert GOAWAY not in wire.kinds()
    assert wire.paths.requests[0].header("authorization") == received


@pytest.mark.parametrize("field", [(b"x-a", b"a\nb"), (b"X-a", b"b"), (b":authority", b"h "), (b"te", b"all")])
def test_malformed_fields_stay_errors(field: tuple[bytes, bytes]) -> None:
    """What the library refuses besides blanks is refused: line ends in values, capitals, repeated pseudo-headers."""
    wire = Wire()
    wire.send(get(1, b"/a", field))
    wire.turns()
    assert GOAWAY in wire.kinds() and not wire.paths.requests


@pytest.mark.parametrize("split", [False, True], ids=["at once", "after the answer"])
def test_rapid_reset_closes_the_connection(split: bool) -> None:
    """A client that resets its requests, answered or not, gets GOAWAY with ENHANCE_YOUR_CALM after a thousand."""
    wire = Wire()
    for stream in range(1, 10_000, 2):
        if wire.transport.disconnecting:
            break
        for part in (get(stream), frame(RESET, b"\0\0\0\x08", stream=stream)):
            wire.send(part)
            if split:
                wire.turns()
                wire.clock.pump([0] * 5)
        wire.turns()
    assert wire.transport.disconnecting and len(wire.paths.requests) <= 1010
    assert wire.transport.value()[-17:-8] == frame(7, b"12345678")[:9] and wire.transport.value()[-4:] == b"\0\0\0\x0b"


def test_requests_after_the_limit_of_resets_are_dropped() -> None:
    """A request that arrives with the reset that closes the connection is not begun: its answer could not be sent."""
    wire, problems = Wire(), list[Any]()

    def note(event: Any) -> None:
        if event["log_level"] is LogLevel.critical:
            problems.append(event["log_format"])

    observe: Any = note
    globalLogPublisher.addObserver(observe)
    try:
        for stream in range(1, 20_000, 4):
            if wire.transport.disconnecting:
                break
            # So slow that the library's count of pending requests, which recovers later than this server's, is reached
            # first.
            wire.clock.advance(0.018)
            wire.send(get(stream, b"/wait"))
            wire.turns()
            wire.send(frame(RESET, b"\0\0\0\x08", stream=stream) + get(stream + 2))
            wire.turns()
            wire.clock.pump([0] * 5)
    finally:
        globalLogPublisher.removeObserver(observe)
    assert wire.transport.disconnecting and not problems


def test_idle_pings_are_allowed() -> None:
    """A client may send a ping every second for any time."""
    wire = Wire()
    for _ in range(5000):
        wire.clock.advance(1)
        wire.send(frame(PING, b"12345678"))
    assert not wire.transport.disconnecting and wire.kinds().count(PING) == 5000


def test_window_updates_are_allowed() -> None:
    """A client that takes a large response in small steps may send any number of window updates."""
    wire = Wire()
    for _ in range(20):
        wire.send(frame(WINDOW, b"\0\0\0\1") * 500)
        wire.turns()
    assert not wire.transport.disconnecting


def test_one_request_per_reactor_turn() -> None:
    """Requests that arrive together do not block others, and reading stops while some wait."""
    wire = Wire()
    wire.send(b"".join(get(stream) for stream in range(1, 19, 2)))
    assert len(wire.paths.requests) == 1 and wire.transport.producerState == "paused"
    assert wire.turns() == 8
    assert len(wire.paths.requests) == 9 and wire.transport.producerState == "producing"


@pytest.mark.parametrize("size", [1, 2, 8, 9, 10, 23, 50])
def test_frames_may_be_split_anywhere(size: int) -> None:
    """Frames are parsed however the bytes are divided into reads."""
    wire = Wire()
    data = get(1) + frame(PING, b"12345678") + get(3) + frame(WINDOW, b"\0\0\0\1")
    for at in range(0, len(data), size):
        wire.send(data[at : at + size])
        wire.turns()
    assert [request.path for request in wire.paths.requests] == ["/a", "/a"] and PING in wire.kinds()


def test_unread_responses_delay_requests() -> None:
    """While many bytes wait for a client, its further requests are not started."""
    wire = Wire(struct.pack(">HI", 4, 0))
    made: list[Request] = []

    def large(request: Request) -> Response:
        made.append(request)
        return Response(body=b"x" * (3 << 20))

    wire.paths.special["/large"] = large
    for stream in range(1, 21, 2):
        wire.send(get(stream, b"/large"))
        wire.turns()
    assert len(made) == 2


def _content(wire: Wire) -> dict[int, int]:
    """Bytes of content that each stream has received since the last call."""
    data: bytes = wire.transport.value()
    out: dict[int, int] = {}
    wire.transport.clear()
    while data:
        size, stream = int.from_bytes(data[:3], "big"), int.from_bytes(data[5:9], "big")
        if data[3] == DATA:
            out[stream] = out.get(stream, 0) + size
        data = data[9 + size :]
    return out


def _settle(wire: Wire) -> int:
    """Run everything that is due; returns the number of calls. A sender that never stops fails the test."""
    count = 0
    while due := [call for call in wire.clock.getDelayedCalls() if call.getTime() <= wire.clock.seconds()]:
        call: Any = due[0]
        # One by one: Clock.advance would run calls for the same moment in the same turn, for ever.
        function, arguments, named = call.func, call.args, call.kw
        call.cancel()
        function(*arguments, **named)
        count += 1
        assert count < 2000, "the sender does not rest"
    return count


def test_closed_window_pauses_the_sender() -> None:
    """While the window is closed nothing is sent; any frame that opens it continues the response."""
    wire = Wire(struct.pack(">HI", 4, 0))
    wire.paths.special["/large"] = lambda request: Response(body=b"x" * 100_000)
    for stream in (1, 3):
        wire.send(get(stream, b"/large"))
        wire.turns()
    _settle(wire)
    assert not _content(wire)
    wire.send(frame(WINDOW, struct.pack(">I", 20_000), stream=3))
    _settle(wire)
    assert _content(wire) == {3: 20_000}
    wire.send(frame(SETTINGS, struct.pack(">HI", 4, 30_000)))
    _settle(wire)
    # The connection's window is used up.
    assert sum(_content(wire).values()) == 65_535 - 20_000
    wire.send(frame(WINDOW, struct.pack(">I", 200_000)))
    _settle(wire)
    assert sum(_content(wire).values()) == 2 * 30_000 + 20_000 - 65_535
    for stream in (1, 3):
        wire.send(frame(WINDOW, struct.pack(">I", 100_000), stream=stream))
    _settle(wire)
    assert sum(_content(wire).values()) == 200_000 - 80_000


def test_large_answers_are_not_copied() -> None:
    """Frames are cut from a response without copying the rest."""
    wire = Wire(struct.pack(">HI", 4, 0))
    body = b"x" * (1 << 20)
    wire.paths.special["/large"] = lambda request: Response(body=body)
    wire.send(get(1, b"/large"))
    wire.send(frame(WINDOW, struct.pack(">I", 50_000), stream=1))
    wire.turns()
    _settle(wire)
    rest = wire.connection._outboundStreamQueues[1][0]
    assert rest.obj is body and len(rest) == len(body) - 50_000


def test_drained_stream_continues() -> None:
    """A stream whose data was all sent continues when there is more."""
    wire = Wire()
    wire.send(get(1, b"/stream"))
    wire.turns()
    _settle(wire)
    for size in (100, 200):
        wire.paths.feeds[0].sink.write(b"x" * size)
        _settle(wire)
        assert _content(wire)[1] >= size


def test_stop_answers_pending_requests_then_closes() -> None:
    """After GOAWAY pending requests are answered; then the connection closes."""
    wire = Wire()
    wire.connection.says_goodbye = lambda: True
    wire.kinds()
    wire.send(get(1))
    wire.turns()
    wire.clock.advance(0)
    kinds = wire.kinds()
    assert kinds.count(GOAWAY) == 1 and HEADERS in kinds
    assert wire.transport.disconnecting


def test_connection_with_a_silent_stream_stays_open() -> None:
    """Only a connection without requests ends for being idle: a watch may have nothing to send for long."""
    wire = Wire()
    wire.send(get(1, b"/wait"))
    wire.turns()
    wire.clock.pump([10] * 60)
    assert not wire.transport.disconnecting and GOAWAY not in wire.kinds()
    wire.send(frame(RESET, struct.pack(">I", 8), stream=1))
    wire.turns()
    wire.clock.pump([10] * 60)
    assert wire.transport.disconnecting


def test_stop_spares_other_connections() -> None:
    """The connections of other clients stay open."""
    wire = Wire()
    wire.kinds()
    wire.send(get(1))
    wire.turns()
    wire.clock.advance(0)
    assert GOAWAY not in wire.kinds() and not wire.transport.disconnecting


def windows(wire: Wire) -> dict[int, int]:
    """The bytes by which windows were opened since the last call, by stream; 0 is the connection."""
    sent = wire.transport.value()
    out: dict[int, int] = {}
    wire.transport.clear()
    while sent:
        size, kind, stream = int.from_bytes(sent[:3], "big"), sent[3], int.from_bytes(sent[5:9], "big")
        if kind == WINDOW:
            out[stream] = out.get(stream, 0) + int.from_bytes(sent[9 : 9 + size], "big")
        sent = sent[9 + size :]
    return out


def test_window_of_a_stream_opens_as_its_body_is_taken() -> None:
    """A body that nobody reads uses the window of its stream, not that of the connection."""
    wire = Wire()
    wire.send(post(1, b"/wait"))
    wire.turns()
    body = wire.paths.requests[0].body
    assert body.length is None
    for _ in range(3):
        wire.send(frame(DATA, b"x" * 16384, stream=1))
        wire.turns()
    assert windows(wire) == {0: 3 * 16384}
    pieces: list[bytes] = []
    start(body.piece()).addCallback(pieces.append)
    assert list(map(len, pieces)) == [3 * 16384] and windows(wire) == {1: 3 * 16384}
    start(body.piece()).addCallback(pieces.append)
    wire.send(frame(DATA, b"y" * 16384, stream=1) + frame(DATA, stream=1, flags=1))
    wire.turns()
    start(body.piece()).addCallback(pieces.append)
    assert pieces[1:] == [b"y" * 16384, b""]


def test_answer_before_the_end_of_a_body() -> None:
    """The rest of a body is not wanted after the response: the stream is reset without an error, and later content is
    ignored."""
    wire = Wire()
    wire.send(post(1, b"/ignored"))
    wire.turns()
    wire.clock.pump([1] * 5)
    kinds = wire.kinds()
    assert kinds[-1] == RESET and not wire.connection.streams
    wire.send(frame(DATA, b"x" * 16384, stream=1) + get(3))
    wire.turns()
    wire.clock.pump([1] * 5)
    assert HEADERS in wire.kinds() and len(wire.paths.requests) == 2


def test_refused_body_resets_its_stream() -> None:
    """The reader of a body that is refused while it arrives fails; the rest is not wanted after the response."""
    wire = Wire()
    wire.send(post(1, b"/echo") + frame(DATA, b"x" * 100, stream=1))
    wire.turns()
    arrival = wire.paths.requests[0].body.arrival
    assert arrival is not None
    arrival.refuse(ApiError(429, "", "later"))
    wire.clock.pump([1] * 5)
    kinds = wire.kinds()
    assert HEADERS in kinds and kinds[-1] == RESET and not wire.connection.streams and not wire.paths.bodies


def test_content_is_not_parsed_as_a_form() -> None:
    """The content of a request is that of the verb alone, whatever its type: forms are not parsed before
    authentication."""
    wire = Wire()
    name, value = b"content-type", b"multipart/form-data"
    field = b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    block = post(1, b"/echo")[9:] + field
    wire.send(frame(HEADERS, block, stream=1, flags=4) + frame(DATA, b"no form", stream=1, flags=1))
    wire.turns()
    wire.clock.pump([1] * 5)
    assert wire.paths.bodies == [b"no form"]


def test_aborted_stream_is_reset() -> None:
    """A response that breaks off is reset with an error: it must not look complete."""
    wire = Wire()
    wire.send(get(1, b"/stream"))
    wire.turns()
    wire.paths.feeds[0].sink.write(b"half")
    wire.transport.clear()
    wire.paths.feeds[0].sink.abort()
    sent = wire.transport.value()
    assert frame(RESET, struct.pack(">I", 2), stream=1) in sent
