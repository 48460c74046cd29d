"""Metrics of audit, under the reference's names."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from orchd.server.pipeline.audit.stage import AuditTrail
from orchd.server.pipeline.endpoints.metrics import Source


def audit_metrics(trail: AuditTrail | None) -> Source:
    """Generated events, lost events, and requests rejected because their event could not be recorded. `trail` is None
    without audit."""

    def families() -> Iterator[Metric]:
        made = CounterMetricFamily("apiserver_audit_event", "Audit events generated.")
        made.add_metric([], 0.0 if trail is None else float(sum(trail.made.values())))
        yield made
        refused = CounterMetricFamily(
            "apiserver_audit_requests_rejected", "Requests rejected because their audit event could not be recorded."
        )
        refused.add_metric([], 0.0 if trail is None else float(trail.refused))
        yield refused
        if trail is not None:
            yield from _details(trail)

    return families


def _details(trail: AuditTrail) -> Iterator[Metric]:
    levels = CounterMetricFamily("apiserver_audit_level", "Audit events generated, by level.", labels=("level",))
    for level, count in trail.made.items():
        levels.add_metric([level], float(count))
    yield levels
    lost = CounterMetricFamily("apiserver_audit_error", "Audit events lost, by sink.", labels=("plugin",))
    for sink in trail.sinks:
        if sink.lost:
            lost.add_metric([sink.name], float(sink.lost))
    yield lost
