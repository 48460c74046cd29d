"""Authorizations of requests are counted by result from release 1.28 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.server.authz.interfaces import Decision, Verdict
from orchd.server.authz.metrics import AuthorizationMetrics, WebhookMetrics
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


def test_webhooks_are_measured() -> None:
    """Calls by result, failures that left the decision to others, and match conditions that failed or excluded."""
    metrics = WebhookMetrics()
    metrics.observe_call("hook", "success", 0.5)
    metrics.observe_call("hook", "timeout", 2.5)
    metrics.count_fail_open("hook", "timeout")
    for failed, excluded in ((True, False), (False, True), (False, True), (False, True)):
        metrics.observe_conditions("hook", 0.25, failed, excluded)
    values = {}
    for instrument in metrics.instruments:
        family = instrument.family()
        name = family.name.removeprefix("apiserver_authorization_")
        for sample in family.samples:
            if not sample.name.endswith(("_bucket", "_created")):
                suffix = sample.name.rpartition("_")[2] if sample.name.endswith(("_sum", "_count")) else ""
                values[f"{name} {sample.labels.get('result', sample.labels.get('type'))} {suffix}".strip()] = (
                    sample.value
                )
    assert values == {
        "webhook_evaluations success": 1,
        "webhook_evaluations timeout": 1,
        "webhook_duration_seconds success sum": 0.5,
        "webhook_duration_seconds success count": 1,
        "webhook_duration_seconds timeout sum": 2.5,
        "webhook_duration_seconds timeout count": 1,
        "webhook_evaluations_fail_open timeout": 1,
        "match_condition_evaluation_seconds Webhook sum": 1.0,
        "match_condition_evaluation_seconds Webhook count": 4,
        "match_condition_evaluation_errors Webhook": 1,
        "match_condition_exclusions Webhook": 3,
    }


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
