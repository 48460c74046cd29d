"""The web page in a whole server, for each value of --ui."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from twisted.python.usage import UsageError

from orchd.config.options import Options, from_options
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline.interfaces import Request, Response, whole
from orchd.server.pipeline.query import Query
from orchd.testing.doubles.server import BytesBody, InProcessServer, make_server, run, user


def ask(server: InProcessServer, path: str, remote: str, known: User | None = None) -> Response:
    request = Request(
        method="GET", path=path, raw_path=path, query=Query({}), headers={}, body=BytesBody(b""),
        credentials=Credentials(headers={}, remote=remote), received=0.0, user=known,
    )  # fmt: skip
    return run(server.server.pipeline.handle(request))


HERE, ELSEWHERE = "127.0.0.1", "10.1.2.3"


def test_ui_auto_serves_local_clients_only(tmp_path: Path) -> None:
    """Other clients get 403 as for any path that they may not read, and 404 if they may read all paths."""
    server = make_server(tmp_path)
    assert ask(server, "/ui/", HERE).code == 200
    assert ask(server, "/ui/", ELSEWHERE).code == 403
    assert ask(server, "/ui/", ELSEWHERE, user("admin")).code == 404
    assert ask(server, "/ui/session", ELSEWHERE, user("admin")).code == 404
    server.stop()


def test_ui_true_serves_all_permitted_clients(tmp_path: Path) -> None:
    """With --ui=true remote clients need permission for the path."""
    server = make_server(tmp_path, "--ui=true")
    assert ask(server, "/ui/main.js", HERE).code == 200
    assert ask(server, "/ui/main.js", ELSEWHERE).code == 403
    assert ask(server, "/ui/main.js", ELSEWHERE, user("alice", "people")).code == 403
    assert ask(server, "/ui/main.js", ELSEWHERE, user("admin")).code == 200
    server.stop()


def test_ui_false_serves_no_client(tmp_path: Path) -> None:
    """With --ui=false neither the page, sessions, audit events nor samples of metrics are served."""
    server = make_server(tmp_path, "--ui=false")
    for path in ("/ui", "/ui/", "/ui/session", "/debug/audit", "/debug/metrics"):
        assert ask(server, path, HERE, user("admin")).code == 404
        assert ask(server, path, HERE).code == 403
    server.stop()


def test_audit_events_need_permission(tmp_path: Path) -> None:
    """Only clients with permission for /debug/audit receive audit events; the server ends open streams when it
    stops."""
    server = make_server(tmp_path)
    assert ask(server, "/debug/audit", HERE).code == 403
    assert ask(server, "/debug/audit", HERE, user("alice", "people")).code == 403
    assert ask(server, "/debug/audit", HERE, user("admin")).stream is not None
    server.stop()


def test_samples_of_metrics_need_permission(tmp_path: Path) -> None:
    """Only clients with permission for /debug/metrics get samples, which the server takes from its start on."""
    server = make_server(tmp_path)
    assert ask(server, "/debug/metrics", HERE).code == 403
    server.clock.advance(10)
    response = orjson.loads(whole(ask(server, "/debug/metrics", ELSEWHERE, user("admin")).body))
    assert response["samples"][-1]["plots"]["objects"]
    server.stop()


def test_invalid_ui_values_are_refused() -> None:
    """The flag accepts auto, true and false."""
    options = Options()
    with pytest.raises(UsageError, match="ui"):
        options.parseOptions(["--ui=maybe"])
    assert from_options(Options()).serving.ui == "auto"
