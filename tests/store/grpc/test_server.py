"""Connections of a gRPC server, without sockets: a client that speaks HTTP/2 frame by frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from h2 import events
from h2.connection import H2Connection
from h2.settings import SettingCodes
from hyperframe.frame import PingFrame
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from orchd.store.grpc.call import Call, Method
from orchd.store.grpc.server import CallLimits, ServerFactory
from orchd.store.grpc.status import (
    DEADLINE_EXCEEDED,
    INTERNAL,
    RESOURCE_EXHAUSTED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    UNKNOWN,
    StatusError,
)

HEADERS = {
    ":method": "POST", ":scheme": "http", ":path": "/s/echo", ":authority": "a", "te": "trailers",
    "content-type": "application/grpc",
}  # fmt: skip


_LIMITS = CallLimits()


class Transport(StringTransport):
    """Can be aborted."""

    aborted = False

    def abortConnection(self) -> None:
        self.aborted = True
        self.disconnecting = True


class Echo:
    """A streaming service that returns its messages."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.over = False

    def message(self, data: bytes) -> None:
        self.call.send([data])

    def half_closed(self) -> None:
        self.call.end()

    def drained(self) -> None:
        pass

    def closed(self) -> None:
        self.over = True


class Client:
    """One connection to a server with the methods `echo`, `wait`, `fail`, `big` and `stream`."""

    def __init__(self, limits: CallLimits = _LIMITS, window: int = 65535) -> None:
        self.clock = Clock()
        self.waiting: list[Deferred[list[bytes]]] = []
        self.streams: list[Echo] = []

        async def echo(data: bytes) -> list[bytes]:
            return [data]

        async def wait(data: bytes) -> list[bytes]:
            self.waiting.append(Deferred())
            return await self.waiting[-1]

        async def fail(data: bytes) -> list[bytes]:
            raise StatusError(UNAVAILABLE, "é 100%\n") if data else ValueError("secret")

        async def big(data: bytes) -> list[bytes]:
            return [b"x" * 500_000, b"y" * 500_000]

        def stream(call: Call) -> Echo:
            self.streams.append(Echo(call))
            return self.streams[-1]

        by_path = {b"/s/echo": echo, b"/s/wait": wait, b"/s/fail": fail, b"/s/big": big}
        methods = {path: Method(unary=method) for path, method in by_path.items()}
        self.factory = ServerFactory({**methods, b"/s/stream": Method(streaming=stream)}, self.clock, limits)
        self.server: Any = self.factory.buildProtocol(None)
        self.transport: Any = cast(Any, Transport)()
        self.http: Any = H2Connection()
        self.http.initiate_connection()
        self.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.headers: dict[int, dict[str, str]] = {}
        self.content: dict[int, bytes] = {}
        cast(Any, self.server).makeConnection(self.transport)
        self.exchange()

    def exchange(self) -> None:
        """Deliver both ways until nothing moves."""
        while True:
            data = self.http.data_to_send()
            if data:
                self.server.dataReceived(data)
            self.clock.advance(0)
            back = self.transport.value()
            self.transport.clear()
            if back:
                for event in self.http.receive_data(back):
                    self._event(event)
            if not data and not back:
                return

    def _event(self, event: Any) -> None:
        if isinstance(event, events.ResponseReceived | events.TrailersReceived):
            headers = {str(_text(name)): _text(value) for name, value in event.headers}
            self.headers.setdefault(event.stream_id, {}).update(headers)
        elif isinstance(event, events.DataReceived):
            self.content[event.stream_id] = self.content.get(event.stream_id, b"") + event.data

    def send(self, data: bytes | None, *, end: bool = True, **headers: Any) -> int:
        """Begin a call with raw content; the number of its stream."""
        stream: int = self.http.get_next_available_stream_id()
        renamed = {name.replace("_", "-").replace("pseudo-", ":"): value for name, value in headers.items()}
        self.http.send_headers(stream, list({**HEADERS, **renamed}.items()), end_stream=data is None and end)
        if data is not None:
            self.http.send_data(stream, data, end_stream=end)
        self.exchange()
        return stream

    def status(self, stream: int) -> tuple[int, str]:
        headers = self.headers[stream]
        return int(headers["grpc-status"]), headers.get("grpc-message", "")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


