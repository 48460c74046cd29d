"""Settings that algorithms over objects depend on, passed in as a frozen value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from orchd.dialect import Dialect
from orchd.kinds import gates
from orchd.kinds.release import SPECIFICATION, Release


def _ignore(seconds: float) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTimes:
    """Called with the seconds that compiling the rules of one place of a schema took, evaluating them for one value,
    and comparing an updated object with the stored one. May be called in any thread."""

    compilation: Callable[[float], None] = _ignore
    evaluation: Callable[[float], None] = _ignore
    comparison: Callable[[float], None] = _ignore


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSettings:
    """`service_cidrs` are the ranges of cluster IPs (one per IP family, the first is the default family), `node_ports`
    the inclusive range of node ports, `features` the feature gates that were given, by their names in
    `orchd.kinds.gates`, `garbage_collection` whether deletions can have a propagation policy, `keep_nulls` whether null
    members of custom objects that may not be null are left for validation to refuse. `disabled` are the gates that are
    off; `rule_times` records durations of rules of custom kinds."""

    dialect: Dialect
    release: Release = SPECIFICATION
    allow_privileged: bool = False
    service_cidrs: tuple[IPv4Network | IPv6Network, ...] = (ip_network("10.0.0.0/24"),)
    node_ports: tuple[int, int] = (30000, 32767)
    features: Mapping[str, bool] = field(default_factory=dict)
    garbage_collection: bool = True
    keep_nulls: bool = False
    rule_times: RuleTimes = field(default=RuleTimes(), repr=False)
    disabled: frozenset[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "disabled", gates.disabled(self.features, self.release))

    def feature(self, name: str) -> bool:
        """True if a feature gate is on. Raises KeyError for an unknown one."""
        return gates.enabled(self.features, name, self.release)
