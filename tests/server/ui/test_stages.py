"""Access to the web page, and the session endpoint."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from orchd import errors
from orchd.dialect import KUBERNETES, ORCH
from orchd.errors import ApiError
from orchd.kinds.users import ANONYMOUS, User
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.ui.files import is_loopback, page_files
from orchd.server.ui.stages import LocalPage, SessionStage, names_of, page_endpoints
from orchd.testing.doubles.server import run
from tests.server.pipeline.test_headers import ask, send, through

FILES = page_files()


def asked(path: str, remote: str = "127.0.0.1", method: str = "GET", certificates: tuple[bytes, ...] = ()) -> Request:
    request = ask(method, path)
    request.credentials = replace(request.credentials, remote=remote, certificates=certificates)
    return request


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_local_clients_get_the_page_without_credentials(address: str) -> None:
    """Local clients need no credentials; the root redirects to the page, so that relative addresses work."""
    assert send(LocalPage(FILES), asked("/ui/", address))[0].content_type.startswith("text/html")
    browser = asked("/ui", address)
    browser.headers = {**browser.headers, "accept": ("text/html,application/xhtml+xml",)}
    response, headers = send(LocalPage(FILES), browser)
    assert response.code == 307 and headers["Location"] == "/ui/"
    # Other programs get the response of a release without a page.
    assert send(LocalPage(FILES), asked("/ui", address))[0].body == b"answer"


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "::ffff:10.1.2.3", "", "/run/socket", "0.0.0.0", "128.0.0.1", "fe80::1%lo"]
)
def test_remote_requests_pass_on_to_authentication(address: str) -> None:
    """The stage passes them on without revealing that there is a page."""
    assert send(LocalPage(FILES), asked("/ui/", address))[0].body == b"answer"
    assert not is_loopback(address)


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../pki/ca.key",
        "/ui/%2e%2e/x",
        "/ui//etc/passwd",
        "/ui/static/main.js",
        "/uix",
        "/ui/main.js/",
        "/UI/main.js",
    ],
)
def test_only_exact_file_names_are_served(path: str) -> None:
    """Other spellings of the names are not served."""
    assert send(LocalPage(FILES), asked(path))[0].body == b"answer"


def session(request: Request, *, local: bool = True) -> bytes:
    body = send(SessionStage(names_of(KUBERNETES), local=local), request)[0].body
    assert isinstance(body, bytes)
    return body


def test_the_session_names_the_user() -> None:
    """The session has name, groups, names of the dialect, and whether a certificate was sent."""
    request = asked("/ui/session", certificates=(b"der",))
    request.user = User(name="alice", groups=("people",))
    found = orjson.loads(session(request))
    assert found["user"] == {"name": "alice", "groups": ["people"]} and found["certificate"] is True
    assert found["names"]["meta"] == KUBERNETES.meta_group
    assert names_of(ORCH)["meta"] == ORCH.meta_group


def test_session_is_never_stored() -> None:
    """No cache keeps who the user is; refusals have the headers of the page as well, except outside of it."""
    assert send(SessionStage(names_of(KUBERNETES), local=True), asked("/ui/session"))[1]["Cache-Control"] == "no-store"

    async def refuse(request: Request) -> Response:
        raise errors.unauthorized()

    for path, framed in (("/ui/session", "DENY"), ("/ui/none", "DENY"), ("/uix", None), ("/ui", None)):
        with pytest.raises(ApiError) as caught:
            run(through(LocalPage(FILES), asked(path), refuse))
        assert caught.value.headers.get("X-Frame-Options") == framed, path


def test_anonymous_user_has_no_session() -> None:
    """The anonymous user has no session."""
    request = asked("/ui/session")
    request.user = User(name=ANONYMOUS)
    assert orjson.loads(session(request)) == {"user": None, "certificate": False, "names": {}}


def test_session_endpoint_follows_the_ui_flag() -> None:
    """Remote clients get the session only with --ui=true."""
    assert session(asked("/ui/session", "10.1.2.3")) == b"answer"
    assert orjson.loads(session(asked("/ui/session", "10.1.2.3"), local=False))["user"]["name"] == "alice"


def test_ui_endpoints_behind_authorization() -> None:
    """With --ui=true the same files are served after authorization."""
    endpoints = page_endpoints(FILES)
    assert run(endpoints["/ui/main.js"](asked("/ui/main.js"))).body == FILES["/ui/main.js"].body  # type: ignore[arg-type]
    assert run(endpoints["/ui"](asked("/ui"))).code == 307  # type: ignore[arg-type]
