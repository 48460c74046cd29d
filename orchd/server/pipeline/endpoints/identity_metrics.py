"""Metrics of authentication and authorization, under the reference's names."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.dialect import Dialect
from orchd.txkit.histogram import Histogram, cumulative
from orchd.txkit.instruments import UnsuffixedCounter

#: Bucket bounds in seconds: of authentication, token cache lookups, remaining certificate lifetime, webhook reviews.
_AUTHENTICATION = tuple(0.001 * 2**i for i in range(15))
_CACHE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EXPIRY = tuple(
    float(hours * 3600) for hours in (0, 0.5, 1, 2, 6, 12, 24, 48, 96, 168, 30 * 24, 3 * 30 * 24, 6 * 30 * 24, 12 * 30 * 24)
)
_REVIEW = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)
_RESULTS = {"success": "success", "failure": "error", "unknown": "failure"}


class AuthenticationMetrics:
    """Authentication attempts by result and duration, and authenticated requests by user name class.

    The authenticator chain calls `observe`.
    """

    def __init__(self, dialect: Dialect) -> None:
        account = f"system:serviceaccount:{dialect.system_namespace}:default"
        self._known = frozenset(("admin", "client", dialect("{short}_proxy"), dialect("{short}let"), account))
        self._durations = {result: Histogram(_AUTHENTICATION) for result in ("success", "error", "failure")}
        self._users = dict.fromkeys((*self._known, "email_id", "other"), 0)
        self._certificates = Histogram(_EXPIRY)

    def certificate(self, seconds: float) -> None:
        """Record the remaining lifetime in seconds of a request's client certificate."""
        self._certificates.observe(_EXPIRY, seconds)

    def observe(self, outcome: str, user: str, seconds: float) -> None:
        """`outcome` is "success", "failure" for a wrong credential, or "unknown"; `user` is a name, "" without one."""
        self._durations[_RESULTS[outcome]].observe(_AUTHENTICATION, seconds)
        if outcome == "success":
            # Only names of system users have their own series: others are unbounded, and private.
            self._users[user if user in self._known else "email_id" if "@" in user else "other"] += 1

    def families(self) -> Iterator[Metric]:
        attempts = UnsuffixedCounter("authentication_attempts", "Authentication attempts, by result.", labels=("result",))
        known = {result: histogram for result, histogram in self._durations.items() if any(histogram.counts)}
        for result, histogram in known.items():
            attempts.add_metric([result], float(sum(histogram.counts)))
        yield attempts
        users = UnsuffixedCounter("authenticated_user_requests", "Authenticated requests, by user name class.", labels=("username",))
        for name, count in self._users.items():
            if count:
                users.add_metric([name], float(count))
        yield users
        yield _histograms(
            "authentication_duration_seconds", "Duration of authentication in seconds, by result.", "result", known, _AUTHENTICATION
        )
        certificates = HistogramMetricFamily(
            "apiserver_client_certificate_expiration_seconds", "Remaining lifetime of the client certificates of requests in seconds."
        )
        certificates.add_metric([], cumulative(self._certificates, _EXPIRY), self._certificates.sum)
        yield certificates


class TokenCacheMetrics:
    """Lookups and fetches of the caches of bearer tokens."""

    def __init__(self) -> None:
        self._asked: dict[str, Histogram] = {}
        self._fetched: dict[str, int] = {}
        self._active: dict[str, int] = {"in_flight": 0, "blocked": 0}

    def count_request(self, hit: bool, seconds: float) -> None:
        histogram = self._asked.setdefault("hit" if hit else "miss", Histogram(_CACHE))
        histogram.observe(_CACHE, seconds)

    def count_lookup(self, ok: bool) -> None:
        status = "ok" if ok else "error"
        self._fetched[status] = self._fetched.get(status, 0) + 1

    def active(self, what: str, change: int) -> None:
        self._active[what] += change

    def families(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "authentication_token_cache_request", "Token cache lookups, by result.", labels=("status",)
        )
        for status, histogram in self._asked.items():
            requests.add_metric([status], float(sum(histogram.counts)))
        yield requests
        yield _histograms(
            "authentication_token_cache_request_duration_seconds", "Duration of token cache lookups in seconds, including fetches, by result.", "status", self._asked, _CACHE
        )
        fetched = CounterMetricFamily(
            "authentication_token_cache_fetch", "Fetches of the token cache, by result.", labels=("status",)
        )
        for status, count in self._fetched.items():
            fetched.add_metric([status], float(count))
        yield fetched
        active = GaugeMetricFamily(
            "authentication_token_cache_active_fetch_count", "Active fetches of the token cache, and requests that wait for one.", labels=("status",)
        )
        for status, count in self._active.items():
            active.add_metric([status], float(count))
        yield active


class ReviewMetrics:
    """Calls of a review webhook. `sort` is authn or authz."""

    def __init__(self, sort: str) -> None:
        self._name = f"apiserver_delegated_{sort}_request"
        self._seen: dict[str, Histogram] = {}

    def observe(self, code: str, seconds: float) -> None:
        """`code` is the HTTP status, ``<error>`` without one."""
        self._seen.setdefault(code, Histogram(_REVIEW)).observe(_REVIEW, seconds)

    def families(self) -> Iterator[Metric]:
        total = CounterMetricFamily(self._name, "Review webhook requests, by HTTP status code.", labels=("code",))
        for code, histogram in self._seen.items():
            total.add_metric([code], float(sum(histogram.counts)))
        yield total
        yield _histograms(f"{self._name}_duration_seconds", "Duration of review webhook requests in seconds, by HTTP status code.", "code", self._seen, _REVIEW)


def _histograms(
    name: str, help: str, label: str, found: dict[str, Histogram], bounds: tuple[float, ...]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, help, labels=(label,))
    for value, histogram in found.items():
        family.add_metric([value], cumulative(histogram, bounds), histogram.sum)
    return family
