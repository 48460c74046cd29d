"""The API as a twisted.web resource: over HTTP/1.1 in a Site, and over HTTP/2 by ALPN."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest_twisted
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from orchd.dialect import ORCH
from orchd.pki.bootstrap import Files, ensure
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.listener import Binding, Listener
from orchd.server.http.resource import ApiSite
from orchd.server.http.tls import KeyPairFiles, ServerContexts, TlsSettings
from orchd.testing.processes.daemon import PATIENCE
from tests.server.http.http_doubles import Paths, read_answers
from tests.waiting import until_true

CLOCK: Any = reactor


class Client:
    """A small HTTP/2 client on a blocking socket."""

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext) -> None:
        raw = socket.create_connection(address, timeout=PATIENCE)
        self.socket = context.wrap_socket(raw, server_hostname="localhost")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.h2 = H2Connection(H2Configuration(client_side=True))
        self.h2.initiate_connection()
        self.codes: dict[int, int] = {}
        self.heads: dict[int, dict[str, str]] = {}
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()

    def send(self, method: str, path: str, body: bytes = b"", *more: tuple[str, str]) -> int:
        number = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":path", path), (":scheme", "https"), (":authority", "h"), *more]
        self.h2.send_headers(number, head, end_stream=not body)
        if body:
            self.h2.send_data(number, body, end_stream=True)
        self.socket.sendall(self.h2.data_to_send())
        return number

    def until(self, number: int, *, size: int | None = None) -> None:
        """Read until a stream has ended, or has received `size` bytes."""
        while number not in self.ended and (size is None or len(self.bodies.get(number, b"")) < size):
            data = self.socket.recv(65536)
            assert data
            for event in self.h2.receive_data(data):
                if isinstance(event, ResponseReceived):
                    head = {str(_text(k)): str(_text(v)) for k, v in event.headers or ()}
                    self.heads[event.stream_id or 0] = head
                    self.codes[event.stream_id or 0] = int(head[":status"])
                elif isinstance(event, DataReceived):
                    stream, data = event.stream_id or 0, event.data or b""
                    self.bodies[stream] = self.bodies.get(stream, b"") + data
                    self.h2.acknowledge_received_data(event.flow_controlled_length or 0, stream)
                elif isinstance(event, StreamEnded):
                    self.ended.add(event.stream_id or 0)
            self.socket.sendall(self.h2.data_to_send())


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class Running:
    def __init__(self, paths: Paths, listener: Listener, files: Files) -> None:
        self.paths = paths
        self.listener = listener
        self.files = files
        self.context = ssl.create_default_context(cafile=str(files.ca_certificate))
        self.context.load_cert_chain(str(files.admin_certificate), str(files.admin_key))


@pytest_twisted.async_yield_fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    files = ensure(tmp_path, dialect=ORCH, server_url="https://localhost", now=datetime.now(UTC))
    paths = Paths()
    serving = KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key))
    contexts = ServerContexts(TlsSettings(serving=serving, http2=True))
    factory, at = ApiServerFactory(paths, CLOCK), Binding(address="127.0.0.1", port=0)
    listener = Listener(reactor, factory, at, contexts=contexts, h2=ApiSite(paths, CLOCK), grace=1)
    await listener.start(lambda _: None)
    yield Running(paths, listener, files)
    await listener.stop()


@pytest_twisted.ensureDeferred
async def test_http2_requests_share_a_connection(server: Running) -> None:
    """Requests share a connection; bodies, limits, compression and client certificates work as over HTTP/1.1."""
    server.context.set_alpn_protocols(["h2", "http/1.1"])

    def talk() -> Client:
        client = Client(server.listener.address, server.context)
        numbers = [
            client.send("GET", "/a?b=1"),
            client.send("POST", "/echo", b"hello"),
            client.send("POST", "/echo", b"x" * 2000),
            client.send("GET", "/big", b"", ("accept-encoding", "gzip")),
            client.send("GET", "/%zz"),
        ]
        for number in numbers:
            client.until(number)
        client.socket.close()
        return client

    client: Client = await deferToThread(talk)
    assert [client.codes[number] for number in sorted(client.codes)] == [200, 200, 413, 200, 400]
    assert client.bodies[1] == b"GET /a"
    assert client.bodies[3] == b"hello"
    assert json.loads(client.bodies[5])["reason"] == "RequestEntityTooLarge"
    assert gzip.decompress(client.bodies[7]) == b"0123456789" * 30000
    assert client.bodies[9] == b"400 Bad Request"
    seen = server.paths.requests[0]
    assert seen.query == {"b": ("1",)}
    assert seen.credentials.certificates[0] == ssl.PEM_cert_to_DER_cert(server.files.admin_certificate.read_text())
    assert seen.credentials.remote == "127.0.0.1"


@pytest_twisted.ensureDeferred
async def test_http2_watch_stream(server: Running) -> None:
    """A watch is a stream of data frames; a disconnect stops it and cancels requests."""
    server.context.set_alpn_protocols(["h2"])
    client: Client = await deferToThread(Client, server.listener.address, server.context)
    number = await deferToThread(client.send, "GET", "/stream")
    await deferToThread(client.send, "GET", "/wait")
    await until_true(CLOCK, lambda: server.paths.feeds and server.paths.waiting)
    server.paths.feeds[0].sink.write(b"hello")
    await deferToThread(client.until, number, size=5)
    assert client.bodies[number] == b"hello"
    client.socket.close()
    await until_true(CLOCK, lambda: server.paths.feeds[0].stopped and server.paths.cancelled)
    assert server.paths.feeds[0].stopped == 1
    assert server.paths.cancelled == ["/wait"]


@pytest_twisted.ensureDeferred
async def test_resource_works_in_another_site() -> None:
    """In another application's Site the resource serves HTTP/1.1, streams included."""
    paths = Paths()
    site = ApiSite(paths, CLOCK)
    port = CLOCK.listenTCP(0, site, interface="127.0.0.1")

    def talk() -> bytes:
        with socket.create_connection(("127.0.0.1", port.getHost().port), timeout=PATIENCE) as client:
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
            client.sendall(
                b"HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nGET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
            )
            out = b""
            while data := client.recv(65536):
                out += data
            return out

    talking = deferToThread(talk)
    await until_true(CLOCK, lambda: paths.feeds)
    paths.feeds[0].sink.write(b"frame")
    paths.feeds[0].sink.finish()
    wire: bytes = await talking
    assert b"hello" in wire
    assert b"\r\nContent-Length: 7\r\n" in wire or b"\r\ncontent-length: 7\r\n" in wire.lower()
    assert read_answers(wire[wire.rindex(b"HTTP/1.1") :])[0].body == b"frame"
    await port.stopListening()


@pytest_twisted.ensureDeferred
async def test_http2_connections_end_with_the_listener(server: Running) -> None:
    """HTTP/2 connections are closed with the listener."""
    server.context.set_alpn_protocols(["h2"])
    client: Client = await deferToThread(Client, server.listener.address, server.context)
    await deferToThread(client.send, "GET", "/wait")
    await until_true(CLOCK, lambda: server.paths.waiting)
    await server.listener.stop()
    await until_true(CLOCK, lambda: server.paths.cancelled)
    assert server.paths.cancelled == ["/wait"]
    client.socket.close()