def message(data: bytes, flag: int = 0) -> bytes:
    return bytes((flag,)) + len(data).to_bytes(4, "big") + data


def test_unary_call() -> None:
    """A request has its response and the status 0, also if it arrives byte by byte."""
    client = Client()
    first = client.send(message(b"hello"))
    assert client.content[first] == message(b"hello") and client.status(first) == (0, "")
    second = client.send(None, end=False)
    content = message(b"bye")
    for at in range(len(content)):
        client.http.send_data(second, content[at : at + 1], end_stream=at == len(content) - 1)
        client.exchange()
    assert client.content[second] == message(b"bye") and client.status(second) == (0, "")


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (message(b"x"), {"pseudo_path": "/s/none"}, (UNIMPLEMENTED, "/s/none is not implemented by this store")),
        (message(b"x", 1), {}, (UNIMPLEMENTED, "compressed messages are not supported")),
        (message(b"x", 2), {}, (INTERNAL, "a message begins with the invalid flag 2")),
        (message(b"x" * 1001), {}, (RESOURCE_EXHAUSTED, "grpc: received message larger than max (1001 vs. 1000)")),
        (message(b"x")[:-1], {}, (UNKNOWN, "the request ends within a message")),
        (None, {}, (UNKNOWN, "the request has no message")),
        (message(b"x"), {"grpc_timeout": "1 second"}, (INTERNAL, "malformed grpc-timeout")),
        (message(b"x"), {"pseudo_path": "/s/fail"}, (UNAVAILABLE, "%C3%A9 100%25%0A")),
        (message(b""), {"pseudo_path": "/s/fail"}, (UNKNOWN, "internal error")),
    ],
)
def test_mistakes_have_statuses(content: bytes | None, headers: dict[str, Any], status: tuple[int, str]) -> None:
    """A mistake ends its call with a status and a message; the connection goes on."""
    client = Client(CallLimits(request=1000))
    assert client.status(client.send(content, **headers)) == status
    assert client.status(client.send(message(b"x"))) == (0, "")


@pytest.mark.parametrize(
    ("headers", "status"), [({"content_type": "text/plain"}, "415"), ({"pseudo_method": "GET"}, "405")]
)
def test_other_requests_have_http_statuses(headers: dict[str, Any], status: str) -> None:
    """What is no gRPC call is answered in HTTP."""
    client = Client()
    assert client.headers[client.send(message(b"x"), **headers)][":status"] == status


def test_deadline_ends_a_call() -> None:
    """A call that is not answered within grpc-timeout ends with a status, and its work is cancelled."""
    client = Client()
    stream = client.send(message(b"x"), pseudo_path="/s/wait", grpc_timeout="100m")
    (waiting,) = client.waiting
    client.clock.advance(0.2)
    client.exchange()
    assert client.status(stream) == (DEADLINE_EXCEEDED, "etcdserver: context deadline exceeded")
    assert waiting.called
    waiting.addErrback(lambda _: None)
    assert not [call for call in client.clock.getDelayedCalls() if call.active()]


def test_flow_control_is_kept() -> None:
    """A response is sent as far as the client's windows admit, and the rest after they are opened."""
    client = Client(window=10_000)
    stream = client.send(message(b"x"), pseudo_path="/s/big")
    other = client.send(message(b"x"))
    assert len(client.content[stream]) == 10_000 and client.status(other) == (0, "")
    client.http.increment_flow_control_window(2_000_000)
    client.http.increment_flow_control_window(2_000_000, stream)
    client.exchange()
    assert client.content[stream] == message(b"x" * 500_000 + b"y" * 500_000) and client.status(stream) == (0, "")


def test_long_responses_take_turns() -> None:
    """A long response is sent in portions, between which others are answered."""
    client = Client(window=4_000_000)
    client.http.increment_flow_control_window(4_000_000)
    client.exchange()
    stream = client.http.get_next_available_stream_id()
    client.http.send_headers(stream, list({**HEADERS, ":path": "/s/big"}.items()))
    client.http.send_data(stream, message(b"x"), end_stream=True)
    client.server.dataReceived(client.http.data_to_send())
    assert 500_000 < len(client.transport.value()) < 600_000
    other = client.send(message(b"x"))
    assert client.status(other) == client.status(stream) == (0, "")
    assert len(client.content[stream]) == 1_000_005


