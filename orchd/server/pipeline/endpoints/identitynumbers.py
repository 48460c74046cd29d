"""Numbers of authentication and authorization, kept plainly and shown under the reference's names."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.dialect import Dialect
from orchd.server.pipeline.endpoints.metrics import cumulative
from orchd.txkit.histogram import Histogram

#: Upper bounds in seconds: of authenticating, of a look-up in the cache, of a review by a service outside.
_AUTHENTICATION = tuple(0.001 * 2**i for i in range(15))
_CACHE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_REVIEW = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)
_RESULTS = {"success": "success", "failure": "error"}


class AuthenticationNumbers:
    """Attempts by result, how long they took, and known senders. `observe` is what the chain calls."""

    def __init__(self, dialect: Dialect) -> None:
        account = f"system:serviceaccount:{dialect.system_namespace}:default"
        self._known = frozenset(("admin", "client", dialect("{short}_proxy"), dialect("{short}let"), account))
        self._attempts: dict[str, int] = {}
        self._durations: dict[str, Histogram] = {}
        self._users: dict[str, int] = {}

    def observe(self, outcome: str, user: str, seconds: float) -> None:
        """`outcome` is "success", "failure" for a wrong credential, or "unknown"; `user` is a name, "" without one."""
        result = _RESULTS.get(outcome, "failure")
        self._attempts[result] = self._attempts.get(result, 0) + 1
        histogram = self._durations.get(result)
        if histogram is None:
            histogram = self._durations[result] = Histogram(_AUTHENTICATION)
        histogram.observe(_AUTHENTICATION, seconds)
        if outcome == "success":
            # Names are many, and nobody's business here: only those of the system's own are told apart.
            label = user if user in self._known else "email_id" if "@" in user else "other"
            self._users[label] = self._users.get(label, 0) + 1

    def families(self) -> Iterator[Metric]:
        # The reference's names have no _total; a gauge is the only family that leaves a name as it is.
        attempts = GaugeMetricFamily("authentication_attempts", "Attempts to authenticate, by result.", labels=("result",))
        for result, count in self._attempts.items():
            attempts.add_metric([result], float(count))
        yield attempts
        users = GaugeMetricFamily("authenticated_user_requests", "Known senders, by sort of name.", labels=("username",))
        for name, count in self._users.items():
            users.add_metric([name], float(count))
        yield users
        yield _histograms(
            "authentication_duration_seconds", "Time spent on knowing senders.", "result", self._durations, _AUTHENTICATION
        )


class TokenCacheNumbers:
    """What the caches of bearer tokens do."""

    def __init__(self) -> None:
        self._asked: dict[str, Histogram] = {}
        self._fetched: dict[str, int] = {}
        self._active: dict[str, int] = {"in_flight": 0, "blocked": 0}

    def asked(self, hit: bool, seconds: float) -> None:
        histogram = self._asked.setdefault("hit" if hit else "miss", Histogram(_CACHE))
        histogram.observe(_CACHE, seconds)

    def fetched(self, ok: bool) -> None:
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


class ReviewNumbers:
    """Calls of one reviewing service; `sort` is authn or authz."""

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
