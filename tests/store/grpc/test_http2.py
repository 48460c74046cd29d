"""HTTP/2 frames of one connection, and calls of a client over them; the other side is the library h2, or bytes written
by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from hpack import Encoder
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from orchd.store.etcd.connection import Connection
from orchd.store.etcd.failures import CallError
from orchd.store.grpc.http2 import (
    COMPRESSION_ERROR,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    PREFACE,
    PROTOCOL_ERROR,
    Http2,
    Http2Error,
    header_block,
)

DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
BLOCK = header_block([(b":method", b"POST"), (b":path", b"/a")])


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + content


START = PREFACE + frame(SETTINGS, 0, 0)
OPEN = START + frame(HEADERS, 4, 1, BLOCK)


class Seen:
    """Records what happens to streams."""

    def __init__(self) -> None:
        self.happened: list[tuple[Any, ...]] = []

    def headers_received(self, stream: int, headers: Mapping[bytes, bytes], ended: bool) -> None:
        self.happened.append(("headers", stream, dict(headers), ended))

    def data_received(self, stream: int, data: bytes, ended: bool) -> None:
        self.happened.append(("data", stream, data, ended))

    def stream_reset(self, stream: int, code: int) -> None:
        self.happened.append(("reset", stream, code))

    def windows_opened(self) -> None:
        """Not recorded."""

    def going_away(self, last: int, code: int) -> None:
        self.happened.append(("away", last, code))


def server(most: int = 2) -> tuple[Http2, Seen]:
    seen = Seen()
    return Http2(seen, client=False, window=100_000, connection_window=200_000, most=most), seen


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"GET / HTTP/1.1\r\n\r\n" + b" " * 20, PROTOCOL_ERROR),
        (PREFACE + frame(PING, 0, 0, b"12345678"), PROTOCOL_ERROR),
        (START + frame(PING, 0, 1, b"12345678"), PROTOCOL_ERROR),
        (START + frame(PING, 0, 0, b"1234567"), FRAME_SIZE_ERROR),
        (START + frame(SETTINGS, 0, 0, b"12345"), FRAME_SIZE_ERROR),
        (START + frame(SETTINGS, 1, 0, b"123456"), FRAME_SIZE_ERROR),
        (START + frame(SETTINGS, 0, 0, b"\0\4\x80\0\0\0"), FLOW_CONTROL_ERROR),
        (START + frame(SETTINGS, 0, 0, b"\0\5\0\0\0\1"), PROTOCOL_ERROR),
        (START + frame(SETTINGS, 0, 0, b"\0\2\0\0\0\2"), PROTOCOL_ERROR),
        (START + frame(PUSH, 4, 1, b"\0\0\0\2" + BLOCK), PROTOCOL_ERROR),
        (START + frame(DATA, 0, 1, b"x"), PROTOCOL_ERROR),
        (START + frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR),
        (START + frame(RESET, 0, 1, b"\0\0\0\0"), PROTOCOL_ERROR),
        (START + frame(WINDOW, 0, 3, b"\0\0\0\1"), PROTOCOL_ERROR),
        (START + frame(WINDOW, 0, 0, b"\0\0\0\0"), PROTOCOL_ERROR),
        (START + frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff"), FLOW_CONTROL_ERROR),
        (START + frame(WINDOW, 0, 0, b"\0\0\1"), FRAME_SIZE_ERROR),
        (START + frame(PRIORITY, 0, 1, b"1234"), FRAME_SIZE_ERROR),
        (START + frame(GOAWAY, 0, 0, b"1234"), FRAME_SIZE_ERROR),
        (START + b"\x00\x40\x01" + bytes((DATA, 0, 0, 0, 0, 1)), FRAME_SIZE_ERROR),
        (START + frame(HEADERS, 4, 2, BLOCK), PROTOCOL_ERROR),
        (START + frame(HEADERS, 4, 0, BLOCK), PROTOCOL_ERROR),
        (START + frame(HEADERS, 4, 1, b"\xff\xff\xff\xff\xff"), COMPRESSION_ERROR),
        (START + frame(HEADERS, 12, 1, b"\x05abc"), PROTOCOL_ERROR),
        (START + frame(HEADERS, 0, 1, BLOCK) + frame(PING, 0, 0, b"12345678"), PROTOCOL_ERROR),
        (START + frame(HEADERS, 0, 1, BLOCK) + frame(CONTINUATION, 4, 3, b""), PROTOCOL_ERROR),
        (START + frame(CONTINUATION, 4, 1, BLOCK), PROTOCOL_ERROR),
        (START + frame(HEADERS, 0, 1, b"x" * 9000) + frame(CONTINUATION, 0, 1, b"x" * 9000), ENHANCE_YOUR_CALM),
        (OPEN + frame(DATA, 8, 1, b"\5abc"), PROTOCOL_ERROR),
        (OPEN + frame(DATA, 0, 1, b"x" * 16000) * 20, None),
    ],
)
def test_what_the_standard_forbids_ends_the_connection(sent: bytes, code: int | None) -> None:
    """The peer gets a GOAWAY with the error's code, however its bytes arrive; None: nothing is wrong."""
    for step in (len(sent), 7):
        http, _ = server()
        try:
            for at in range(0, len(sent), step):
                http.receive(sent[at : at + step])
        except Http2Error as error:
            assert error.code == code
            assert http.take().endswith(code.to_bytes(4, "big"))
        else:
            assert code is None


