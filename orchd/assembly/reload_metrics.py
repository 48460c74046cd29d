"""Metrics of configuration files that are reloaded, under the reference's names."""

from __future__ import annotations

import base64
import hashlib

from orchd.txkit.config_file_watcher import ReloadCounts, digest
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedGauge

_SERVER = "apiserver_id_hash"


def server_identity(hostname: str) -> str:
    """The name of the server on a host, as it would stand on the server's lease."""
    hashed = base64.b32encode(hashlib.sha256(hostname.encode()).digest()[:16])
    return f"apiserver-{hashed.decode().rstrip('=').lower()}"


def reload_instruments(sort: str, counts: ReloadCounts, server: str) -> tuple[Instrument, ...]:
    """Reloads of one file; `sort` is authentication or authorization, `server` the identity of this server."""
    prefix, label = f"apiserver_{sort}_config_controller", digest(server.encode())

    def reloads() -> dict[tuple[str, ...], float]:
        outcomes = (("success", counts.succeeded), ("failure", counts.failed))
        return {(status, label): float(count) for status, count in outcomes if count}

    def moments() -> dict[tuple[str, ...], float]:
        times = {"success": counts.last_success, "failure": counts.last_failure}
        return {(status, label): times[status] for status, label in reloads()}

    return (
        ObservedCounter(
            f"{prefix}_automatic_reloads_total",
            f"Reloads of the {sort} configuration, by status.",
            reloads,
            ("status", _SERVER),
        ),
        ObservedGauge(
            f"{prefix}_automatic_reload_last_timestamp_seconds",
            f"Time of the last reload of the {sort} configuration in epoch seconds, by status.",
            moments,
            ("status", _SERVER),
        ),
        ObservedGauge(
            f"{prefix}_last_config_info",
            f"1, with the digest of the {sort} configuration in use.",
            lambda: {(label, counts.digest): 1.0},
            (_SERVER, "hash"),
        ),
    )
