"""Connections of the server to node agents and to extension servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from orchd.config.flag_values import FlagValues

_ADDRESS_TYPES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """Connections to node agents: the CA of their certificates ("": not verified), the client certificate, the types of
    node addresses in order of preference, and the seconds that connecting may take. `bytes_per_second` limits
    connections to pods, too; 0 means no limit."""

    authority_file: str
    cert_file: str
    key_file: str
    address_types: tuple[str, ...]
    connect_seconds: float
    bytes_per_second: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationSettings:
    """Connections to extension servers: the client certificate ("" for none), and whether requests are routed to
    endpoint IPs instead of the cluster IP."""

    cert_file: str
    key_file: str
    by_endpoints: bool


def nodes(flags: FlagValues) -> NodeSettings:
    """Raises FlagError."""
    cert, key = flags.pair("{short}let-client-certificate", "{short}let-client-key")
    types: tuple[str, ...] = flags["{short}let-preferred-address-types"]
    for each in types:
        if each not in _ADDRESS_TYPES:
            raise flags.error(
                "{short}let-preferred-address-types", f"{each!r} is not one of {', '.join(_ADDRESS_TYPES)}"
            )
    if flags["{short}let-timeout"] <= 0:
        raise flags.error("{short}let-timeout", "must be above 0")
    return NodeSettings(
        authority_file=flags["{short}let-certificate-authority"],
        cert_file=cert,
        key_file=key,
        address_types=types,
        connect_seconds=flags["{short}let-timeout"],
        bytes_per_second=int(flags.at_least("max-connection-bytes-per-sec", 0)),
    )


def aggregation(flags: FlagValues) -> AggregationSettings:
    """Raises FlagError."""
    cert, key = flags.pair("proxy-client-cert-file", "proxy-client-key-file")
    return AggregationSettings(cert_file=cert, key_file=key, by_endpoints=flags["enable-aggregator-routing"])
