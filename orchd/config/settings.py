"""Frozen settings of the server, by group.

Durations are seconds. A file name is "" if its flag was not given; generated files are stored below `data_dir`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Any

from orchd.config import choices
from orchd.config.audit import AuditSettings
from orchd.config.identity import AuthenticationSettings, AuthorizationSettings
from orchd.config.leader_election import ElectionSettings
from orchd.config.listener import ListenerSettings
from orchd.config.runtime import RuntimeConfig
from orchd.config.verbosity import Verbosity
from orchd.dialect import Dialect
from orchd.kinds.objects.settings import ObjectSettings

if TYPE_CHECKING:
    from orchd.config.options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Names that flags may select: implemented built-ins and installed drop-ins. Names that are in the tables but not
    here are rejected as not built yet."""

    admission_plugins: frozenset[str] = frozenset(choices.ADMISSION_PLUGINS)
    authorizers: frozenset[str] = frozenset(choices.AUTHORIZERS)
    controllers: frozenset[str] = frozenset(choices.CONTROLLERS_BUILT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSettings(ListenerSettings):
    """The listener of the API server and the limits of requests. `ui` selects the clients that get the web page: auto, true or
    false."""

    advertise_address: IPv4Address | IPv6Address | None
    external_hostname: str
    cors_allowed_origins: tuple[re.Pattern[str], ...]
    strict_transport_security: tuple[str, ...]
    max_requests: int
    max_mutating_requests: int
    priority_and_fairness: bool
    request_timeout: float
    min_watch_timeout: int
    livez_grace: float
    shutdown_delay: float
    shutdown_retry_after: bool
    ui: str
    #: Probability that a request over HTTP/2 has its client told to connect anew.
    goaway_chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionSettings:
    """Enabled admission plugins, in the reference's order, then drop-ins by name; and their configuration."""

    plugins: tuple[str, ...]
    config_file: str
    not_ready_toleration_seconds: int
    unreachable_toleration_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdSettings:
    """Connection to etcd. Files are "" if not given."""

    servers: tuple[str, ...]
    prefix: str
    ca_file: str
    cert_file: str
    key_file: str
    health_timeout: float
    lease_reuse: float
    size_interval: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """The store and its history. `compaction_interval` 0 disables compaction. History is retained for `history_duration`
    seconds, in the embedded store for `history_events` changes at most. `etcd` is None for the embedded store."""

    data_dir: str
    backend: str
    compaction_interval: float
    history_duration: float
    history_events: int
    event_ttl: float
    #: True to serve the number of objects of each resource as a metric.
    counted: bool
    encryption_file: str
    etcd: EtcdSettings | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """Served versions and behavior of the API. `features` holds the gates with a given value; `service_node_port` 0: none."""

    runtime: RuntimeConfig
    features: Mapping[str, bool]
    service_ranges: tuple[IPv4Network | IPv6Network, ...]
    node_ports: tuple[int, int]
    service_node_port: int
    allow_privileged: bool
    delete_collection_workers: int
    #: How the endpoints of the API service are maintained (lease, master-count or none), and the number of servers.
    endpoint_reconciler: str
    server_count: int
    garbage_collection: bool
    #: Seconds that the identity lease of a server is valid, and between its renewals.
    identity_lease: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentFlags:
    """Flags of one component in this process: all values, and the names of the flags that were given."""

    values: Mapping[str, Any]
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """`names` are the enabled controllers, which run in the process that `election` elects. `flags` are the values that controllers read."""

    names: tuple[str, ...]
    election: ElectionSettings
    flags: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """`enabled` runs the scheduler in the process; `config_file` is "" for the defaults. `flags` are the values of the scheduler's flags; those in
    `given` override the leader election in the file."""

    enabled: bool
    config_file: str
    flags: Mapping[str, Any]
    given: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """Connections to node agents: the CA of their certificates ("": not verified), the client certificate, the types
    of node addresses in order of preference, and the seconds that connecting may take. `bytes_per_second` limits connections
    to pods, too; 0 means no limit."""

    authority_file: str
    cert_file: str
    key_file: str
    address_types: tuple[str, ...]
    connect_seconds: float
    bytes_per_second: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationSettings:
    """Connections to extension servers: the client certificate ("" for none), and whether requests are routed to endpoint
    IPs instead of the cluster IP."""

    cert_file: str
    key_file: str
    by_endpoints: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of the server. `warnings` are logged at start."""

    dialect: Dialect
    #: The name of the dialect if --dialect was given.
    dialect_given: str | None
    serving: ServingSettings
    authentication: AuthenticationSettings
    authorization: AuthorizationSettings
    admission: AdmissionSettings
    storage: StorageSettings
    api: ApiSettings
    controllers: ControllerSettings
    scheduler: SchedulerSettings
    audit: AuditSettings
    aggregation: AggregationSettings
    nodes: NodeSettings
    verbosity: Verbosity
    tracing_file: str = ""
    egress_file: str = ""
    #: Values of all flags by their names in the tables, for drop-ins.
    flags: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = field(default=())


def from_options(options: Options) -> Settings:
    """The settings of `options`. Parses an empty command line first if the options have not been parsed."""
    if options.settings is None:
        options.parseOptions(())
    assert options.settings is not None
    return options.settings


def object_settings(settings: Settings) -> ObjectSettings:
    """The subset of settings that algorithms over objects depend on."""
    return ObjectSettings(
        dialect=settings.dialect,
        allow_privileged=settings.api.allow_privileged,
        service_cidrs=settings.api.service_ranges,
        node_ports=settings.api.node_ports,
        features=settings.api.features,
        garbage_collection=settings.api.garbage_collection,
    )