def test_full_transport_stops_sending() -> None:
    """Nothing is sent while the transport has enough, and everything when it continues."""
    client = Client(window=4_000_000)
    client.http.increment_flow_control_window(4_000_000)
    client.exchange()
    client.server.pauseProducing()
    stream = client.send(message(b"x"), pseudo_path="/s/big")
    assert stream not in client.content
    client.server.resumeProducing()
    client.exchange()
    assert client.status(stream) == (0, "")


def test_unread_responses_are_bounded() -> None:
    """A client that does not read its responses has no further calls."""
    client = Client(CallLimits(unread=1_000_000), window=0)
    for _ in range(2):
        client.send(message(b"x"), pseudo_path="/s/big")
    assert client.status(client.send(message(b"x"))) == (RESOURCE_EXHAUSTED, "etcdserver: too many requests")


def test_incomplete_requests_are_bounded() -> None:
    """The incomplete requests of a connection have a common limit; the one that exceeds it ends."""
    client = Client(CallLimits(incomplete=15_000))
    streams = [client.send(message(b"x" * 10_000)[:-1], end=False) for _ in range(2)]
    assert streams[0] not in client.headers
    assert client.status(streams[1]) == (RESOURCE_EXHAUSTED, "etcdserver: too many requests")


def test_streaming_call() -> None:
    """Messages go both ways until one side ends."""
    client = Client()
    stream = client.send(message(b"a") + message(b"b"), end=False, pseudo_path="/s/stream")
    assert client.content[stream] == message(b"a") + message(b"b")
    client.http.end_stream(stream)
    client.exchange()
    assert client.status(stream) == (0, "") and client.streams[0].over


def _reset(client: Client, stream: int) -> None:
    client.http.reset_stream(stream)
    client.exchange()


def _lose(client: Client, stream: int) -> None:
    from twisted.internet.error import ConnectionLost
    from twisted.python.failure import Failure

    client.server.connectionLost(Failure(ConnectionLost()))


@pytest.mark.parametrize("end", [_reset, _lose])
def test_gone_client_is_released(end: Callable[[Client, int], None]) -> None:
    """A call that its client gave up, or lost, releases its service and its work."""
    client = Client()
    stream = client.send(message(b"a"), end=False, pseudo_path="/s/stream")
    client.send(message(b"a"), pseudo_path="/s/wait")
    client.waiting[0].addErrback(lambda _: None)
    end(client, stream)
    assert client.streams[0].over
    assert client.waiting[0].called is (end is _lose)


def test_retired_server_answers_what_runs() -> None:
    """Streams end at once, running calls are answered, then the connection closes."""
    client = Client()
    stream = client.send(message(b"a"), end=False, pseudo_path="/s/stream")
    running = client.send(message(b"a"), pseudo_path="/s/wait")
    client.factory.retire()
    client.exchange()
    assert client.status(stream) == (UNAVAILABLE, "etcdserver: server stopped")
    assert not client.transport.disconnecting
    client.waiting[0].callback([b"done"])
    client.exchange()
    assert client.status(running) == (0, "") and client.transport.disconnecting


def test_frames_without_content_are_bounded() -> None:
    """A client that sends nothing but empty frames is disconnected."""
    client = Client()
    client.server.dataReceived(PingFrame(0, opaque_data=b"12345678").serialize() * 30_000)
    for _ in range(1000):
        client.clock.advance(0)
    assert client.transport.aborted


def test_silent_connection_is_closed() -> None:
    """A connection that asks for nothing does not stay."""
    client = Client()
    client.clock.advance(30)
    assert client.transport.aborted
    client = Client()
    client.send(message(b"x"))
    client.clock.advance(30)
    assert not client.transport.aborted


def test_connections_are_bounded() -> None:
    """Further clients are refused, until one leaves."""
    client = Client(CallLimits(connections=1))
    assert client.factory.buildProtocol(None) is None
    _lose(client, 0)
    assert client.factory.buildProtocol(None) is not None


def test_broken_http_ends_the_connection() -> None:
    """What is no HTTP/2 is not answered."""
    client = Client()
    client.server.dataReceived(b"\xff" * 100)
    assert client.transport.aborted
