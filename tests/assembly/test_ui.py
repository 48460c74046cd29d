"""The page in a whole server, as --ui says."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.python.usage import UsageError

from orchd.config import settings
from orchd.config.options import Options
from orchd.kinds.identity import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.query import Query
from orchd.testing.server import BytesBody, InProcessServer, make_server, run, user


def ask(server: InProcessServer, path: str, remote: str, known: User | None = None) -> Response:
    request = Request(
        method="GET", path=path, raw_path=path, query=Query({}), headers={}, body=BytesBody(b""),
        credentials=Credentials(headers={}, remote=remote), received=0.0, user=known,
    )  # fmt: skip
    return run(server.server.pipeline.handle(request))


HERE, ELSEWHERE = "127.0.0.1", "10.1.2.3"


def test_ui_auto_serves_local_clients_only(tmp_path: Path) -> None:
    """Others are refused like for any path that they may not read, and find nothing where they may read all."""
    server = make_server(tmp_path)
    assert ask(server, "/ui/", HERE).code == 200
    assert ask(server, "/ui/", ELSEWHERE).code == 403
    assert ask(server, "/ui/", ELSEWHERE, user("admin")).code == 404
    assert ask(server, "/ui/session", ELSEWHERE, user("admin")).code == 404
    server.stop()


def test_ui_true_serves_all_permitted_clients(tmp_path: Path) -> None:
    """--ui=true: others need permission to get the path."""
    server = make_server(tmp_path, "--ui=true")
    assert ask(server, "/ui/main.js", HERE).code == 200
    assert ask(server, "/ui/main.js", ELSEWHERE).code == 403
    assert ask(server, "/ui/main.js", ELSEWHERE, user("alice", "people")).code == 403
    assert ask(server, "/ui/main.js", ELSEWHERE, user("admin")).code == 200
    server.stop()


def test_ui_false_serves_nobody(tmp_path: Path) -> None:
    """--ui=false: neither page nor session nor audit events."""
    server = make_server(tmp_path, "--ui=false")
    for path in ("/ui", "/ui/", "/ui/session", "/debug/audit"):
        assert ask(server, path, HERE, user("admin")).code == 404
        assert ask(server, path, HERE).code == 403
    server.stop()


def test_audit_events_need_permission(tmp_path: Path) -> None:
    """Only who may get /debug/audit follows them; a stream that still runs ends with the server."""
    server = make_server(tmp_path)
    assert ask(server, "/debug/audit", HERE).code == 403
    assert ask(server, "/debug/audit", HERE, user("alice", "people")).code == 403
    assert ask(server, "/debug/audit", HERE, user("admin")).stream is not None
    server.stop()


def test_invalid_ui_values_are_refused() -> None:
    """The flag takes auto, true and false."""
    options = Options()
    with pytest.raises(UsageError, match="ui"):
        options.parseOptions(["--ui=maybe"])
    assert settings.from_options(Options()).serving.ui == "auto"
