"""Metrics of authorizers and of authorization webhooks, under the reference's names."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from orchd.server.authz.interfaces import Decision
from orchd.txkit.histogram import Histogram, cumulative

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_WORDS = {Decision.ALLOW: "allowed", Decision.DENY: "denied"}


class AuthorizationMetrics:
    """Counts decisions by authorizer, and calls of webhooks by name and result."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[tuple[str, str], Decision], int] = {}
        self._calls: dict[tuple[str, str], Histogram] = {}
        self._open: dict[tuple[str, str], int] = {}

    def decided(self, label: tuple[str, str], decision: Decision) -> None:
        """Count a decision of an authorizer; `label` is its type and name."""
        key = label, decision
        self._decisions[key] = self._decisions.get(key, 0) + 1

    def called(self, name: str, result: str, seconds: float) -> None:
        """Count a call of the webhook `name` with its result: success, error, timeout or canceled."""
        self._calls.setdefault((name, result), Histogram(_BOUNDS)).observe(_BOUNDS, seconds)

    def failed_open(self, name: str, result: str) -> None:
        """Count a failure of the webhook `name` that left the decision to the following authorizers."""
        self._open[name, result] = self._open.get((name, result), 0) + 1

    def families(self) -> Iterator[Metric]:
        decisions = CounterMetricFamily(
            "apiserver_authorization_decisions",
            "Requests that an authorizer allowed or denied, by its type and name.",
            labels=("type", "name", "decision"),
        )
        for (label, decision), count in self._decisions.items():
            decisions.add_metric([*label, _WORDS[decision]], float(count))
        yield decisions
        calls = CounterMetricFamily(
            "apiserver_authorization_webhook_evaluations",
            "Calls of authorization webhooks, by name and result.",
            labels=("name", "result"),
        )
        seconds = HistogramMetricFamily(
            "apiserver_authorization_webhook_duration_seconds",
            "Duration of calls of authorization webhooks in seconds, by name and result.",
            labels=("name", "result"),
        )
        for labels, histogram in self._calls.items():
            calls.add_metric(labels, float(sum(histogram.counts)))
            seconds.add_metric(labels, cumulative(histogram, _BOUNDS), histogram.sum)
        yield calls
        yield seconds
        opened = CounterMetricFamily(
            "apiserver_authorization_webhook_evaluations_fail_open",
            "Failures of authorization webhooks that left the decision to the following authorizers.",
            labels=("name", "result"),
        )
        for labels, count in self._open.items():
            opened.add_metric(labels, float(count))
        yield opened
