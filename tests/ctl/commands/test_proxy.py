"""``proxy``: which requests are forwarded, and as what."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone, ResponseFailed
from twisted.web.http_headers import Headers
from twisted.web.server import Site
from twisted.web.test.requesthelper import DummyRequest
from zope.interface import alsoProvides

from orchd.client.interfaces import IForwardingClient
from orchd.ctl.cluster.api import Api
from orchd.ctl.commands.proxy import _HOSTS, _REJECTED, Filter, ProxyResource, _patterns
from orchd.ctl.errors import CommandError
from orchd.errors import ApiError
from orchd.txkit.background import Background
from tests.ctl.local_reactor import Reactor, run_until_interrupted


def filter_(methods: str = "^$", accepted: str = "^.*") -> Filter:
    return Filter(
        hosts=_patterns(_HOSTS, "h"),
        accepted=_patterns(accepted, "a"),
        rejected=_patterns(_REJECTED, "r"),
        methods=_patterns(methods, "m"),
    )


@pytest.mark.parametrize(
    "method, path, host, origin, site, words",
    [
        ("GET", "/api", "localhost", "", "", ""),
        ("GET", "/api", "localhost:8001", "", "", ""),
        ("GET", "/api", "127.0.0.1:8001", "", "", ""),
        ("GET", "/api", "[::1]:8001", "", "", ""),
        ("GET", "/api", "[::1]", "", "", ""),
        ("GET", "/api", "", "", "", "host '' is not accepted"),
        ("GET", "/api", "evil.example:8001", "", "", "host 'evil.example' is not accepted"),
        ("GET", "/api", "localhost.evil", "", "", "host 'localhost.evil'"),
        ("GET", "/api", "localhost:80", "http://localhost:80", "same-origin", ""),
        ("GET", "/api", "localhost:80", "http://localhost:81", "", "pages of other origins"),
        ("GET", "/api", "localhost:80", "null", "", "pages of other origins"),
        ("GET", "/api", "localhost:80", "", "cross-site", "pages of other origins"),
        ("GET", "/api", "localhost:80", "", "same-site", "pages of other origins"),
        ("GET", "/api", "localhost:80", "", "none", ""),
        ("GET", "/api/v1/namespaces/a/pods/p/exec", "localhost", "", "", "path /api/v1/namespaces/a/pods/p/exec"),
        ("GET", "/api/v1/namespaces/a/pods/p/attach", "localhost", "", "", "is not accepted: see --accept-paths"),
        ("GET", "/api/v1/namespaces/a/pods/p/log", "localhost", "", "", ""),
    ],
)
def test_filter(method: str, path: str, host: str, origin: str, site: str, words: str) -> None:
    reason = filter_().refusal(method, path, host, origin, site)
    assert words in reason and bool(reason) is bool(words)


def test_patterns() -> None:
    """Patterns are separated by commas; one of them has to match."""
    chosen = filter_("^POST$,^PUT$", "^/api,^/version")
    for method, path, words in (
        ("GET", "/api/v1", ""),
        ("GET", "/version", ""),
        ("GET", "/metrics", "path /metrics"),
        ("POST", "/api/v1", "method POST"),
        ("PUT", "/api/v1", "method PUT"),
    ):
        assert chosen.refusal(method, path, "localhost", "", "").startswith(words)
    assert _patterns(",a,,b,", "f") == (re.compile("a"), re.compile("b"))
    with pytest.raises(CommandError, match=r"--reject-paths=\(: not a regular expression"):
        _patterns("(", "--reject-paths")


class Response:
    """A response of the server, whose body the test sends."""

    def __init__(self, code: int, **headers: str) -> None:
        self.code = code
        self.headers = Headers({name.replace("_", "-"): [value] for name, value in headers.items()})
        self.body: Any = None
        self.transport = StringTransport()

    def deliverBody(self, protocol: Any) -> None:
        self.body = protocol
        protocol.makeConnection(self.transport)


class Server:
    """Responds to what is forwarded, once `arrived` fires where it is there."""

    def __init__(self, response: Response | ApiError, arrived: Deferred[None] | None = None) -> None:
        self.response, self.arrived = response, arrived
        alsoProvides(self, IForwardingClient)
        self.forwarded: list[tuple[str, str, dict[str, list[str]], bytes]] = []

    async def forward(self, method: str, target: str, headers: Headers, body: bytes) -> Response:
        named = {name.decode().lower(): [v.decode() for v in values] for name, values in headers.getAllRawHeaders()}
        self.forwarded.append((method, target, named, body))
        if self.arrived is not None:
            await self.arrived
        if isinstance(self.response, ApiError):
            raise self.response
        return self.response


class Browser:
    """A connection to the proxy."""

    def __init__(self, server: Server, *, prefix: str = "/", www: str = "", www_prefix: str = "") -> None:
        client: Any = server
        self.background = Background()
        api = Api(client, MemoryReactorClock(), "default", lambda text: None)
        resource = ProxyResource(api, filter_(), self.background, prefix=prefix, www=www, www_prefix=www_prefix)
        site = Site(resource)
        self.protocol: Any = site.buildProtocol(None)
        self.transport = StringTransport()
        self.protocol.makeConnection(self.transport)

    def send(self, start: str, *headers: str, body: str = "") -> None:
        length = [f"Content-Length: {len(body)}"] if body else []
        lines = [f"{start} HTTP/1.1", *(headers or ("Host: localhost",)), *length]
        self.protocol.dataReceived(("\r\n".join(lines) + f"\r\n\r\n{body}").encode())

    def received(self) -> tuple[int, str, str]:
        """Code, headers and body of the response."""
        head, _, body = self.transport.value().decode().partition("\r\n\r\n")
        first, _, headers = head.partition("\r\n")
        return int(first.split()[1]), headers, body


def test_forwarded_requests() -> None:
    """The target is below the prefix, and headers of credentials, of the connection and of browsers are left out."""
    response = Response(201, content_type="text/plain", connection="close", x_a="b")
    server = Server(response)
    browser = Browser(server, prefix="/k/")
    browser.send(
        "POST /k/api/v1?a=%2F", "Host: localhost", "Accept: x", "Authorization: y", "Cookie: z", "Impersonate-User: u",
        "Sec-Fetch-Mode: cors", "Origin: http://localhost", body="data",
    )  # fmt: skip
    assert server.forwarded == [("POST", "/api/v1?a=%2F", {"accept": ["x"]}, b"data")]
    response.body.dataReceived(b"part")
    assert b"part" in browser.transport.value()
    response.body.connectionLost(Failure(ResponseDone()))
    code, headers, body = browser.received()
    assert code == 201
    assert "Content-Type: text/plain" in headers and "X-A: b" in headers and "Connection: close" not in headers
    assert body.endswith("0\r\n\r\n")


def test_bodies_that_break_off() -> None:
    """A truncated response does not look complete."""
    response = Response(200)
    browser = Browser(Server(response))
    browser.send("GET /api")
    response.body.dataReceived(b"part")
    response.body.connectionLost(Failure(ResponseFailed([])))
    assert not browser.received()[2].endswith("0\r\n\r\n")
    assert browser.transport.disconnecting


def test_clients_that_leave() -> None:
    """The server's response is aborted when nobody reads it."""
    response = Response(200)
    browser = Browser(Server(response))
    browser.send("GET /api")
    browser.protocol.connectionLost(Failure(ResponseDone()))
    assert response.transport.disconnecting or response.transport.disconnected
    response.body.dataReceived(b"late")
    response.body.connectionLost(Failure(ResponseDone()))


