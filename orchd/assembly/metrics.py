"""Metrics of authentication, authorization, admission and controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints import metrics
from orchd.server.pipeline.endpoints.admission_metrics import AdmissionMetrics, WebhookMetrics
from orchd.server.pipeline.endpoints.identity_metrics import AuthenticationMetrics, ReviewMetrics, TokenCacheMetrics


class ServerMetrics:
    """The metrics of authentication, authorization and admission."""

    def __init__(self, dialect: Dialect) -> None:
        self.authentication = AuthenticationMetrics(dialect)
        self.token_cache = TokenCacheMetrics()
        self.token_reviews, self.access_reviews = ReviewMetrics("authn"), ReviewMetrics("authz")
        self.admission = AdmissionMetrics()
        self.webhooks = WebhookMetrics()

    def sources(self) -> Iterable[metrics.Source]:
        return [
            self.authentication.families,
            self.token_cache.families,
            self.token_reviews.families,
            self.access_reviews.families,
            self.admission.families,
            self.webhooks.families,
        ]


def controller_metrics(counts: Callable[[], Iterable[tuple[str, Any]]]) -> Iterable[metrics.Source]:
    """Metrics of controllers, by name."""
    return [
        metrics.by_label(
            "orchd_controller_keys",
            "Keys processed by controllers.",
            "controller",
            lambda: {name: float(done.worked) for name, done in counts()},
        ),
        metrics.by_label(
            "orchd_controller_retries",
            "Keys requeued by controllers after a failure.",
            "controller",
            lambda: {name: float(done.failed) for name, done in counts()},
        ),
    ]
