"""Metrics of audit, under the reference's names."""

from __future__ import annotations

from collections.abc import Sequence

from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.txkit.metrics.instruments import Counter, ObservedCounter


class AuditMetrics:
    """Generated events by level, events that `sinks` lost, and requests rejected because their event could not be
    recorded. Without audit there are no sinks, and the numbers stay 0."""

    def __init__(self, sinks: Sequence[IAuditSink] = ()) -> None:
        self.events = Counter("apiserver_audit_level_total", "Audit events generated, by level.", ("level",))
        self.rejected = Counter(
            "apiserver_audit_requests_rejected_total",
            "Requests rejected because their audit event could not be recorded.",
        )
        total = ObservedCounter(
            "apiserver_audit_event_total", "Audit events generated.", lambda: sum(self.events.values.values())
        )
        lost = ObservedCounter(
            "apiserver_audit_error_total",
            "Audit events lost, by sink.",
            lambda: {(sink.name,): float(sink.lost) for sink in sinks if sink.lost},
            ("plugin",),
        )
        self.instruments = (total, self.rejected, self.events, lost)