@pytest.mark.parametrize(
    "start, headers, body, code, words",
    [
        ("GET /api", ("Host: evil",), "", 403, "host 'evil'"),
        ("GET /api/v1/pods/p%2Fexec", ("Host: localhost",), "", 403, "/api/v1/pods/p/exec"),
        ("GET /api", ("Host: localhost", "Sec-Fetch-Site: cross-site"), "", 403, "other origins"),
        ("GET /api", ("Host: localhost", "Origin: http://evil"), "", 403, "other origins"),
        ("GET /other", ("Host: localhost",), "", 404, "paths begin with /k/"),
        ("GET /k", ("Host: localhost",), "", 404, "paths begin with /k/"),
        ("GET /k/api", ("Host: localhost", "Upgrade: websocket"), "", 501, "upgraded connections"),
        ("POST /k/api", ("Host: localhost",), "x" * (8 * 1024 * 1024 + 1), 413, "more than 8388608 bytes"),
    ],
)
def test_refused_requests(start: str, headers: tuple[str, ...], body: str, code: int, words: str) -> None:
    server = Server(Response(200))
    browser = Browser(server, prefix="/k")
    browser.send(start, *headers, body=body)
    status, _, text = browser.received()
    refusal = json.loads(text)
    assert (status, refusal["code"], refusal["kind"], refusal["status"]) == (code, code, "Status", "Failure")
    assert words in refusal["message"] and server.forwarded == []


def test_largest_bodies() -> None:
    server = Server(Response(200))
    Browser(server).send("POST /api", body="x" * 8 * 1024 * 1024)
    assert len(server.forwarded[0][3]) == 8 * 1024 * 1024


def test_servers_that_do_not_respond() -> None:
    browser = Browser(Server(ApiError(503, "", "the server is away")))
    browser.send("GET /api")
    code, _, body = browser.received()
    assert (
        code == 502 and json.loads(body.split("\r\n")[1] if body[0] != "{" else body)["message"] == "the server is away"
    )


