"""Conversion of versioned data to the values of `model`, with defaults."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address
from typing import Any, Final, Protocol

from orchd.dialect import Dialect
from orchd.kinds.gotext.durations import parse_seconds
from orchd.scheduler.config import arguments, pluginsets
from orchd.scheduler.config.model import (
    Arguments,
    ClientConnection,
    ExtenderConfig,
    ExtenderTls,
    Json,
    LeaderElection,
    ManagedResource,
    PluginConfig,
    Profile,
    SchedulerConfiguration,
)

#: Scheduler name of a single profile without one.
DEFAULT_SCHEDULER: Final = "default-scheduler"


class ReadArguments(Protocol):
    """Reads the arguments in a profile's list of plugin configurations."""

    def __call__(
        self, profile: int, index: int, plugin: str, arguments: Any, read: Callable[[Any], Arguments]
    ) -> Arguments:
        """`read` converts data of the arguments' type."""


def configuration(
    section: Json, version: str, dialect: Dialect, read_args: ReadArguments, features: Mapping[str, bool]
) -> SchedulerConfiguration:
    profiles = list(section.get("profiles") or ({},))
    profiling = section.get("enableProfiling", True)
    return SchedulerConfiguration(
        version=version,
        parallelism=section.get("parallelism", 16),
        leader_election=_leader_election(section["leaderElection"], dialect),
        client_connection=_client_connection(section["clientConnection"], dialect),
        enable_profiling=profiling,
        enable_contention_profiling=section.get("enableContentionProfiling", profiling),
        percentage_of_nodes_to_score=section.get("percentageOfNodesToScore", 0),
        pod_initial_backoff_seconds=section.get("podInitialBackoffSeconds", 1),
        pod_max_backoff_seconds=section.get("podMaxBackoffSeconds", 10),
        profiles=tuple(
            _profile(each, at, version, read_args, DEFAULT_SCHEDULER if len(profiles) == 1 else "", features)
            for at, each in enumerate(profiles)
        ),
        extenders=tuple(map(_extender, section.get("extenders") or ())),
        healthz_bind_address=_address(section.get("healthzBindAddress", "")),
        metrics_bind_address=_address(section.get("metricsBindAddress", "")),
    )


def _seconds(text: str, default: float = 0.0) -> float:
    return parse_seconds(text) or default


def _leader_election(section: Json, dialect: Dialect) -> LeaderElection:
    elect = section.get("leaderElect")
    return LeaderElection(
        elect=True if elect is None else elect,
        lease_duration=_seconds(section["leaseDuration"], 15.0),
        renew_deadline=_seconds(section["renewDeadline"], 10.0),
        retry_period=_seconds(section["retryPeriod"], 2.0),
        resource_lock=section["resourceLock"] or "leases",
        resource_name=section["resourceName"] or dialect("{short}-scheduler"),
        resource_namespace=section["resourceNamespace"] or dialect.system_namespace,
    )


def _client_connection(section: Json, dialect: Dialect) -> ClientConnection:
    return ClientConnection(
        config_file=section[dialect.config_file_kind],
        accept_content_types=section["acceptContentTypes"],
        content_type=section["contentType"] or dialect.protobuf,
        qps=section["qps"] or 50.0,
        burst=section["burst"] or 100,
    )


def _profile(
    section: Json, at: int, version: str, read_args: ReadArguments, name: str, features: Mapping[str, bool]
) -> Profile:
    plugins = pluginsets.merged(version, section.get("plugins"), features)
    configs = [
        PluginConfig(
            each["name"],
            read_args(at, index, each["name"], each.get("args"), partial(arguments.read, each["name"], features)),
        )
        for index, each in enumerate(section.get("pluginConfig") or ())
    ]
    configured = {each.name for each in configs}
    for plugin in pluginsets.names(plugins):
        args = arguments.default(plugin, features)
        if plugin not in configured and args is not None:
            configs.append(PluginConfig(plugin, args))
    return Profile(scheduler_name=section.get("schedulerName", name), plugins=plugins, plugin_config=tuple(configs))


def _extender(section: Json) -> ExtenderConfig:
    tls = section.get("tlsConfig")
    return ExtenderConfig(
        url_prefix=section["urlPrefix"],
        filter_verb=section.get("filterVerb", ""),
        preempt_verb=section.get("preemptVerb", ""),
        prioritize_verb=section.get("prioritizeVerb", ""),
        weight=section.get("weight", 0),
        bind_verb=section.get("bindVerb", ""),
        enable_https=section.get("enableHTTPS", False),
        tls=None if tls is None else _tls(tls),
        http_timeout=_seconds(section["httpTimeout"]),
        node_cache_capable=section.get("nodeCacheCapable", False),
        managed_resources=tuple(
            ManagedResource(each["name"], each.get("ignoredByScheduler", False))
            for each in section.get("managedResources") or ()
        ),
        ignorable=section.get("ignorable", False),
    )


def _tls(section: Json) -> ExtenderTls:
    return ExtenderTls(
        insecure=section.get("insecure", False),
        server_name=section.get("serverName", ""),
        cert_file=section.get("certFile", ""),
        key_file=section.get("keyFile", ""),
        ca_file=section.get("caFile", ""),
        cert_data=base64.b64decode(section.get("certData", "")),
        key_data=base64.b64decode(section.get("keyData", "")),
        ca_data=base64.b64decode(section.get("caData", "")),
    )


def _address(address: str) -> str:
    """An address with host and port: the host is every address where none was given, the port 0. What is neither stays
    for validation to refuse."""
    if not address:
        return ""
    try:
        host = ip_address(address)
    except ValueError:
        return f"0.0.0.0{address}" if address.startswith(":") else address
    return f"[{host}]:0" if host.version == 6 else f"{host}:0"