def test_windows_of_requests_are_kept() -> None:
    """Data beyond a window, which is opened again as data is taken, ends the connection."""
    seen = Seen()
    http = Http2(seen, client=False, window=1000, connection_window=100_000, most=2)
    http.receive(OPEN)
    for _ in range(10):
        http.receive(frame(DATA, 0, 1, b"x" * 900))
    with pytest.raises(Http2Error) as caught:
        http.receive(frame(DATA, 0, 1, b"x" * 1001))
    assert caught.value.code == FLOW_CONTROL_ERROR


def test_frames_of_ended_streams_are_ignored() -> None:
    """What was under way when a stream ended is dropped, its headers still being decoded, and the connection goes
    on."""
    http, seen = server()
    http.receive(OPEN)
    http.reset(1, 0)
    encoder = Encoder()
    late, next_block = (encoder.encode([("x", "y" * 9)]) for _ in range(2))
    http.receive(frame(DATA, 0, 1, b"x") + frame(HEADERS, 5, 1, late) + frame(WINDOW, 0, 1, b"\0\0\0\1"))
    http.receive(frame(RESET, 0, 1, b"\0\0\0\1") + frame(HEADERS, 4, 3, next_block))
    assert [each[:2] for each in seen.happened] == [("headers", 1), ("headers", 3)]
    assert seen.happened[1][2] == {b"x": b"y" * 9}


def test_streams_beyond_the_limit_are_refused() -> None:
    """A client that opens too many streams has the further ones refused, until others end."""
    http, seen = server(most=1)
    http.receive(OPEN + frame(HEADERS, 5, 3, BLOCK))
    assert http.take().endswith(frame(RESET, 0, 3, b"\0\0\0\7"))
    http.reset(1, 0)
    http.receive(frame(HEADERS, 5, 5, BLOCK))
    assert [each[1] for each in seen.happened] == [1, 5]


@pytest.mark.parametrize(
    "blocks",
    [
        [[("a", "1")], [("a", "1")], [("a", "1")]],
        [[("a", "1")], [("a", "1")], [("b", "2")], [("a", "1")], [("b", "2")]],
        [[("a", str(number)), ("same", "x")] for number in range(300)],
    ],
)
@pytest.mark.parametrize("limit", [4096, 80, 0])
def test_header_blocks_are_decoded_by_the_table_of_the_peer(blocks: list[list[tuple[str, str]]], limit: int) -> None:
    """Headers are those that the peer meant, also where equal bytes mean others after its table has changed."""
    http, seen = server(most=1000)
    http.receive(START)
    encoder = Encoder()
    encoder.header_table_size = limit
    for number, headers in enumerate(blocks):
        http.receive(frame(HEADERS, 5, 2 * number + 1, encoder.encode(headers)))
    expected = [{name.encode(): value.encode() for name, value in headers} for headers in blocks]
    assert [each[2] for each in seen.happened] == expected


