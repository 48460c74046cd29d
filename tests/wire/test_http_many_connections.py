"""Many connections at once: idle ones are cheap, every watch gets its frame, and requests are served meanwhile."""

from __future__ import annotations

import resource
import selectors
import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchd.dialect import ORCH
from orchd.pki.bootstrap import ensure
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.listener import Binding, Listener
from orchd.server.http.tls import KeyPairFiles, ServerContexts, TlsSettings
from orchd.testing.processes.daemon import PATIENCE
from tests.server.http.http_doubles import Paths

CLOCK: Any = reactor
WATCHES = 500
IDLE = 500


@pytest_twisted.ensureDeferred
async def test_watches_and_idle_connections_are_served_together(tmp_path: Path) -> None:
    """Five hundred watches and as many idle connections are served by one process, and all end when it stops."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = 2 * (WATCHES + IDLE) + 200
    if hard not in (resource.RLIM_INFINITY,) and hard < descriptors:
        pytest.skip(f"only {hard} open files are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, descriptors), hard))
    files = ensure(tmp_path, dialect=ORCH, server_url="https://localhost", now=datetime.now(UTC))
    serving = KeyPairFiles(certificate=str(files.serving_certificate), key=str(files.serving_key))
    paths = Paths()
    factory = ApiServerFactory(paths, CLOCK)
    contexts = ServerContexts(TlsSettings(serving=serving))
    listener = Listener(reactor, factory, Binding(address="127.0.0.1", port=0), contexts=contexts, grace=5)
    await listener.start(lambda _: None)
    context = ssl.create_default_context(cafile=str(files.ca_certificate))

    def connect(path: str = "") -> ssl.SSLSocket:
        raw = socket.create_connection(listener.address, timeout=PATIENCE)
        client = context.wrap_socket(raw, server_hostname="localhost")
        if path:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            client.recv(65536)
        return client

    def crowd() -> list[ssl.SSLSocket]:
        return [connect("/stream") for _ in range(WATCHES)] + [connect("/a") for _ in range(IDLE)]

    clients = await deferToThread(crowd)
    assert len(factory) == WATCHES + IDLE
    for feed in paths.feeds:
        feed.sink.write(b"frame")
    received = await deferToThread(lambda: [client.recv(100) for client in clients[:WATCHES]])
    assert set(received) == {b"5\r\nframe\r\n"}
    again = await deferToThread(connect, "/a")
    stopping = deferToThread(_drain, [*clients, again])
    await listener.stop()
    await stopping
    assert len(factory) == 0
    assert all(feed.stopped for feed in paths.feeds)
    await deferLater(CLOCK, 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _drain(clients: list[ssl.SSLSocket]) -> None:
    """Read every connection to its end, in any order."""
    with selectors.DefaultSelector() as waiting:
        for one in clients:
            waiting.register(one, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select(10):
                client: Any = key.fileobj
                try:
                    ended = not client.recv(65536)
                except OSError:
                    ended = True
                if ended:
                    waiting.unregister(client)
                    client.close()
