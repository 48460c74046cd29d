"""Authorizations of requests are counted by result from release 1.28 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.server.authz.interfaces import Decision, Verdict
from orchd.server.authz.metrics import AuthorizationMetrics
from orchd.testing.doubles.server import make_server, run, user


def test_results() -> None:
    """A failed evaluation counts as an error unless the request was allowed."""
    metrics = AuthorizationMetrics()
    for verdict in (
        Verdict(Decision.ALLOW, error="ignored"),
        Verdict(Decision.DENY),
        Verdict(Decision.NO_OPINION),
        Verdict(Decision.NO_OPINION, error="failed"),
    ):
        metrics.observe(verdict, 0.5)
    attempts, _ = metrics.instruments
    counts = {sample.labels["result"]: sample.value for sample in attempts.family().samples}
    assert counts == {"allowed": 1, "denied": 1, "no-opinion": 1, "error": 1}


@pytest.mark.parametrize(("release", "served"), [("1.23", False), ("1.35", True)])
def test_requests_are_counted(tmp_path: Path, release: str, served: bool) -> None:
    """A refused request has no opinion of any authorizer; earlier releases do not measure."""
    server = make_server(tmp_path, "--authorization-mode=RBAC", f"--emulated-version={release}")
    try:
        assert run(server.request("GET", "/api/v1/secrets", user=user("nobody", "nobodies"))).code == 403
        text = run(server.request("GET", "/metrics")).body.decode()
    finally:
        server.stop()
    assert ('authorization_attempts_total{result="no-opinion"} 1.0' in text) is served
    assert ("authorization_duration_seconds" in text) is served
