"""The client's end of a WebSocket: the handshake, messages in pieces, and the bounds on what a server sends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from wsproto.frame_protocol import FrameProtocol
from wsproto.utilities import generate_accept_token

from orchd.client import websocket
from orchd.client.errors import UnreachableError
from orchd.client.websocket import WebSocket
from orchd.errors import ApiError
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start

NORMAL = b"\x88\x02\x03\xe8"


class Opened:
    """A client whose request was sent, with the far side in the test's hands."""

    def __init__(self, *protocols: str) -> None:
        self.socket = WebSocket("https://s", "/a?b=c", "s:1", [("User-Agent", "x")], protocols or ("v5", "v4"))
        self.transport = StringTransport()
        self.results: list[Any] = []
        self.socket.opened.addBoth(self.results.append)
        self.socket.makeConnection(self.transport)  # type: ignore[no-untyped-call]  # of Twisted
        self.head = self.transport.value().decode()
        fields = dict(line.split(": ", 1) for line in self.head.split("\r\n")[1:] if line)
        self.accept = generate_accept_token(fields["Sec-WebSocket-Key"].encode()).decode()
        self.transport.clear()

    def agree(self, after: bytes = b"", **changes: str) -> None:
        """Accept the upgrade, with `changes` of fields."""
        fields = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec_WebSocket_Accept": self.accept,
            "Sec_WebSocket_Protocol": "v4",
        }
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in {**fields, **changes}.items() if value]
        self.receive("\r\n".join(["HTTP/1.1 101 Switching Protocols", *lines, "", ""]).encode() + after)

    def receive(self, data: bytes) -> None:
        self.socket.dataReceived(data)

    def sent(self) -> list[tuple[int, Any]]:
        """Opcode and payload of each frame that the client sent."""
        decoder = FrameProtocol(client=False, extensions=[])
        decoder.receive_bytes(self.transport.value())
        self.transport.clear()
        return [(int(frame.opcode), frame.payload) for frame in decoder.received_frames()]

    def error(self) -> ApiError:
        """Why the socket could not be opened."""
        (failure,) = self.results
        assert isinstance(failure.value, ApiError)
        return failure.value


def test_handshake_offers_the_protocols() -> None:
    """The request names target, host, protocols and headers; a message directly behind the response is received."""
    opened = Opened()
    lines = opened.head.split("\r\n")
    assert lines[0] == "GET /a?b=c HTTP/1.1" and {
        "Host: s:1",
        "User-Agent: x",
        "Sec-WebSocket-Protocol: v5, v4",
    } <= set(lines)
    opened.agree(after=b"\x82\x01x")
    assert opened.results == [opened.socket] and opened.socket.protocol == "v4"
    assert run(opened.socket.next()) == b"x"


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\0"])
def test_headers_with_line_breaks_are_refused(value: str) -> None:
    """A header that would end its line is not sent."""
    with pytest.raises(ValueError, match="header"):
        WebSocket("https://s", "/", "s", [("User-Agent", value)], ["v4"])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"Sec_WebSocket_Accept": "eA=="}, "Bad accept token"),
        ({"Upgrade": "h2c"}, "Upgrade"),
        ({"Sec_WebSocket_Protocol": "v1"}, "v1"),
        ({"Sec_WebSocket_Protocol": ""}, "none of the protocols v5, v4 is spoken there"),
        ({"Sec_WebSocket_Extensions": "permessage-deflate"}, "permessage-deflate"),
        ({"Sec_WebSocket_Protocol": "\xe9"}, "handshake"),
    ],
)
def test_responses_that_do_not_fit_are_errors(changes: dict[str, str], why: str) -> None:
    """A response to another key, for another protocol or with an extension is an error."""
    opened = Opened()
    opened.agree(b"", **changes)
    assert opened.error().code == 502 and why in opened.error().message and opened.transport.disconnecting


@pytest.mark.parametrize("data", [b"SSH-2.0\r\n\r\n", b"HTTP/1.1 101 S\r\n" + b"a: b\r\n" * 20_000])
def test_malformed_heads_are_errors(data: bytes) -> None:
    """What is not HTTP, or does not end, is an error."""
    opened = Opened()
    opened.receive(data)
    assert opened.error().code == 502 and opened.transport.disconnecting


def test_refusals_carry_the_servers_error() -> None:
    """A refusal becomes the error of its Status, or of its text; what was received counts if the connection ends
    early."""
    status = json.dumps({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}).encode()
    opened = Opened()
    opened.receive(b"HTTP/1.1 403 F\r\nContent-Length: %d\r\n\r\n" % len(status) + status[:9])
    assert opened.results == []
    opened.receive(status[9:])
    assert (opened.error().code, opened.error().reason, opened.error().message) == (403, "Forbidden", "no")
    early = Opened()
    early.receive(b"HTTP/1.1 500 E\r\nContent-Length: 100\r\n\r\nbroken")
    early.socket.connectionLost(Failure(ConnectionDone()))
    assert early.error().code == 500 and "broken" in early.error().message


