"""Settings of an HTTPS listener, which the API server and the ports of the other components share."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from orchd.config.flag_values import FlagValues
from orchd.config.nearest import unknown
from orchd.config.values import NamedCertKey
from orchd.pki.tls_names import CIPHERS, TLS13


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """Without `cert_file` a certificate is generated in `cert_dir`. `min_tls` and `ciphers` are flag values; `ciphers`
    () means the secure suites. `http2_max_streams` 0 disables HTTP/2."""

    bind_address: IPv4Address | IPv6Address
    port: int
    cert_dir: str
    cert_file: str
    key_file: str
    sni: tuple[NamedCertKey, ...]
    min_tls: str
    ciphers: tuple[str, ...]
    share_port: bool
    share_address: bool
    http2_max_streams: int
    profiling: bool


def listener_members(flags: FlagValues, cert_dir: str, *, zero: str) -> dict[str, Any]:
    """The members of `ListenerSettings`. `zero` is the meaning of port 0, for the error. Raises FlagError."""
    cert, key = flags.pair("tls-cert-file", "tls-private-key-file")
    if not 0 <= flags["secure-port"] <= 65535:
        raise flags.error("secure-port", f"must be between 0 and 65535 (0: {zero})")
    address: IPv4Address | IPv6Address | None = flags["bind-address"]
    return {
        "bind_address": IPv4Address(0) if address is None else address,
        "port": flags["secure-port"],
        "cert_dir": cert_dir,
        "cert_file": cert,
        "key_file": key,
        "sni": flags["tls-sni-cert-key"],
        "min_tls": flags["tls-min-version"] or "VersionTLS12",
        "ciphers": _ciphers(flags),
        "share_port": flags["permit-port-sharing"],
        "share_address": flags["permit-address-sharing"],
        "http2_max_streams": flags.at_least("http2-max-streams-per-connection", 0),
        "profiling": flags["profiling"],
    }


def _ciphers(flags: FlagValues) -> tuple[str, ...]:
    """The configurable suites, without duplicates. Suites of TLS 1.3 are valid but always enabled."""
    name = "tls-cipher-suites"
    out: dict[str, None] = {}
    for suite in flags[name]:
        if suite in CIPHERS:
            out[suite] = None
        elif suite not in TLS13:
            raise flags.error(name, unknown("cipher suite", suite, [*CIPHERS, *TLS13]))
    if flags[name] and not out and flags["tls-min-version"] != "VersionTLS13":
        raise flags.error(name, "names only suites of TLS 1.3; add others or set --tls-min-version=VersionTLS13")
    return tuple(out)


def check_metrics(flags: FlagValues) -> None:
    """Check the flags that select metrics. Raises FlagError."""
    previous = flags.release.previous
    if flags["show-hidden-metrics-for-version"] not in ("", previous):
        text = f"must be omitted or have the value {previous}: only the previous release is allowed"
        raise flags.error("show-hidden-metrics-for-version", text)
    for key in flags["allow-metric-labels"]:
        metric, comma, label = key.partition(",")
        if not metric.strip() or not comma or not label.strip():
            raise flags.error("allow-metric-labels", f"{key!r} is not metric,label")
