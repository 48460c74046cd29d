"""Plain requests: what is sent and what is kept of responses, over loopback."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.web.client import Agent
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Site

from orchd.client.plain_http import exchange
from orchd.errors import ApiError

CLOCK: Any = reactor
PACKED = gzip.compress(b"x" * 1_000_000)


class Server(Resource):
    """Answers by path, with a cookie."""

    isLeaf = True

    def __init__(self) -> None:
        Resource.__init__(self)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []

    def render(self, request: Any) -> Any:
        headers = {name.decode(): values[-1].decode() for name, values in request.requestHeaders.getAllRawHeaders()}
        self.seen.append((f"{request.method.decode()} {request.uri.decode()}", headers, request.content.read()))
        request.setHeader("Set-Cookie", "a=b; Path=/")
        if request.path == b"/packed":
            request.setHeader("Content-Encoding", "gzip")
            return PACKED
        if request.path == b"/moved":
            request.setResponseCode(307)
            request.setHeader("Location", "/packed")
        return b"done"


@pytest.fixture(params=["127.0.0.1", "::1"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    server = Server()
    try:
        listening = CLOCK.listenTCP(0, Site(server), interface=request.param)
    except OSError:
        pytest.skip(f"this machine has no address {request.param}")
    host = f"[{request.param}]" if ":" in request.param else request.param
    yield server, f"http://{host}:{listening.getHost().port}"
    stopped = listening.stopListening()
    if stopped is not None:
        pytest_twisted.blockon(stopped)


async def get(url: str, limit: int = 1_000_000) -> tuple[Any, bytes]:
    return await exchange(Agent(CLOCK), CLOCK, "GET", url, Headers({"X-A": ["b"]}), None, limit)


@pytest_twisted.ensureDeferred
async def test_request_is_sent_as_written(place: tuple[Server, str]) -> None:
    """URL, headers and body are sent unchanged; nothing else is asked for."""
    server, base = place
    await exchange(Agent(CLOCK), CLOCK, "POST", f"{base}/a//b/%2f{{c}}?d=[1]&e=", Headers({"X-A": ["b"]}), b"body", 100)
    ((line, headers, body),) = server.seen
    assert line == "POST /a//b/%2f{c}?d=[1]&e=" and body == b"body"
    assert headers == {"Host": base.removeprefix("http://"), "X-A": "b", "Content-Length": "4", "Connection": "close"}


@pytest_twisted.ensureDeferred
async def test_no_cookie_is_kept(place: tuple[Server, str]) -> None:
    """A cookie of a response is not sent with later requests."""
    server, base = place
    for _ in range(2):
        assert (await get(base + "/"))[1] == b"done"
    assert not any("Cookie" in headers for _, headers, _ in server.seen) and len(server.seen) == 2


@pytest_twisted.ensureDeferred
async def test_redirects_are_responses(place: tuple[Server, str]) -> None:
    """A redirect is not followed."""
    server, base = place
    response, _ = await get(base + "/moved")
    assert response.code == 307 and response.headers.getRawHeaders("location") == ["/packed"] and len(server.seen) == 1


@pytest_twisted.ensureDeferred
async def test_bodies_are_not_expanded(place: tuple[Server, str]) -> None:
    """A compressed body, which nobody asked for, stays as it is, and the limit counts the bytes that are delivered."""
    _, base = place
    assert (await get(base + "/packed"))[1] == PACKED
    with pytest.raises(ApiError, match=f"exceeds {len(PACKED) - 1} bytes"):
        await get(base + "/packed", len(PACKED) - 1)
    assert len(await get(base + "/packed", len(PACKED))) == 2
