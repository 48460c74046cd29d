"""Metrics of configuration files that are reloaded, under the reference's names."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from orchd.server.pipeline.endpoints.metrics import Source
from orchd.txkit.config_file_watcher import ReloadCounts, digest

_SERVER = "apiserver_id_hash"


def server_identity(hostname: str) -> str:
    """The name of the server on a host, as it would stand on the server's lease."""
    hashed = base64.b32encode(hashlib.sha256(hostname.encode()).digest()[:16])
    return f"apiserver-{hashed.decode().rstrip('=').lower()}"


def reload_metrics(sort: str, counts: ReloadCounts, server: str) -> Source:
    """Reloads of one file; `sort` is authentication or authorization, `server` the identity of this server."""
    prefix, label = f"apiserver_{sort}_config_controller", digest(server.encode())

    def families() -> Iterable[Metric]:
        return _families(prefix, sort, counts, label)

    return families


def _families(prefix: str, sort: str, counts: ReloadCounts, server: str) -> Iterator[Metric]:
    outcomes = (("success", counts.succeeded, counts.last_success), ("failure", counts.failed, counts.last_failure))
    reloads = CounterMetricFamily(
        f"{prefix}_automatic_reloads", f"Reloads of the {sort} configuration, by status.", labels=("status", _SERVER)
    )
    moments = GaugeMetricFamily(
        f"{prefix}_automatic_reload_last_timestamp_seconds",
        f"Time of the last reload of the {sort} configuration in epoch seconds, by status.",
        labels=("status", _SERVER),
    )
    for status, count, moment in outcomes:
        if count:
            reloads.add_metric([status, server], float(count))
            moments.add_metric([status, server], moment)
    yield reloads
    yield moments
    info = GaugeMetricFamily(
        f"{prefix}_last_config_info", f"1, with the digest of the {sort} configuration in use.", labels=(_SERVER, "hash")
    )
    info.add_metric([server, counts.digest], 1.0)
    yield info
