"""Responses over TLS that are given up: the connection ends at once, whether or not the server would end it."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.threads import deferToThread
from twisted.web.client import Agent
from twisted.web.http_headers import Headers

from orchd.client.plain_http import exchange
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.pki.bootstrap import ensure
from orchd.testing.processes.daemon import PATIENCE
from orchd.txkit.response_heads import bounded_heads_pool
from orchd.txkit.timeouts import within
from orchd.txkit.tls_client import ServerPolicy

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Endless:
    """A TLS server that sends pieces to its first client until the connection ends."""

    def __init__(self, folder: Path, piece: bytes) -> None:
        files = ensure(folder, dialect=ORCH, server_url="https://localhost", now=datetime.now(UTC))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.serving_certificate, files.serving_key)
        self._listening = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
        self._piece = piece
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}/"
        self.thread = Thread(target=self._send, daemon=True)
        self.thread.start()

    def _send(self) -> None:
        client, _ = self._listening.accept()
        with client, self._listening:
            client.settimeout(PATIENCE)
            client.recv(65536)
            try:
                client.sendall(CHUNKED)
                while True:
                    client.sendall(self._piece)
            except TimeoutError:
                raise
            except OSError:
                """The client has ended the connection."""


@pytest.mark.parametrize(
    ("piece", "limit", "error"),
    [(b"1\r\nx\r\n" * 100, 1 << 40, TimeoutError), (b"1000\r\n" + b"x" * 4096 + b"\r\n", 100_000, ApiError)],
    ids=["time", "size"],
)
@pytest_twisted.ensureDeferred
async def test_given_up_response_ends_its_connection(
    tmp_path: Path, piece: bytes, limit: int, error: type[Exception]
) -> None:
    """A response that takes too long, or is too large, is not read any further."""
    server = Endless(tmp_path, piece)
    pool = bounded_heads_pool(reactor, persistent=True)
    agent = Agent(reactor, contextFactory=ServerPolicy(b"", None, unchecked=True), pool=pool)
    call: Deferred[Any] = Deferred.fromCoroutine(exchange(agent, reactor, "GET", server.url, Headers(), None, limit))
    with pytest.raises(error):
        await within(call, 1 if error is TimeoutError else PATIENCE, reactor)
    await deferToThread(server.thread.join, PATIENCE)
    assert not server.thread.is_alive()
    await pool.closeCachedConnections()
