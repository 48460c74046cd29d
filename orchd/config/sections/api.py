"""Served versions and behavior of the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from orchd.config.flag_values import FlagValues
from orchd.config.sections.runtime import RuntimeConfig, parse_runtime_config
from orchd.config.values import parse_cidrs
from orchd.kinds import gates

_DEFAULT_SERVICE_RANGE: Final = "10.0.0.0/24"
#: Keys that turn off versions which flow control needs itself, and what else turns it off, by the release that begins
#: it.
_FLOW_CONTROL: Final = (
    (
        "",
        (
            (
                "flowcontrol.apiserver.{abbr}.io/v1beta2",
                "flowcontrol.apiserver.{abbr}.io/v1beta1",
                "api/beta",
                "api/all",
            ),
            " and --feature-gates=APIPriorityAndFairness=true",
        ),
    ),
    ("1.29", (("flowcontrol.apiserver.{abbr}.io/v1", "api/ga", "api/all"), "")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """Served versions and behavior of the API. `features` holds the gates with a given value; `service_node_port` 0:
    none."""

    runtime: RuntimeConfig
    features: Mapping[str, bool]
    service_cluster_ip_range: tuple[IPv4Network | IPv6Network, ...]
    service_node_port_range: tuple[int, int]
    service_node_port: int
    allow_privileged: bool
    delete_collection_workers: int
    #: How the endpoints of the API service are maintained (lease, master-count or none), and the number of servers.
    endpoint_reconciler_type: str
    apiserver_count: int
    enable_garbage_collector: bool
    #: Seconds that the identity lease of a server is valid, and between its renewals.
    identity_lease: tuple[int, int]


def api(flags: FlagValues) -> ApiSettings:
    """Raises FlagError."""
    runtime = _runtime(flags)
    ports: tuple[int, int] = flags["service-node-port-range"]
    port = flags["{long}-service-node-port"]
    if port and not ports[0] <= port <= ports[1]:
        raise flags.error(
            "{long}-service-node-port", f"{port} is outside --service-node-port-range {ports[0]}-{ports[1]}"
        )
    return ApiSettings(
        runtime=runtime,
        features=flags.features,
        service_cluster_ip_range=_service_ranges(flags),
        service_node_port_range=ports,
        service_node_port=port,
        allow_privileged=flags["allow-privileged"],
        delete_collection_workers=flags.at_least("delete-collection-workers", 1),
        enable_garbage_collector=flags["enable-garbage-collector"],
        endpoint_reconciler_type=flags["endpoint-reconciler-type"],
        apiserver_count=flags.at_least("apiserver-count", 1),
        identity_lease=(
            flags.at_least("identity-lease-duration-seconds", 1),
            flags.at_least("identity-lease-renew-interval-seconds", 1),
        ),
    )


def _runtime(flags: FlagValues) -> RuntimeConfig:
    try:
        runtime = parse_runtime_config(flags.dialect, flags.release, flags["runtime-config"])
    except ValueError as error:
        raise flags.error("runtime-config", str(error)) from None
    flags.warnings += [f"--runtime-config: {text}" for text in runtime.warnings]
    if flags["enable-priority-and-fairness"] and gates.enabled(flags.features, "APIPriorityAndFairness", flags.release):
        keys, gate = flags.release.choose(_FLOW_CONTROL)
        for key in map(flags.dialect, keys):
            if flags["runtime-config"].get(key) == "false":
                why = f"conflicts with --enable-priority-and-fairness=true{gate}"
                raise flags.error("runtime-config", f"{key}=false {why}")
    return runtime


def _service_ranges(flags: FlagValues) -> tuple[IPv4Network | IPv6Network, ...]:
    name = "service-cluster-ip-range"
    ranges: tuple[IPv4Network | IPv6Network, ...] = flags[name] or parse_cidrs(_DEFAULT_SERVICE_RANGE)
    if len(ranges) > 2:
        raise flags.error(name, "takes one range, or two of different IP families")
    if len(ranges) == 2 and ranges[0].version == ranges[1].version:
        raise flags.error(name, "two ranges must be of different IP families")
    for network in ranges:
        bits = network.max_prefixlen - network.prefixlen
        if bits > 20 and network.version == 4:
            raise flags.error(name, f"{network} is too large: the mask must be at least /12")
        if bits < 3:
            raise flags.error(name, f"{network} is too small: it must have at least 8 addresses")
    return ranges
