"""Metrics of token issuers, under the reference's names. Issuers are shown as digests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric

from orchd.txkit.config_file_watcher import digest
from orchd.txkit.histogram import Histogram, cumulative

_BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_PREFIX = "apiserver_authentication_jwt_authenticator"
_ISSUER, _SERVER = "jwt_issuer_hash", "apiserver_id_hash"


class JwtMetrics:
    """Authentications and fetches of key sets, by issuer. `server` is the identity of this server, `wall` returns epoch
    seconds."""

    def __init__(self, server: str, wall: Callable[[], float]) -> None:
        self._server, self._wall = digest(server.encode()), wall
        self._durations: dict[tuple[str, str], Histogram] = {}
        self._fetches: dict[tuple[str, str], float] = {}
        self._keys: dict[str, str] = {}

    def authenticated(self, issuer: str, ok: bool, seconds: float) -> None:
        """Record the authentication of a token of `issuer`."""
        key = "success" if ok else "failure", digest(issuer.encode())
        self._durations.setdefault(key, Histogram(_BOUNDS)).observe(_BOUNDS, seconds)

    def fetched(self, issuer: str, keys: bytes | None) -> None:
        """Record a fetch of the key set of `issuer`, None for one that failed."""
        name = digest(issuer.encode())
        self._fetches["failure" if keys is None else "success", name] = self._wall()
        if keys is not None:
            self._keys[name] = digest(keys)

    def keep(self, issuers: Collection[str]) -> None:
        """Drop the fetches of issuers that are no longer configured."""
        kept = {digest(issuer.encode()) for issuer in issuers}
        self._fetches = {key: moment for key, moment in self._fetches.items() if key[1] in kept}
        self._keys = {name: value for name, value in self._keys.items() if name in kept}

    def families(self) -> Iterator[Metric]:
        durations = HistogramMetricFamily(
            f"{_PREFIX}_latency_seconds",
            "Duration of authentications of tokens of issuers in seconds, without those from the cache.",
            labels=("result", _ISSUER),
        )
        for labels, histogram in self._durations.items():
            durations.add_metric(labels, cumulative(histogram, _BOUNDS), histogram.sum)
        yield durations
        fetches = GaugeMetricFamily(
            f"{_PREFIX}_jwks_fetch_last_timestamp_seconds",
            "Time of the last fetch of an issuer's key set in epoch seconds, by result.",
            labels=("result", _ISSUER, _SERVER),
        )
        for labels, moment in self._fetches.items():
            fetches.add_metric([*labels, self._server], moment)
        yield fetches
        keys = GaugeMetricFamily(
            f"{_PREFIX}_jwks_fetch_last_key_set_info",
            "1, with the digest of an issuer's key set.",
            labels=(_ISSUER, _SERVER, "hash"),
        )
        for issuer, value in self._keys.items():
            keys.add_metric([issuer, self._server, value], 1.0)
        yield keys
