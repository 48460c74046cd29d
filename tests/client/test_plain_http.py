"""Plain HTTP requests: what is sent, what is read, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.web.client import Agent
from twisted.web.http_headers import Headers

from orchd.client.plain_http import exchange
from orchd.errors import ApiError
from tests.memory_http import MemoryHttp

URL = "http://127.0.0.1:8001/a%7Eb/../{c}?d=%20"


class Bench(MemoryHttp):
    def ask(self, url: str = URL, body: bytes | None = b"data", limit: int = 4) -> list[Any]:
        agent = Agent(self.reactor)
        return self.begin(exchange(agent, self.reactor, "POST", url, Headers({"X-Own": ["1"]}), body, limit))


def test_request_is_sent_as_it_was_written() -> None:
    """The URL is not normalized, and no compressed body is asked for."""
    bench = Bench()
    results = bench.ask()
    sent = bench.request()
    assert (sent.method, sent.target, sent.body) == ("POST", "/a%7Eb/../{c}?d=%20", b"data")
    assert sent.header("X-Own") == ["1"] and not sent.header("Accept-Encoding") and not sent.header("Cookie")
    bench.respond(body=b"text")
    ((response, data),) = results
    assert (response.code, data) == (200, b"text")
    results = bench.ask(body=None)
    assert bench.request().body == b""


@pytest.mark.parametrize("code", [301, 302, 307])
def test_redirects_are_not_followed(code: int) -> None:
    bench = Bench()
    results = bench.ask()
    bench.request()
    bench.respond(code, b"", Location="http://127.0.0.1:8001/other")
    ((response, _),) = results
    assert response.code == code and len(bench.transports) == 1 and not bench.transports[0].value()


def test_cookies_are_not_kept() -> None:
    bench = Bench()
    bench.ask()
    bench.request()
    bench.respond(body=b"", Set_Cookie="a=b")
    bench.ask()
    assert bench.request().header("Cookie") == []


def test_body_is_not_expanded() -> None:
    """Its limit is that of the bytes on the wire."""
    bench = Bench()
    results = bench.ask()
    bench.request()
    bench.respond(body=b"\x1f\x8b\x08\x00", Content_Encoding="gzip")
    ((_, data),) = results
    assert data == b"\x1f\x8b\x08\x00"


def test_longer_bodies_are_errors() -> None:
    bench = Bench()
    results = bench.ask()
    bench.request()
    bench.send(b"HTTP/1.1 200 OK\r\n\r\nfour+")
    assert bench.transports[0].disconnecting or bench.transports[0].disconnected
    bench.lose()
    (error,) = results
    assert isinstance(error, ApiError) and "exceeds 4 bytes" in error.message
