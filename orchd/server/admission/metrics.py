"""Metrics of admission, under the reference's names."""

from __future__ import annotations

from typing import Final

from orchd.kinds.release import Release
from orchd.txkit.metrics.instruments import Counter, Distribution, Series, Summary

#: Histogram bucket upper bounds in seconds.
_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
#: Those of webhooks, by the release that begins them.
_WEBHOOK_BUCKETS: Final[tuple[tuple[str, tuple[float, ...]], ...]] = (("", _BUCKETS), ("1.25", (*_BUCKETS, 10.0, 25.0)))
_STEP: Final = "apiserver_admission_step_admission_duration_seconds"
_WEBHOOK: Final = "apiserver_admission_webhook_"
#: The error type of a webhook that could not be called or whose response was malformed.
CALL_FAILED: Final = "calling_webhook_error"
#: The first release that counts such failures of webhooks whose failurePolicy is Ignore.
_FAIL_OPEN_SINCE: Final = "1.24"
#: The code of a call without a response, by the release that begins it: 0 for none.
_NO_RESPONSE: Final = (("", 0), ("1.26", 503))
_BOOL: Final = {True: "true", False: "false"}


class AdmissionMetrics:
    """Durations of admission plugins, and of all of a phase, by result. The admission chain observes them."""

    def __init__(self) -> None:
        labels = ("type", "operation", "rejected")
        self._plugins = Distribution(
            "apiserver_admission_controller_admission_duration_seconds",
            "Duration of admission plugins in seconds, by plugin, operation and result.",
            _BUCKETS,
            ("name", *labels),
        )
        self._steps = Distribution(
            _STEP,
            "Duration of all mutating or all validating admission plugins in seconds, by operation and result.",
            _BUCKETS,
            labels,
        )
        self.instruments = (self._plugins, self._steps, Summary(f"{_STEP}_summary", self._steps))

    def of_plugin(self, plugin: str, phase: str, operation: str) -> tuple[Series, Series]:
        """Durations in seconds of reviews that a plugin accepts, and of those that it rejects."""
        accepted, rejected = (self._plugins.series(plugin, phase, operation, _BOOL[result]) for result in (False, True))
        return accepted, rejected

    def of_phase(self, phase: str, operation: str) -> tuple[Series, Series]:
        """The same of all plugins of a phase."""
        accepted, rejected = (self._steps.series(phase, operation, _BOOL[result]) for result in (False, True))
        return accepted, rejected


class WebhookMetrics:
    """Durations, rejections and ignored failures of admission webhooks. The webhook plugins call `observe`."""

    def __init__(self, release: Release) -> None:
        self._seconds = Distribution(
            f"{_WEBHOOK}admission_duration_seconds",
            "Duration of admission webhooks in seconds, by webhook, operation and result.",
            release.choose(_WEBHOOK_BUCKETS),
            ("name", "type", "operation", "rejected"),
        )
        self._rejections = Counter(
            f"{_WEBHOOK}rejection_count",
            "Requests rejected by admission webhooks, by webhook, operation, error type and code.",
            ("name", "type", "operation", "error_type", "rejection_code"),
        )
        self._requests = Counter(
            f"{_WEBHOOK}request_total",
            "Calls of admission webhooks, by webhook, operation, code and result.",
            ("name", "type", "operation", "code", "rejected"),
        )
        self._fail_open = Counter(
            f"{_WEBHOOK}fail_open_count",
            "Failed calls of admission webhooks that were ignored as their failurePolicy says, by webhook.",
            ("name", "type"),
        )
        self._no_response = release.choose(_NO_RESPONSE)
        later = (self._fail_open,) if release.includes(_FAIL_OPEN_SINCE) else ()
        self.instruments = (self._seconds, self._rejections, self._requests, *later)

    def observe(
        self, name: str, kind: str, operation: str, seconds: float, rejected: bool, error: str, code: int
    ) -> None:
        """Record a call. `kind` is the type of the webhook, `error` the error type and `code` the HTTP status of a
        rejection, 0 for none."""
        self._seconds.observe(seconds, name, kind, operation, _BOOL[rejected])
        if error == CALL_FAILED:
            code = code or self._no_response
        # Webhooks choose the code: codes above 599 are counted as 600, to bound the number of series.
        status = str(min(code, 600))
        self._requests.add(name, kind, operation, status if code else "200", _BOOL[rejected])
        if rejected:
            self._rejections.add(name, kind, operation, error, status)
        elif error == CALL_FAILED:
            self._fail_open.add(name, kind)
