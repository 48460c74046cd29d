"""The scheduler's configuration as frozen values, whatever version it was written in. Durations are seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from orchd.pki.url_users import split_user

#: Plain JSON data. Shared: never edited.
Json: TypeAlias = Mapping[str, Any]

SYSTEM_DEFAULTING, LIST_DEFAULTING = "System", "List"
LEAST_ALLOCATED, MOST_ALLOCATED = "LeastAllocated", "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class ConfigError(ValueError):
    """An invalid configuration; the text names the field and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    elect: bool
    lease_duration: float
    renew_deadline: float
    retry_period: float
    #: Kind of the lock: leases, endpoints, configmaps, or one of both moves between them.
    resource_lock: str
    resource_name: str
    resource_namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConnection:
    """`config_file` is the client configuration; "" for the default lookup. `qps` and `burst` throttle requests; a
    negative `qps` disables throttling."""

    config_file: str
    accept_content_types: str
    content_type: str
    qps: float
    burst: int


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin by name. `weight` is 0 if none was given."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class PluginSet:
    """Enabled and disabled plugins of one extension point, merged with the defaults. "*" among the disabled means
    all."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    name: str
    weight: int


@dataclass(frozen=True, slots=True)
class ShapePoint:
    """`score` of 0..10 at a `utilization` of 0..100."""

    utilization: int
    score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPreemptionArgs:
    min_candidate_nodes_percentage: int
    min_candidate_nodes_absolute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InterPodAffinityArgs:
    hard_pod_affinity_weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAffinityArgs:
    """`added_affinity` is a NodeAffinity object that every pod must satisfy as well, or None."""

    added_affinity: Json | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesBalancedAllocationArgs:
    resources: tuple[ResourceSpec, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringStrategy:
    """`shape` is None where no ratio was configured; only RequestedToCapacityRatio has one."""

    type: str
    resources: tuple[ResourceSpec, ...]
    shape: tuple[ShapePoint, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesFitArgs:
    ignored_resources: tuple[str, ...]
    ignored_resource_groups: tuple[str, ...]
    scoring_strategy: ScoringStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTopologySpreadArgs:
    """`default_constraints` are TopologySpreadConstraint objects without selectors."""

    default_constraints: tuple[Json, ...]
    defaulting_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeBindingArgs:
    bind_timeout_seconds: int
    shape: tuple[ShapePoint, ...]


@dataclass(frozen=True, slots=True)
class UntypedArgs:
    """Arguments of a plugin that this package does not know: JSON data as it was written, None without any."""

    data: Any


Arguments: TypeAlias = (
    DefaultPreemptionArgs | InterPodAffinityArgs | NodeAffinityArgs | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs | PodTopologySpreadArgs | VolumeBindingArgs | UntypedArgs
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PluginConfig:
    name: str
    args: Arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """`plugins` has a set for every extension point and for multiPoint, by their names in the configuration."""

    scheduler_name: str
    plugins: Mapping[str, PluginSet]
    plugin_config: tuple[PluginConfig, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderTls:
    """Data is PEM text."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


@dataclass(frozen=True, slots=True)
class ManagedResource:
    name: str
    ignored_by_scheduler: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderConfig:
    """An extender. A verb "" is not supported. `http_timeout` 0 stands for the default
    of 5 seconds."""

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls: ExtenderTls | None = None
    http_timeout: float = 0.0
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    @property
    def url(self) -> str:
        """`url_prefix` without user and password, which are sent in a header and shown nowhere."""
        return split_user(self.url_prefix)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfiguration:
    """`version` is the one in which it was written and is printed. `percentage_of_nodes_to_score` 0 is adaptive. The
    two addresses exist in v1beta2 only and name no port: insecure serving was removed."""

    version: str
    parallelism: int
    leader_election: LeaderElection
    client_connection: ClientConnection
    enable_profiling: bool
    enable_contention_profiling: bool
    percentage_of_nodes_to_score: int
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    profiles: tuple[Profile, ...]
    extenders: tuple[ExtenderConfig, ...] = ()
    healthz_bind_address: str = field(default="")
    metrics_bind_address: str = field(default="")
