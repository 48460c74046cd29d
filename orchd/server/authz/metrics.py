"""Metrics of authorization, under the reference's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchd.server.authz.interfaces import Decision, Verdict
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Counter, Distribution, ObservedCounter

_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WEBHOOK: Final = "apiserver_authorization_webhook_"
#: Decisions as label values.
DECISIONS: Final[Mapping[Decision, str]] = {Decision.ALLOW: "allowed", Decision.DENY: "denied"}


def decision_counter() -> Counter:
    """Decisions of the configured authorizers, by type, name and decision."""
    return Counter(
        "apiserver_authorization_decisions_total",
        "Requests that an authorizer allowed or denied, by its type and name.",
        ("type", "name", "decision"),
    )


#: The first release that measures the authorization of requests.
MEASURED_SINCE: Final = "1.28"


class AuthorizationMetrics:
    """Requests that were authorized, by result. The stage calls `observe`."""

    def __init__(self) -> None:
        self._seconds = Distribution(
            "authorization_duration_seconds",
            "Duration of the authorization of a request in seconds, by result.",
            exponential(0.001, 2, 15),
            ("result",),
        )
        attempts = ObservedCounter(
            "authorization_attempts_total", "Authorizations of requests, by result.", self._seconds.totals, ("result",)
        )
        self.instruments = (attempts, self._seconds)

    def observe(self, verdict: Verdict, seconds: float) -> None:
        failed = verdict.error and verdict.decision is not Decision.ALLOW
        self._seconds.observe(seconds, "error" if failed else DECISIONS.get(verdict.decision, "no-opinion"))


class WebhookMetrics:
    """Calls of authorization webhooks."""

    def __init__(self) -> None:
        labels = ("name", "result")
        self._seconds = Distribution(
            f"{_WEBHOOK}duration_seconds",
            "Duration of calls of authorization webhooks in seconds, by name and result.",
            _BOUNDS,
            labels,
        )
        self._fail_open = Counter(
            f"{_WEBHOOK}evaluations_fail_open_total",
            "Failures of authorization webhooks that left the decision to the following authorizers.",
            labels,
        )
        calls = ObservedCounter(
            f"{_WEBHOOK}evaluations_total",
            "Calls of authorization webhooks, by name and result.",
            self._seconds.totals,
            labels,
        )
        conditions = "apiserver_authorization_match_condition_"
        self._conditions = Distribution(
            f"{conditions}evaluation_seconds",
            "Duration of the evaluation of match conditions of authorizers in seconds, by type and name.",
            (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
            ("type", "name"),
        )
        self._condition_errors = Counter(
            f"{conditions}evaluation_errors_total",
            "Evaluations of match conditions of authorizers that had an error, by type and name.",
            ("type", "name"),
        )
        self._exclusions = Counter(
            f"{conditions}exclusions_total",
            "Requests about which match conditions kept an authorizer from being asked, by type and name.",
            ("type", "name"),
        )
        self.instruments = (
            calls,
            self._seconds,
            self._fail_open,
            self._conditions,
            self._condition_errors,
            self._exclusions,
        )

    def observe_call(self, name: str, result: str, seconds: float) -> None:
        """Record a call of the webhook `name` with its result: success, error, timeout or canceled."""
        self._seconds.observe(seconds, name, result)

    def count_fail_open(self, name: str, result: str) -> None:
        """Count a failure of the webhook `name` that left the decision to the following authorizers."""
        self._fail_open.add(name, result)

    def observe_conditions(self, name: str, seconds: float, failed: bool, excluded: bool) -> None:
        """Record an evaluation of the match conditions of the webhook `name`."""
        self._conditions.observe(seconds, "Webhook", name)
        if failed:
            self._condition_errors.add("Webhook", name)
        if excluded:
            self._exclusions.add("Webhook", name)
