"""Metrics of authentication, under the reference's names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from orchd.dialect import Dialect
from orchd.txkit.config_file_watcher import digest
from orchd.txkit.metrics.instruments import Counter, Distribution, Gauge, ObservedCounter, ObservedGauge

#: Bucket bounds in seconds: of authentication, token cache lookups, remaining certificate lifetime, tokens of issuers.
_AUTHENTICATION: Final = tuple(0.001 * 2**i for i in range(15))
_CACHE: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EXPIRY: Final = tuple(
    float(hours * 3600)
    for hours in (0, 0.5, 1, 2, 6, 12, 24, 48, 96, 168, 30 * 24, 3 * 30 * 24, 6 * 30 * 24, 12 * 30 * 24)
)
_ISSUERS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_RESULTS: Final = {"success": "success", "failure": "error", "unknown": "failure"}
_TOKEN_CACHE: Final = "authentication_token_cache_"
_JWT: Final = "apiserver_authentication_jwt_authenticator_"


class AuthenticationMetrics:
    """Authentication attempts by result and duration, and authenticated requests by user name class.

    The authenticator chain calls `observe`.
    """

    def __init__(self, dialect: Dialect) -> None:
        account = f"system:serviceaccount:{dialect.system_namespace}:default"
        self._system_users = frozenset(("admin", "client", dialect("{short}_proxy"), dialect("{short}let"), account))
        self._seconds = Distribution(
            "authentication_duration_seconds",
            "Duration of authentication in seconds, by result.",
            _AUTHENTICATION,
            ("result",),
        )
        self._users = Counter(
            "authenticated_user_requests", "Authenticated requests, by user name class.", ("username",)
        )
        self._certificates = Distribution(
            "apiserver_client_certificate_expiration_seconds",
            "Remaining lifetime of the client certificates of requests in seconds.",
            _EXPIRY,
        )
        attempts = ObservedCounter(
            "authentication_attempts", "Authentication attempts, by result.", self._seconds.totals, ("result",)
        )
        self.instruments = (attempts, self._users, self._seconds, self._certificates)

    def certificate(self, seconds: float) -> None:
        """Record the remaining lifetime in seconds of a request's client certificate."""
        self._certificates.observe(seconds)

    def observe(self, outcome: str, user: str, seconds: float) -> None:
        """`outcome` is "success", "failure" for a wrong credential, or "unknown"; `user` is a name, "" without one."""
        self._seconds.observe(seconds, _RESULTS[outcome])
        if outcome == "success":
            # Only names of system users have their own series: others are unbounded, and private.
            self._users.add(user if user in self._system_users else "email_id" if "@" in user else "other")


class TokenCacheMetrics:
    """Requests to the caches of bearer tokens, and lookups by the methods that they wrap. `active` lookups are
    ``in_flight``, and requests that wait for one are ``blocked``."""

    def __init__(self) -> None:
        status = ("status",)
        self._seconds = Distribution(
            f"{_TOKEN_CACHE}request_duration_seconds",
            "Duration of token cache lookups in seconds, including fetches, by result.",
            _CACHE,
            status,
        )
        self._lookups = Counter(f"{_TOKEN_CACHE}fetch_total", "Fetches of the token cache, by result.", status)
        self._active = Gauge(
            f"{_TOKEN_CACHE}active_fetch_count",
            "Active fetches of the token cache, and requests that wait for one.",
            status,
        )
        self._active.values.update({("in_flight",): 0.0, ("blocked",): 0.0})
        requests = ObservedCounter(
            f"{_TOKEN_CACHE}request_total", "Token cache lookups, by result.", self._seconds.totals, status
        )
        self.instruments = (requests, self._seconds, self._lookups, self._active)

    def count_request(self, hit: bool, seconds: float) -> None:
        """Count a request with its duration."""
        self._seconds.observe(seconds, "hit" if hit else "miss")

    def count_lookup(self, ok: bool) -> None:
        """Count a lookup by the wrapped method, and whether it succeeded."""
        self._lookups.add("ok" if ok else "error")

    def active(self, what: str, change: int) -> None:
        """`what` is "in_flight" for lookups, "blocked" for requests that wait for one."""
        self._active.set(self._active.values.get((what,), 0.0) + change, what)


class JwtMetrics:
    """Authentications and fetches of key sets, by issuer. Issuers are shown as digests. `server` is the identity of
    this server, `wall` returns epoch seconds."""

    def __init__(self, server: str, wall: Callable[[], float]) -> None:
        self._server, self._wall = digest(server.encode()), wall
        self._keys: dict[str, str] = {}
        issuer, by_server = "jwt_issuer_hash", "apiserver_id_hash"
        self._seconds = Distribution(
            f"{_JWT}latency_seconds",
            "Duration of authentications of tokens of issuers in seconds, without those from the cache.",
            _ISSUERS,
            ("result", issuer),
        )
        self._fetches = Gauge(
            f"{_JWT}jwks_fetch_last_timestamp_seconds",
            "Time of the last fetch of an issuer's key set in epoch seconds, by result.",
            ("result", issuer, by_server),
        )
        keys = ObservedGauge(
            f"{_JWT}jwks_fetch_last_key_set_info",
            "1, with the digest of an issuer's key set.",
            lambda: {(name, self._server, keys): 1.0 for name, keys in self._keys.items()},
            (issuer, by_server, "hash"),
        )
        self.instruments = (self._seconds, self._fetches, keys)

    def authenticated(self, issuer: str, ok: bool, seconds: float) -> None:
        """Record the authentication of a token of `issuer`."""
        self._seconds.observe(seconds, "success" if ok else "failure", digest(issuer.encode()))

    def fetched(self, issuer: str, keys: bytes | None) -> None:
        """Record a fetch of the key set of `issuer`, None for one that failed."""
        name = digest(issuer.encode())
        self._fetches.set(self._wall(), "failure" if keys is None else "success", name, self._server)
        if keys is not None:
            self._keys[name] = digest(keys)

    def keep(self, issuers: Collection[str]) -> None:
        """Drop the fetches of issuers that are no longer configured."""
        kept = {digest(issuer.encode()) for issuer in issuers}
        self._fetches.values = {key: moment for key, moment in self._fetches.values.items() if key[1] in kept}
        self._keys = {name: value for name, value in self._keys.items() if name in kept}
