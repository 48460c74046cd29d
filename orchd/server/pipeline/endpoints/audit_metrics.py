"""Audit metrics under the reference's names."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from orchd.server.pipeline.audit.stage import AuditTrail
from orchd.server.pipeline.endpoints.metrics import Source


def audit_metrics(trail: AuditTrail) -> Source:
    """Events recorded, events lost, and requests rejected because their event could not be recorded."""

    def families() -> Iterator[Metric]:
        made = CounterMetricFamily("apiserver_audit_event", "Audit events made.")
        made.add_metric([], float(sum(trail.made.values())))
        yield made
        levels = CounterMetricFamily("apiserver_audit_level", "Audit events made, by level.", labels=("level",))
        for level, count in trail.made.items():
            levels.add_metric([level], float(count))
        yield levels
        lost = CounterMetricFamily("apiserver_audit_error", "Audit events that were lost.", labels=("plugin",))
        for sink in trail.sinks:
            if sink.lost:
                lost.add_metric([sink.name], float(sink.lost))
        yield lost
        refused = CounterMetricFamily(
            "apiserver_audit_requests_rejected", "Requests refused because their event could not be taken."
        )
        refused.add_metric([], float(trail.refused))
        yield refused

    return families