def test_refusals_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless refusal is cut."""
    monkeypatch.setattr(websocket, "_MOST_REFUSAL", 10)
    opened = Opened()
    opened.receive(b"HTTP/1.1 500 E\r\n\r\n" + b"0123456789abc")
    assert opened.error().code == 500 and opened.error().message.endswith("0123456789")


def test_messages_come_in_any_pieces() -> None:
    """Messages of one or more frames, of either type and around control frames, arrive whole in order."""
    opened = Opened()
    opened.agree()
    for byte in (
        b"\x02\x01a\x89\x01p\x00\x01b\x80\x01c" + b"\x81\x02\xc3\xa9" + b"\x82\x00" + b"\x82\x7e\x00\x80" + b"x" * 128
    ):
        opened.receive(bytes((byte,)))
    assert [run(opened.socket.next()) for _ in range(4)] == [b"abc", "\xe9".encode(), b"", b"x" * 128]
    assert opened.sent() == [(10, b"p")]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x82\x81\0\0\0\0x", "mask"),
        (b"\xc2\x01x", "Reserved"),
        (b"\x80\x01x", "CONTINUATION"),
        (b"\x02\x01x\x82\x01x", "CONTINUATION"),
        (b"\x89\x7e\x00\x80", "Control frame"),
        (b"\x09\x01x", "control frame"),
        (b"\x83\x01x", "opcode"),
        (b"\x82\x05\0\0\0\0\0" * 3, "too large"),
        (b"\x02\x05\0\0\0\0\0" + b"\x00\x05\0\0\0\0\0" * 2, "too large"),
    ],
)
def test_malformed_and_large_frames_end_the_connection(monkeypatch: pytest.MonkeyPatch, data: bytes, why: str) -> None:
    """A frame that RFC 6455 does not allow, and a message above the limit, are errors for the reader."""
    monkeypatch.setattr(websocket, "_MOST_MESSAGE", 4 if data.startswith(b"\x82\x05") else 12)
    opened = Opened()
    opened.agree()
    opened.receive(data)
    with pytest.raises(ApiError, match=why):
        run(opened.socket.next())
    assert opened.transport.disconnecting
    opened.receive(b"\x82\x01x")


def test_close_is_answered_with_its_code() -> None:
    """The server's end is answered and ends the messages; later data and sends are ignored."""
    opened = Opened()
    opened.agree(after=b"\x82\x01x" + NORMAL + b"\x82\x01y")
    assert [run(opened.socket.next()), run(opened.socket.next())] == [b"x", None]
    assert opened.transport.value()[:2] == b"\x88\x82" and opened.sent() == [(8, (1000, ""))]
    run(opened.socket.send(b"late"))
    opened.socket.close()
    assert not opened.transport.value() and opened.transport.disconnecting


def test_own_end_is_announced() -> None:
    """Closing sends a normal end, drops what was not read, and ignores what follows."""
    opened = Opened()
    opened.agree(after=b"\x82\x01x")
    opened.socket.close()
    opened.receive(NORMAL)
    assert opened.sent() == [(8, (1000, ""))] and opened.transport.disconnecting
    assert run(opened.socket.next()) is None


def test_lost_connection_is_an_error() -> None:
    """The connection's end without a close frame is an error: in the handshake the server cannot be reached, later the
    far side of an upgraded connection may be what ended."""
    early, late = Opened(), Opened()
    late.agree()
    for each in (early, late):
        each.socket.connectionLost(Failure(ConnectionDone()))
    assert isinstance(early.error(), UnreachableError)
    with pytest.raises(ApiError, match=r"^https://[^ ]+: the connection was lost: ") as caught:
        run(late.socket.next())
    assert caught.value.code == 502


def test_unread_messages_pause_the_connection() -> None:
    """While a MiB of messages waits for its reader, the server is not read."""
    opened = Opened()
    opened.agree()
    for _ in range(17):
        opened.receive(b"\x82\x7f" + (65536).to_bytes(8, "big") + b"x" * 65536)
    assert opened.transport.producerState == "paused"
    for _ in range(9):
        run(opened.socket.next())
    assert opened.transport.producerState == "producing"


def test_full_connection_delays_senders() -> None:
    """While the transport is full a sender waits, and pings are not answered."""
    opened = Opened()
    opened.agree()
    opened.socket.pauseProducing()
    opened.receive(b"\x89\x01p")
    done: list[Any] = []
    start(opened.socket.send(b"x" * 70_000)).addBoth(done.append)
    assert done == [] and opened.sent() == [(2, b"x" * 70_000)]
    opened.socket.resumeProducing()
    assert done == [None]
