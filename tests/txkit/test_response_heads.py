"""Reuse of connections by HTTP clients."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.testing import StringTransport
from twisted.web._newclient import Request
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
