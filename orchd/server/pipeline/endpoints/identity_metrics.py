"""Authentication and authorization metrics under the reference's names."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints.metrics import cumulative
from orchd.txkit.histogram import Histogram

#: Histogram bucket upper bounds in seconds: authentication, token cache lookups, remaining certificate lifetime, remote
#: reviews.
_AUTHENTICATION = tuple(0.001 * 2**i for i in range(15))
_CACHE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EXPIRY = tuple(
    float(hours * 3600) for hours in (0, 0.5, 1, 2, 6, 12, 24, 48, 96, 168, 30 * 24, 3 * 30 * 24, 6 * 30 * 24, 12 * 30 * 24)
)
_REVIEW = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)
_RESULTS = {"success": "success", "failure": "error", "unknown": "failure"}


class AuthenticationMetrics:
    """Attempts by result, their durations, and authenticated requests by user name class. The chain calls `observe`."""

    def __init__(self, dialect: Dialect) -> None:
        account = f"system:serviceaccount:{dialect.system_namespace}:default"
        self._known = frozenset(("admin", "client", dialect("{short}_proxy"), dialect("{short}let"), account))
        self._durations = {result: Histogram(_AUTHENTICATION) for result in ("success", "error", "failure")}
        self._users = dict.fromkeys((*self._known, "email_id", "other"), 0)
        self._certificates = Histogram(_EXPIRY)

    def certificate(self, seconds: float) -> None:
        """Observe a client certificate with its remaining lifetime."""
        self._certificates.observe(_EXPIRY, seconds)

    def observe(self, outcome: str, user: str, seconds: float) -> None:
        """`outcome` is "success", "failure" for a wrong credential, or "unknown"; `user` is a name, "" without one."""
        self._durations[_RESULTS[outcome]].observe(_AUTHENTICATION, seconds)
        if outcome == "success":
            # User names are unbounded and private: only names of system users are distinguished, by class.
            self._users[user if user in self._known else "email_id" if "@" in user else "other"] += 1

    def families(self) -> Iterator[Metric]:
        # The reference's names have no _total suffix; only a gauge family keeps the name unchanged.
        attempts = GaugeMetricFamily("authentication_attempts", "Attempts to authenticate, by result.", labels=("result",))
        known = {result: histogram for result, histogram in self._durations.items() if any(histogram.counts)}
        for result, histogram in known.items():
            attempts.add_metric([result], float(sum(histogram.counts)))
        yield attempts
        users = GaugeMetricFamily("authenticated_user_requests", "Known senders, by sort of name.", labels=("username",))
        for name, count in self._users.items():
            if count:
                users.add_metric([name], float(count))
        yield users
        yield _histograms(
            "authentication_duration_seconds", "Time spent on knowing senders.", "result", known, _AUTHENTICATION
        )
        certificates = HistogramMetricFamily(
            "apiserver_client_certificate_expiration_seconds", "Life left to the client certificates of requests."
        )
        certificates.add_metric([], cumulative(self._certificates, _EXPIRY), self._certificates.sum)
        yield certificates


class TokenCacheMetrics:
    """Metrics of the bearer token caches."""

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
            "authentication_token_cache_request", "Tokens looked up in the cache.", labels=("status",)
        )
        for status, histogram in self._asked.items():
            requests.add_metric([status], float(sum(histogram.counts)))
        yield requests
        yield _histograms(
            "authentication_token_cache_request_duration_seconds", "Time until a token was known.", "status", self._asked, _CACHE
        )
        fetched = CounterMetricFamily(
            "authentication_token_cache_fetch", "Tokens that had to be looked up elsewhere.", labels=("status",)
        )
        for status, count in self._fetched.items():
            fetched.add_metric([status], float(count))
        yield fetched
        active = GaugeMetricFamily(
            "authentication_token_cache_active_fetch_count", "Look-ups under way, and who waits for them.", labels=("status",)
        )
        for status, count in self._active.items():
            active.add_metric([status], float(count))
        yield active


class ReviewMetrics:
    """Metrics of one remote review service; `sort` is authn or authz."""

    def __init__(self, sort: str) -> None:
        self._name = f"apiserver_delegated_{sort}_request"
        self._seen: dict[str, Histogram] = {}

    def observe(self, code: str, seconds: float) -> None:
        """`code` is the HTTP status, ``<error>`` without one."""
        self._seen.setdefault(code, Histogram(_REVIEW)).observe(_REVIEW, seconds)

    def families(self) -> Iterator[Metric]:
        total = CounterMetricFamily(self._name, "Reviews by a service outside.", labels=("code",))
        for code, histogram in self._seen.items():
            total.add_metric([code], float(sum(histogram.counts)))
        yield total
        yield _histograms(f"{self._name}_duration_seconds", "Time of reviews by a service outside.", "code", self._seen, _REVIEW)


def _histograms(
    name: str, help: str, label: str, found: dict[str, Histogram], bounds: tuple[float, ...]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, help, labels=(label,))
    for value, histogram in found.items():
        family.add_metric([value], cumulative(histogram, bounds), histogram.sum)
    return family
