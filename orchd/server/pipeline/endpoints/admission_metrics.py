"""Metrics of admission, under the reference's names."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric, SummaryMetricFamily

from orchd.txkit.histogram import Histogram, cumulative
from orchd.txkit.instruments import UnsuffixedCounter

#: Histogram bucket upper bounds in seconds.
_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)


class AdmissionMetrics:
    """Durations of admission plugins, and of all of a phase, by result. The admission chain calls `observe`."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str, bool], Histogram] = {}

    def observe(self, plugin: str, phase: str, operation: str, seconds: float, rejected: bool) -> None:
        key = (plugin, phase, operation, rejected)
        histogram = self._seen.get(key)
        if histogram is None:
            histogram = self._seen[key] = Histogram(_BUCKETS)
        histogram.observe(_BUCKETS, seconds)

    def families(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(
            "apiserver_admission_controller_admission_duration_seconds",
            "Duration of admission plugins in seconds, by plugin, operation and result.",
            labels=("name", "type", "operation", "rejected"),
        )
        steps = HistogramMetricFamily(
            "apiserver_admission_step_admission_duration_seconds",
            "Duration of all mutating or all validating admission plugins in seconds, by operation and result.",
            labels=("type", "operation", "rejected"),
        )
        summary = SummaryMetricFamily(
            "apiserver_admission_step_admission_duration_seconds_summary",
            "Duration of all mutating or all validating admission plugins in seconds, by operation and result.",
            labels=("type", "operation", "rejected"),
        )
        for (plugin, phase, operation, rejected), histogram in self._seen.items():
            labels = [phase, operation, "true" if rejected else "false"]
            if plugin:
                family.add_metric([plugin, *labels], cumulative(histogram, _BUCKETS), histogram.sum)
            else:
                steps.add_metric(labels, cumulative(histogram, _BUCKETS), histogram.sum)
                summary.add_metric(labels, count_value=sum(histogram.counts), sum_value=histogram.sum)
        yield family
        yield steps
        yield summary


class WebhookMetrics:
    """Durations and rejections of admission webhooks. The webhook plugins call `observe`."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str, bool], Histogram] = {}
        self._rejections: dict[tuple[str, str, str, str, str], int] = {}
        self._requests: dict[tuple[str, str, str, str, str], int] = {}

    def observe(
        self, name: str, kind: str, operation: str, seconds: float, rejected: bool, what: str, code: int
    ) -> None:
        key = (name, kind, operation, rejected)
        histogram = self._seen.get(key)
        if histogram is None:
            histogram = self._seen[key] = Histogram(_BUCKETS)
        histogram.observe(_BUCKETS, seconds)
        # Webhooks choose the code: codes above 599 are counted as 600, to bound the number of series.
        status = str(min(code, 600))
        request = (name, kind, operation, status if code else "200", "true" if rejected else "false")
        self._requests[request] = self._requests.get(request, 0) + 1
        if rejected:
            labels = (name, kind, operation, what, status)
            self._rejections[labels] = self._rejections.get(labels, 0) + 1

    def families(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(
            "apiserver_admission_webhook_admission_duration_seconds",
            "Duration of admission webhooks in seconds, by webhook, operation and result.",
            labels=("name", "type", "operation", "rejected"),
        )
        for (name, kind, operation, rejected), histogram in self._seen.items():
            labels = [name, kind, operation, "true" if rejected else "false"]
            family.add_metric(labels, cumulative(histogram, _BUCKETS), histogram.sum)
        yield family
        counts = UnsuffixedCounter(
            "apiserver_admission_webhook_rejection_count",
            "Requests rejected by admission webhooks, by webhook, operation, error type and code.",
            labels=("name", "type", "operation", "error_type", "rejection_code"),
        )
        for key, count in self._rejections.items():
            counts.add_metric(list(key), float(count))
        yield counts
        requests = CounterMetricFamily(
            "apiserver_admission_webhook_request",
            "Calls of admission webhooks, by webhook, operation, code and result.",
            labels=("name", "type", "operation", "code", "rejected"),
        )
        for key, count in self._requests.items():
            requests.add_metric(key, float(count))
        yield requests
