"""Stages for headers and connections: CORS, strict transport security, shutdown, access log."""

from __future__ import annotations

import re
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from orchd.dialect import ORCH
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import Next, Request, Response, Stage
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.stages.access_log import AccessLog
from orchd.server.pipeline.stages.headers import CrossOrigin, DrainingStage, StrictTransport
from orchd.testing.doubles.server import BytesBody, run


def ask(method: str = "GET", path: str = "/version", **headers: str) -> Request:
    named = {name.replace("_", "-"): (value,) for name, value in headers.items()}
    return Request(
        method=method, path=path, raw_path=path, query=Query({"a": ["1", "2"]}), headers=named, body=BytesBody(b""),
        credentials=Credentials(headers=named, remote="10.1.2.3"), received=0.0, user=User(name="alice"),
        info=requestinfo.parse(method, path, {}),
    )  # fmt: skip


async def through(stage: Stage, request: Request, then: Next) -> Response:
    """The response of a stage and what follows it."""
    return await stage(request, then)


def send(stage: Any, request: Request) -> tuple[Response, dict[str, str]]:
    async def answer(request: Request) -> Response:
        return Response(code=200, body=b"answer")

    response = run(stage(request, answer))
    return response, dict([*response.headers, *request.response_headers])


class TestCrossOrigin:
    STAGE = CrossOrigin([re.compile(r"^https://ui\.example$"), re.compile("trusted")])

    @pytest.mark.parametrize("origin", ["https://ui.example", "http://very.trusted.example"])
    def test_allowed_origin_gets_cors_headers(self, origin: str) -> None:
        """Every response allows this origin to read it, with credentials."""
        response, headers = send(self.STAGE, ask(origin=origin))
        assert response.body == b"answer" and headers["Access-Control-Allow-Origin"] == origin
        assert headers["Access-Control-Allow-Credentials"] == "true"

    def test_preflight_is_answered_before_authentication(self) -> None:
        """OPTIONS from an allowed origin is answered before authentication."""
        response, headers = send(self.STAGE, ask("OPTIONS", origin="https://ui.example"))
        assert response.code == 204 and "PATCH" in headers["Access-Control-Allow-Methods"]

    @pytest.mark.parametrize("headers", [{}, {"origin": "https://ui.example.org"}])
    def test_other_origins_get_no_cors_headers(self, headers: dict[str, str]) -> None:
        """Without the headers a browser does not give the response to the page."""
        response, sent = send(self.STAGE, ask("OPTIONS", **headers))
        assert response.code == 200 and sent == {}


def test_strict_transport_security_header() -> None:
    """All directives are in one header."""
    assert send(StrictTransport(["max-age=31536000", "includeSubDomains"]), ask())[1] == {
        "Strict-Transport-Security": "max-age=31536000; includeSubDomains"
    }


class TestLeaving:
    def test_stopping_server_answers_429(self) -> None:
        """The 429 has Retry-After and Connection: close, so that the client connects to another server."""
        response, headers = send(DrainingStage(ORCH, lambda: True), ask(path="/api/v1/pods"))
        assert response.code == 429 and headers["Retry-After"] == "5" and headers["Connection"] == "close"

    @pytest.mark.parametrize(
        "request_", [ask(path="/readyz"), ask(path="/metrics"), ask(user_agent="orch-apiserver-1.23/v1")]
    )
    def test_stopping_server_still_serves_probes_and_itself(self, request_: Request) -> None:
        """Probes, metrics and the server's own clients are served until the end."""
        assert send(DrainingStage(ORCH, lambda: True), request_)[0].code == 200

    def test_running_server_serves_everybody(self) -> None:
        """While the server runs the stage does nothing."""
        assert send(DrainingStage(ORCH, lambda: False), ask())[0].code == 200


def test_access_log_line() -> None:
    """Each request is logged in one line with method, path, user, duration and status, and without headers, which may
    contain secrets."""
    clock = Clock()
    with capturedLogs() as events:
        send(AccessLog(clock.seconds, lambda namespace: 3), ask(user_agent='cu"rl', authorization="Bearer secret"))
    (event,) = events
    text = event["log_format"].format(**event)
    assert 'verb="GET" URI="/version?a=1&a=2" latency="0.000ms"' in text and "resp=200" in text
    assert "user='alice'" in text and "10.1.2.3" in text and "secret" not in text


@pytest.mark.parametrize("path", ["/a\x1b[2J", "/a\u009b", "/a\r\nb", '/a"b'])
def test_access_log_has_no_control_characters(path: str) -> None:
    """Neither paths nor parameters can write to a terminal that shows the log, or forge a line."""
    clock = Clock()
    request = ask(path=path)
    request.query = Query({"b": [path]})
    with capturedLogs() as events:
        send(AccessLog(clock.seconds, lambda namespace: 3), request)
    text = events[0]["log_format"].format(**events[0])
    assert text.isprintable()