def test_files(tmp_path: Path) -> None:
    """The files of a folder under its prefix; nothing above it, and of folders their index."""
    (tmp_path / "www" / "sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret\n")
    (tmp_path / "www" / "a.txt").write_text("a file")
    (tmp_path / "www" / "sub" / "index.html").write_text("an index")
    client: Any = Server(Response(200))
    api = Api(client, MemoryReactorClock(), "default", lambda text: None)
    www = str(tmp_path / "www")
    files = ProxyResource(api, filter_(), Background(), prefix="/", www=www, www_prefix="/static/")
    for path, code, text in (
        ("/static/a.txt", 200, "a file"),
        ("/static/sub/", 200, "an index"),
        ("/static/absent", 404, ""),
        ("/static/a.txt/b", 404, ""),
        ("/static/../secret", 404, ""),
        ("/static/..%2fsecret", 404, ""),
    ):
        request = DummyRequest([])
        request.uri = path.encode()
        request.requestHeaders.setRawHeaders("Host", ["localhost"])
        files.render(cast(Any, request))
        body = b"".join(request.written).decode()
        assert (request.responseCode or 200) == code and text in body and "secret\n" not in body, path


def _exchange(reactor: Reactor, target: str, host: str) -> tuple[int, str]:
    """Code and body of the response to a GET of the port that the command listens on."""
    servers: Any = reactor.tcpServers or reactor.unixServers
    protocol: Any = servers[0][1].buildProtocol(cast(Any, None))
    transport = StringTransport()
    protocol.makeConnection(transport)
    protocol.dataReceived(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head, _, body = transport.value().decode().partition("\r\n\r\n")
    return (int(head.split()[1]) if head else 0, body)


@pytest.mark.parametrize(
    ("words", "host", "shown", "listening"),
    [
        ("", "localhost", "127.0.0.1:8001", (8001, "127.0.0.1")),
        ("--port=0 --address=::1", "localhost", "[::1]:0", (0, "::1")),
        ("--disable-filter", "evil.example", "127.0.0.1:8001", (8001, "127.0.0.1")),
        ("--accept-hosts=^evil --api-prefix=/k/", "evil.example", "127.0.0.1:8001", (8001, "127.0.0.1")),
    ],
)
def test_the_command_serves_until_it_is_interrupted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: str, host: str, shown: str, listening: tuple[int, str]
) -> None:
    """The port forwards what the flags accept and serves the files of the folder, and is closed afterwards."""
    reactor, server = Reactor(), Server(Response(200))
    prefix = "/k" if "--api-prefix" in words else ""
    answers: list[tuple[int, str]] = []

    def meanwhile() -> None:
        assert [(port, address) for port, _, _, address in reactor.tcpServers] == [listening]
        answers.append(_exchange(reactor, "/files/absent", host))
        for target in (f"{prefix}/api", f"{prefix}/api/v1/pods/p/exec"):
            answers.append(_exchange(reactor, target, host))
        answers.append(_exchange(reactor, f"{prefix}/api", "other.example"))

    line = ["proxy", *words.split(), f"--www={tmp_path}", "--www-prefix=files"]
    assert run_until_interrupted(line, server, reactor, meanwhile) == 0
    unfiltered = words == "--disable-filter"
    rejected = 0 if unfiltered else 403
    # 0: the server has not sent its response.
    assert [code for code, _ in answers] == [404, 0, rejected, rejected]
    assert "<title>404 - No Such Resource</title>" in answers[0][1]
    assert [each[1] for each in server.forwarded] == ["/api", *(["/api/v1/pods/p/exec", "/api"] if unfiltered else [])]
    printed = capsys.readouterr()
    assert printed.out == f"Starting to serve on {shown}\n"
    assert ("the filter of requests is off" in printed.err) is unfiltered
    assert [port.open for port in reactor.ports] == [False]


def test_unix_sockets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Only the user may connect; a socket that an earlier command left is replaced, and a file is not."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    reactor = Reactor()
    assert run_until_interrupted(["proxy", f"-u{path}"], Server(Response(200)), reactor, lambda: None) == 0
    assert [(address, mode) for address, _, _, mode, _ in reactor.unixServers] == [(str(path), 0o600)]
    assert (capsys.readouterr().out, path.exists()) == (f"Starting to serve on {path}\n", False)
    path.write_text("kept")
    run_until_interrupted(["proxy", f"-u{path}"], Server(Response(200)), Reactor(), lambda: None)
    assert path.read_text() == "kept"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--www=/nonexistent", "--www=/nonexistent: no such folder"),
        ("--reject-methods=(", "--reject-methods=(: not a regular expression"),
        ("", "cannot listen on 127.0.0.1 port 8001: Address already in use: choose another --port"),
    ],
)
def test_what_cannot_be_served(capsys: pytest.CaptureFixture[str], words: str, says: str) -> None:
    reactor = Reactor()
    reactor.taken = ("127.0.0.1",)
    assert run_until_interrupted(["proxy", *words.split()], Server(Response(200)), reactor, lambda: None) == 1
    assert says in capsys.readouterr().err


def test_clients_that_leave_before_the_response() -> None:
    """The response to nobody is aborted, and an error for nobody is not written."""
    for response in (Response(200), ApiError(503, "", "the server is away")):
        arrived: Deferred[None] = Deferred()
        browser = Browser(Server(response, arrived))
        browser.send("GET /api")
        browser.protocol.connectionLost(Failure(ResponseDone()))
        arrived.callback(None)
        assert browser.transport.value() == b""
        if isinstance(response, Response):
            assert response.transport.disconnecting or response.transport.disconnected