def test_padding_and_priority_are_removed() -> None:
    """Only the content reaches the owner; the padding counts as data that was taken."""
    http, seen = server()
    http.receive(START + frame(HEADERS, 4 | 8 | 32, 1, b"\2" + b"prior" + BLOCK + b"\0\0"))
    http.receive(frame(DATA, 8, 1, b"\3abc\0\0\0") + frame(DATA, 9, 1, b"\0"))
    assert [each[2:] for each in seen.happened[1:]] == [(b"abc", False), (b"", True)]


def test_shrunk_window_stops_sending() -> None:
    """A setting changes the windows of open streams; one below zero sends nothing until it is opened."""
    http, _ = server()
    http.receive(OPEN)
    http.take()
    out = deque([b"x" * 60_000])
    assert http.send_data(1, out, last=False) == 60_000
    http.receive(frame(SETTINGS, 0, 0, b"\0\4" + (10_000).to_bytes(4, "big")))
    out = deque([b"y" * 10])
    assert http.send_data(1, out, last=False) == 0
    http.receive(frame(WINDOW, 0, 1, (50_001).to_bytes(4, "big")))
    assert http.send_data(1, out, last=False) == 1


class Peer:
    """A client's connection to a server that a test plays by hand."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self.client = Connection("a", "http", lambda connection, reason: self.lost.append(reason), Clock())
        self.transport: Any = StringTransport()
        self.http: Any = H2Connection(H2Configuration(client_side=False))
        self.http.initiate_connection()
        cast(Any, self.client).makeConnection(self.transport)
        self.requests: list[int] = []
        self.exchange()

    def exchange(self) -> None:
        data = self.transport.value()
        self.transport.clear()
        for event in self.http.receive_data(data):
            if isinstance(event, events.RequestReceived):
                self.requests.append(event.stream_id)
        self.client.dataReceived(self.http.data_to_send())

    def call(self, timeout: float = 5.0) -> list[Any]:
        """The messages of a call, and its end."""
        results: list[Any] = []
        self.client.call("/s/m", results.append, results.append, timeout=timeout).send(b"ask", last=bool(timeout))
        self.exchange()
        return results

    def respond(self, stream: int, pieces: Sequence[bytes]) -> None:
        self.http.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        for piece in pieces:
            self.http.send_data(stream, piece)
        self.http.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        self.exchange()


def test_server_that_leaves_answers_what_it_has() -> None:
    """After GOAWAY the calls that the server has seen are answered, later ones are unsent, streams end, and then it
    closes."""
    peer = Peer()
    watch, seen, unseen = peer.call(0), peer.call(), peer.call()
    first, second, _ = peer.requests
    peer.http.close_connection(last_stream_id=second)
    data = peer.http.data_to_send()
    peer.client.dataReceived(data)
    assert peer.lost == ["the server is going away"]
    assert [error.sent for error in unseen] == [False] and not seen
    assert isinstance(watch[0], CallError) and first == 1
    with pytest.raises(CallError):
        peer.call()
    heads = header_block([(b":status", b"200"), (b"content-type", b"application/grpc")])
    trailers = header_block([(b"grpc-status", b"0")])
    peer.client.dataReceived(
        frame(HEADERS, 4, second, heads) + frame(DATA, 0, second, b"\0\0\0\0\1x") + frame(HEADERS, 5, second, trailers)
    )
    assert seen == [b"x", None] and peer.transport.disconnecting


def test_idle_connection_closes_when_its_server_leaves() -> None:
    """A connection without calls does not stay after GOAWAY."""
    peer = Peer()
    peer.http.close_connection()
    peer.client.dataReceived(peer.http.data_to_send())
    assert peer.lost and peer.transport.disconnecting


def test_server_that_fails_ends_all_calls() -> None:
    """After GOAWAY with an error nothing is awaited: what the server has seen may have been done or not."""
    peer = Peer()
    call = peer.call()
    peer.http.close_connection(ErrorCodes.INTERNAL_ERROR, last_stream_id=1)
    peer.client.dataReceived(peer.http.data_to_send())
    assert [error.sent for error in call] == [True] and peer.transport.disconnecting


def test_long_answers_in_pieces() -> None:
    """Messages are assembled from frames, whatever these divide."""
    peer = Peer()
    results = peer.call()
    content = b"\0\0\0\0\5hello\0\0\0\0\0\0\0\0\0\3you"
    peer.respond(1, [content[at : at + 1] for at in range(len(content))])
    assert results == [b"hello", b"", b"you", None]
