"""What the gates of one server count, for its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from orchd.client.event_writer import EventCounts
from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints import metrics
from orchd.server.pipeline.endpoints.admission_metrics import AdmissionMetrics, WebhookMetrics
from orchd.server.pipeline.endpoints.identity_metrics import AuthenticationMetrics, ReviewMetrics, TokenCacheMetrics


class ServerMetrics:
    """Who was known and how, what admission decided and how long it took."""

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
    """What controllers have done, by name."""
    return [
        metrics.by_label(
            "orchd_controller_keys",
            "Keys that controllers have worked on.",
            "controller",
            lambda: {name: float(done.worked) for name, done in counts()},
        ),
        metrics.by_label(
            "orchd_controller_retries",
            "Keys that controllers will work on again because it failed.",
            "controller",
            lambda: {name: float(done.failed) for name, done in counts()},
        ),
    ]


def event_metrics(counts: Callable[[], EventCounts]) -> metrics.Source:
    """What became of the Events that components of this process recorded."""
    return metrics.by_label(
        "orchd_recorded_events",
        "Events that components of this process recorded, by what became of them.",
        "outcome",
        lambda: {field.name: float(getattr(counts(), field.name)) for field in fields(EventCounts)},
    )


def leader_metrics(status: Callable[[], dict[str, float]]) -> metrics.Source:
    """Which of the components that are elected lead here."""
    return metrics.by_label(
        "leader_election_master_status",
        "Whether this process leads, by the name of the lock: 1 for a leader, 0 for others.",
        "name",
        status,
    )
