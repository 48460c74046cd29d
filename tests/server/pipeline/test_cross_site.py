"""Requests of other origins' pages with a client certificate."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from orchd.errors import ApiError
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.stages.cross_site import CrossSite
from tests.server.pipeline.test_headers import ask, send

STAGE = CrossSite([re.compile(r"^https://trusted\.example$")])


def asked(method: str, headers: dict[str, str], *, certificate: bool = True) -> Request:
    request = ask(method, "/api/v1/namespaces", host="api.example:6443", **headers)
    request.credentials = replace(request.credentials, certificates=(b"der",) if certificate else ())
    return request


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
        {"sec_fetch_site": "same-site", "origin": "https://other.example:6443"},
        {"sec_fetch_site": "cross-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "https://api.example:7443"},
        {"sec_fetch_site": "cross-site", "origin": "https://api.example:6443"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_cross_origin_writes_are_refused(method: str, headers: dict[str, str]) -> None:
    """They are rejected with 403 before authentication."""
    with pytest.raises(ApiError) as caught:
        send(STAGE, asked(method, headers))
    assert caught.value.code == 403


def test_cross_origin_upgrades_are_refused() -> None:
    """A WebSocket is opened by GET without a preflight."""
    with pytest.raises(ApiError):
        send(STAGE, asked("GET", {"upgrade": "websocket", "origin": "https://evil.example"}))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec_fetch_site": "same-origin", "origin": "https://api.example:6443"},
        {"sec_fetch_site": "none"},
        {"origin": "https://api.example:6443"},
        {"sec_fetch_site": "cross-site", "origin": "https://trusted.example"},
    ],
)
def test_same_and_allowed_origins_pass(headers: dict[str, str]) -> None:
    """Programs send no Origin header; --cors-allowed-origins lists allowed pages."""
    assert send(STAGE, asked("POST", headers))[0].body == b"answer"


def test_cross_origin_reads_and_token_requests_pass() -> None:
    """Another page can neither read the response nor know a token."""
    assert send(STAGE, asked("GET", {"origin": "https://evil.example"}))[0].body == b"answer"
    assert send(STAGE, asked("POST", {"origin": "https://evil.example"}, certificate=False))[0].body == b"answer"
