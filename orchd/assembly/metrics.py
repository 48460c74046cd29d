"""Metrics of authentication, authorization, admission and controllers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.assembly.leadership import Leadership
from orchd.client.event_writer import EventCounts
from orchd.client.events import EventBroadcaster
from orchd.client.queue import BOUNDS, WorkQueue
from orchd.client.request_counts import DURATIONS, ROTATIONS, RequestCounts
from orchd.controllers.group import ControllerGroup
from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints import metrics
from orchd.server.pipeline.endpoints.admission_metrics import AdmissionMetrics, WebhookMetrics
from orchd.server.pipeline.endpoints.authorization_metrics import AuthorizationMetrics
from orchd.server.pipeline.endpoints.identity_metrics import AuthenticationMetrics, ReviewMetrics, TokenCacheMetrics
from orchd.server.pipeline.endpoints.metric_selection import MetricSelection, metric_selection
from orchd.txkit.histogram import cumulative


class ServerMetrics:
    """The metrics of authentication, authorization and admission."""

    def __init__(self, dialect: Dialect) -> None:
        self.authentication = AuthenticationMetrics(dialect)
        self.token_cache = TokenCacheMetrics()
        self.token_reviews, self.access_reviews = ReviewMetrics("authn"), ReviewMetrics("authz")
        self.authorization = AuthorizationMetrics()
        self.admission = AdmissionMetrics()
        self.webhooks = WebhookMetrics()

    def sources(self) -> Iterable[metrics.Source]:
        return [
            self.authentication.families,
            self.token_cache.families,
            self.token_reviews.families,
            self.access_reviews.families,
            self.authorization.families,
            self.admission.families,
            self.webhooks.families,
        ]


def instruments_of(owners: Callable[[], Iterable[object]]) -> metrics.Source:
    """The metrics of objects that have an attribute `instruments`; others are passed over."""

    def families() -> Iterable[Metric]:
        for owner in owners():
            for instrument in getattr(owner, "instruments", ()):
                yield instrument.family()

    return families


def controller_metrics(group: Callable[[], ControllerGroup | None]) -> Iterable[metrics.Source]:
    """Metrics of controllers: by name, and their own. `group` gives None while none run."""

    def counts() -> Iterable[tuple[str, Any]]:
        running = group()
        return () if running is None else running.counts()

    def controllers() -> Iterable[object]:
        running = group()
        return () if running is None else running.controllers

    return [
        instruments_of(controllers),
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
        queue_metrics(lambda: ((name, done.queue) for name, done in counts() if done.queue is not None)),
    ]


def queue_metrics(queues: Callable[[], Iterable[tuple[str, WorkQueue[Any]]]]) -> metrics.Source:
    """Work queue metrics, by queue name."""

    def families() -> Iterable[Metric]:
        rows: tuple[tuple[type[Any], str, str, Callable[[WorkQueue[Any]], float]], ...] = (
            (GaugeMetricFamily, "depth", "Keys that wait for a worker.", len),
            (CounterMetricFamily, "adds", "Keys that were added.", lambda queue: queue.added),
            (CounterMetricFamily, "retries", "Keys that were added again after a failure.", lambda queue: queue.retries),
            (
                GaugeMetricFamily,
                "unfinished_work_seconds",
                "Seconds spent on keys that are being worked on.",
                lambda queue: queue.unfinished[0],
            ),
            (
                GaugeMetricFamily,
                "longest_running_processor_seconds",
                "Seconds spent on the key that has been worked on for longest.",
                lambda queue: queue.unfinished[1],
            ),
        )
        for family, name, help_, value in rows:
            made = family(f"workqueue_{name}", help_, labels=("name",))
            for label, queue in queues():
                made.add_metric([label], float(value(queue)))
            yield made
        for name, help_ in (("queue", "Seconds that keys waited for a worker."), ("work", "Seconds that work on a key took.")):
            histograms = HistogramMetricFamily(f"workqueue_{name}_duration_seconds", help_, labels=("name",))
            for label, queue in queues():
                found = queue.waits if name == "queue" else queue.works
                histograms.add_metric([label], cumulative(found, BOUNDS), found.sum)
            yield histograms

    return families


def component_metrics(
    leaderships: Iterable[Leadership], events: Mapping[str, EventBroadcaster]
) -> Iterable[metrics.Source]:
    """Leader election metrics, and outcomes of Events recorded by components, by component name."""

    def leaders() -> dict[str, float]:
        return {name: value for leadership in leaderships for name, value in leadership.status().items()}

    def recorded() -> Iterable[Metric]:
        family = GaugeMetricFamily(
            "orchd_recorded_events",
            "Events that a component recorded, by result.",
            labels=("component", "outcome"),
        )
        for component, broadcaster in events.items():
            for field in fields(EventCounts):
                family.add_metric([component, field.name], float(getattr(broadcaster.counts, field.name)))
        yield family

    return [
        metrics.by_label(
            "leader_election_master_status",
            "Whether this process leads, by the name of the lock: 1 for a leader, 0 for others.",
            "name",
            leaders,
        ),
        recorded,
    ]


def client_metrics(counts: RequestCounts, wall: Callable[[], float] = time.time) -> metrics.Source:
    """Request metrics of the clients in this process. `wall` returns seconds since the epoch."""

    def families() -> Iterable[Metric]:
        results = CounterMetricFamily(
            "rest_client_requests", "HTTP requests by status code, method and host.", labels=("code", "method", "host")
        )
        for labels, number in counts.results.items():
            results.add_metric(labels, float(number))
        yield results
        for name, help_, kind in (
            ("request", "Seconds from a request to the head of its answer, by verb and URL.", counts.durations),
            ("rate_limiter", "Seconds that requests waited for their turn, by verb and URL.", counts.waits),
        ):
            family = HistogramMetricFamily(f"rest_client_{name}_duration_seconds", help_, labels=("verb", "url"))
            for names, histogram in kind.items():
                family.add_metric(names, cumulative(histogram, DURATIONS), histogram.sum)
            yield family
        calls = CounterMetricFamily(
            "rest_client_exec_plugin_call", "Calls of exec plugins by exit code and status.", labels=("code", "call_status")
        )
        for labels2, number in counts.plugin_calls.items():
            calls.add_metric(labels2, float(number))
        yield calls
        ttl = GaugeMetricFamily(
            "rest_client_exec_plugin_ttl_seconds",
            "Seconds until the first certificate of an exec plugin expires, negative afterwards; +Inf without certificates.",
        )
        ttl.add_metric([], min(counts.plugin_expiries.values(), default=math.inf) - wall())
        yield ttl
        rotations = HistogramMetricFamily(
            "rest_client_exec_plugin_certificate_rotation_age", "Age in seconds at which certificates of exec plugins were replaced."
        )
        rotations.add_metric([], cumulative(counts.plugin_rotations, ROTATIONS), counts.plugin_rotations.sum)
        yield rotations

    return families


def selected_metrics(flags: Mapping[str, Any]) -> MetricSelection:
    """The metrics that the metric flags enable."""
    return metric_selection(
        flags["disabled-metrics"], flags["allow-metric-labels"], flags["show-hidden-metrics-for-version"]
    )
