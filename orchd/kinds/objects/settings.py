"""Settings that algorithms over objects depend on, passed in as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from orchd.dialect import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSettings:
    """`service_cidrs` are the ranges of cluster IPs (one per IP family, the first is the default family), `node_ports`
    the inclusive range of node ports, `features` the configured feature gates, `garbage_collection` whether deletions can
    have a propagation policy."""

    dialect: Dialect
    allow_privileged: bool = False
    service_cidrs: tuple[IPv4Network | IPv6Network, ...] = (ip_network("10.0.0.0/24"),)
    node_ports: tuple[int, int] = (30000, 32767)
    features: Mapping[str, bool] = field(default_factory=dict)
    garbage_collection: bool = True

    def feature(self, name: str, default: bool) -> bool:
        """True if a feature gate is enabled. `default` is its default in release 1.23."""
        return self.features.get(name, default)
