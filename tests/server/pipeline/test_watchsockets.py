"""Watches over WebSockets: the handshake, events as messages, and ends from either side."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.testing import StringTransport

from orchd.dialect import PROTOBUF_MAGIC
from orchd.server.pipeline.verbs.watch.websocket import WatchSocket
from orchd.testing.doubles.server import run

HANDSHAKE = {
    "connection": "keep-alive, Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
MASK = b"\1\2\3\4"


class Taken:
    """A connection in memory."""

    def __init__(self) -> None:
        self.transport = StringTransport()
        self.protocol: Any = None

    def to(self, protocol: Any) -> None:
        self.protocol = protocol
        protocol.makeConnection(self.transport)

    def read(self) -> bytes:
        data: bytes = self.transport.value()
        self.transport.clear()
        return data

    def messages(self) -> list[tuple[int, bytes]]:
        return list(messages(self.read()))


def messages(data: bytes) -> Any:
    while data:
        opcode, size, at = data[0] & 15, data[1], 2
        assert data[0] & 0x80
        if size >= 126:
            more = 2 if size == 126 else 8
            size, at = int.from_bytes(data[2 : 2 + more], "big"), 2 + more
        yield opcode, data[at : at + size]
        data = data[at + size :]


def sent(opcode: int, payload: bytes = b"") -> bytes:
    """A frame as clients send it."""
    masked = bytes(byte ^ MASK[i % 4] for i, byte in enumerate(payload))
    size = bytes((0x80 | len(payload),)) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes((0x80 | opcode,)) + size + MASK + masked


def opened(space: Any, query: str = "", **headers: str) -> Taken:
    taken = Taken()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    url = space.url(f"configmaps?watch=1{query}")
    response = run(space.server.request("GET", url, headers={**HANDSHAKE, **named}, hijack=lambda: taken))
    assert response.code == 101
    head, _, rest = taken.transport.value().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ") and b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
    taken.head = head  # type: ignore[attr-defined]  # for tests of the head
    taken.transport.clear()
    taken.transport.write(rest)
    return taken


def test_each_event_is_a_text_message(space: Any) -> None:
    """The initial state and each change are a text message each; the end of the watch closes the socket."""
    space.config("a")
    taken = opened(space, "&timeoutSeconds=5")
    space.config("b")
    messages = [(opcode, orjson.loads(data)) for opcode, data in taken.messages()]
    assert [(o, e["type"], e["object"]["metadata"]["name"]) for o, e in messages if e["object"]["metadata"]["name"] in "ab"] == [
        (1, "ADDED", "a"), (1, "ADDED", "b"),
    ]  # fmt: skip
    space.server.clock.advance(5)
    assert taken.messages() == [(8, (1000).to_bytes(2, "big"))] and taken.transport.disconnecting


def test_protobuf_events_are_binary_messages(space: Any) -> None:
    """A protobuf event is a binary message without the length prefix of streams."""
    space.config("a")
    taken = opened(space, accept=space.server.dialect.protobuf)
    opcode, data = taken.messages()[0]
    assert opcode == 2 and data.startswith(b"\x0a\x05ADDED\x12") and PROTOBUF_MAGIC in data
    taken.protocol.connectionLost()


def test_first_subprotocol_is_chosen(space: Any) -> None:
    """The first of the offered subprotocols is chosen."""
    taken = opened(space, sec_websocket_protocol="a.example, b.example")
    assert b"Sec-WebSocket-Protocol: a.example" in taken.head  # type: ignore[attr-defined]  # see `opened`
    taken.protocol.connectionLost()


@pytest.mark.parametrize(
    ("header", "value", "why"),
    [
        ("sec-websocket-version", "8", b"missing or bad WebSocket Version"),
        ("sec-websocket-key", "", b"mismatch challenge/response"),
        ("sec-websocket-key", "\u010d", b"mismatch challenge/response"),
        ("sec-websocket-protocol", "\u010d", b"malformed Sec-WebSocket-Protocol"),
        ("sec-websocket-protocol", "a b", b"malformed Sec-WebSocket-Protocol"),
        ("sec-websocket-protocol", "a\r\nX: y", b"malformed Sec-WebSocket-Protocol"),
    ],
)
def test_invalid_handshakes_are_refused_over_http(space: Any, header: str, value: str, why: bytes) -> None:
    """A handshake of another version, or with values that a response cannot repeat, is rejected over HTTP: the
    connection is not taken over."""
    headers = {**HANDSHAKE, header: value}
    taken: list[Taken] = []
    running = len(space.server.server.api.watches.running)
    response = run(
        space.server.request(
            "GET", space.url("configmaps?watch=1"), headers=headers, hijack=lambda: taken.append(Taken())
        )
    )
    assert (response.code, response.body, taken) == (400, why, [])
    assert len(space.server.server.api.watches.running) == running


def test_refused_watch_is_an_http_response(space: Any) -> None:
    """A rejected watch is an HTTP error; without a connection to take over, the response is a stream."""
    url = space.url("configmaps?watch=1&labelSelector=((")
    assert run(space.server.request("GET", url, headers=HANDSHAKE, hijack=Taken)).code == 400
    response = run(space.server.request("GET", space.url("configmaps?watch=1"), headers=HANDSHAKE))
    assert response.code == 200
    response.response.stream.stop()


class TestClients:
    def test_close_is_answered(self, space: Any) -> None:
        """A close frame is answered, and nothing is left."""
        server = space.server.server
        running = len(server.api.watches.running)
        taken = opened(space)
        assert len(server.api.watches.running) == running + 1
        taken.read()
        taken.protocol.dataReceived(sent(8, b"\x03\xe8"))
        assert taken.messages() == [(8, b"\x03\xe8")] and taken.transport.disconnecting
        assert len(server.api.watches.running) == running
        taken.protocol.connectionLost()

    def test_lost_connection_ends_the_watch(self, space: Any) -> None:
        """A lost connection ends the watch."""
        server = space.server.server
        running = len(server.api.watches.running)
        opened(space).protocol.connectionLost()
        assert len(server.api.watches.running) == running

    def test_client_messages_are_ignored_and_pings_answered(self, space: Any) -> None:
        """Pings are answered and messages ignored, in any fragmentation; a too long control frame closes the
        connection."""
        taken = opened(space)
        taken.read()
        for byte in sent(1, b"x" * 300) + sent(9, b"hello") + sent(2, b"y"):
            taken.protocol.dataReceived(bytes((byte,)))
        assert taken.messages() == [(10, b"hello")]
        taken.protocol.dataReceived(b"\x89\xfe\x01\x00")
        assert [opcode for opcode, _ in taken.messages()] == [8] and taken.transport.disconnecting

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"\x81\x01x", 1002),
            (b"\xc1\x81" + MASK + b"x", 1002),
            (sent(0, b"x"), 1002),
            (sent(3), 1002),
            (sent(1, b"\xff"), 1007),
        ],
    )
    def test_malformed_frames_end_the_watch(self, space: Any, data: bytes, code: int) -> None:
        """A frame that RFC 6455 does not allow of clients is answered with the close code for it."""
        running = len(space.server.server.api.watches.running)
        taken = opened(space)
        taken.read()
        taken.protocol.dataReceived(data)
        ((opcode, payload),) = taken.messages()
        assert (opcode, payload[:2]) == (8, code.to_bytes(2, "big")) and taken.transport.disconnecting
        assert len(space.server.server.api.watches.running) == running
        taken.protocol.dataReceived(data)

    def test_pings_of_a_full_connection_are_combined(self, space: Any) -> None:
        """While the transport is full, pings are not answered; afterwards the last one is."""
        taken = opened(space)
        taken.read()
        taken.protocol.pauseProducing()
        taken.protocol.dataReceived(b"".join(sent(9, b"%d" % number) for number in range(10_000)))
        assert (taken.messages(), taken.protocol.buffered) == ([], 0)
        taken.protocol.resumeProducing()
        assert taken.messages() == [(10, b"9999")]
        taken.protocol.resumeProducing()
        assert taken.messages() == []
        taken.protocol.connectionLost()

    def test_unread_bytes_are_counted(self, space: Any) -> None:
        """Written bytes are counted while the transport is full."""
        taken = opened(space)
        taken.protocol.pauseProducing()
        space.config("a")
        assert taken.protocol.buffered > 100
        taken.protocol.resumeProducing()
        assert taken.protocol.buffered == 0
        taken.protocol.stopProducing()
        assert not taken.protocol.buffered


class _Still:
    """A stream without data."""

    def start(self, sink: Any) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_any_client_bytes_are_handled(pieces: list[bytes]) -> None:
    """Any bytes of clients are handled without an exception."""
    taken = Taken()
    socket = WatchSocket(_Still(), text=True)  # type: ignore[arg-type]  # enough of a stream
    taken.to(socket)
    socket.begin()
    for piece in pieces:
        socket.dataReceived(piece)
    assert all(opcode in (8, 10) for opcode, _ in taken.messages())
