"""Metrics of calls to review webhooks, and of connections through egress proxies, under the reference's names."""

from __future__ import annotations

from typing import Final

from orchd.txkit.metrics.instruments import Counter, Distribution, Instrument, ObservedCounter

#: Bucket bounds in seconds of reviews, and of dials as in the reference.
_REVIEWS: Final = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)
_DIALS: Final = (0.005, 0.025, 0.1, 0.5, 2.5, 12.5)


class ReviewMetrics:
    """Calls of a review webhook. `sort` is authn or authz."""

    def __init__(self, sort: str) -> None:
        name = f"apiserver_delegated_{sort}_request"
        self._seconds = Distribution(
            f"{name}_duration_seconds",
            "Duration of review webhook requests in seconds, by HTTP status code.",
            _REVIEWS,
            ("code",),
        )
        total = ObservedCounter(
            f"{name}_total", "Review webhook requests, by HTTP status code.", self._seconds.totals, ("code",)
        )
        self.instruments = (total, self._seconds)

    def observe(self, code: str, seconds: float) -> None:
        """`code` is the HTTP status, ``<error>`` without one."""
        self._seconds.observe(seconds, code)


class EgressMetrics:
    """Durations of successful dials through proxies, and failed ones by stage: connect (to the proxy) or proxy
    (CONNECT)."""

    def __init__(self, counts_begun: bool) -> None:
        """`counts_begun`: connections that are begun are a metric, too."""
        self.begun = Counter(
            "apiserver_egress_dialer_dial_start_total",
            "Connections through an egress proxy that were begun, by protocol (http_connect) and transport (tcp or uds) "
            "of the proxy.",
            ("protocol", "transport"),
        )
        self.seconds = Distribution(
            "apiserver_egress_dialer_dial_duration_seconds",
            "Time to connect through an egress proxy in seconds, by protocol (http_connect) and transport (tcp "
            "or uds) of the proxy.",
            _DIALS,
            ("protocol", "transport"),
        )
        self.failures = Counter(
            "apiserver_egress_dialer_dial_failure_count",
            "Failed connections through an egress proxy, by protocol (http_connect), transport (tcp or uds) and "
            "stage: connect (the proxy was not reached) or proxy (it did not connect).",
            ("protocol", "transport", "stage"),
        )
        later = (self.begun,) if counts_begun else ()
        self.instruments: tuple[Instrument, ...] = (self.seconds, self.failures, *later)
