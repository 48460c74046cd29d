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
        self, profile: int, index: int, plugin: str, given: Any, read: Callable[[Any], Arguments]
    ) -> Arguments:
        """`read` converts data of the arguments' type."""


def configuration(
    given: Json, version: str, dialect: Dialect, read_args: ReadArguments, features: Mapping[str, bool]
) -> SchedulerConfiguration:
    profiles = list(given.get("profiles") or ({},))
    profiling = given.get("enableProfiling", True)
    return SchedulerConfiguration(
        version=version,
        parallelism=given.get("parallelism", 16),
        leader_election=_leader_election(given["leaderElection"], dialect),
        client_connection=_client_connection(given["clientConnection"], dialect),
        enable_profiling=profiling,
        enable_contention_profiling=given.get("enableContentionProfiling", profiling),
        percentage_of_nodes_to_score=given.get("percentageOfNodesToScore", 0),
        pod_initial_backoff_seconds=given.get("podInitialBackoffSeconds", 1),
        pod_max_backoff_seconds=given.get("podMaxBackoffSeconds", 10),
        profiles=tuple(
            _profile(each, at, version, read_args, DEFAULT_SCHEDULER if len(profiles) == 1 else "", features)
            for at, each in enumerate(profiles)
        ),
        extenders=tuple(map(_extender, given.get("extenders") or ())),
        healthz_bind_address=_address(given.get("healthzBindAddress", "")),
        metrics_bind_address=_address(given.get("metricsBindAddress", "")),
    )


def _seconds(text: str, default: float = 0.0) -> float:
    return parse_seconds(text) or default


def _leader_election(given: Json, dialect: Dialect) -> LeaderElection:
    elect = given.get("leaderElect")
    return LeaderElection(
        elect=True if elect is None else elect,
        lease_duration=_seconds(given["leaseDuration"], 15.0),
        renew_deadline=_seconds(given["renewDeadline"], 10.0),
        retry_period=_seconds(given["retryPeriod"], 2.0),
        resource_lock=given["resourceLock"] or "leases",
        resource_name=given["resourceName"] or dialect("{short}-scheduler"),
        resource_namespace=given["resourceNamespace"] or dialect.system_namespace,
    )


def _client_connection(given: Json, dialect: Dialect) -> ClientConnection:
    return ClientConnection(
        config_file=given[dialect.config_file_kind],
        accept_content_types=given["acceptContentTypes"],
        content_type=given["contentType"] or dialect.protobuf,
        qps=given["qps"] or 50.0,
        burst=given["burst"] or 100,
    )


def _profile(
    given: Json, at: int, version: str, read_args: ReadArguments, name: str, features: Mapping[str, bool]
) -> Profile:
    plugins = pluginsets.merged(version, given.get("plugins"), features)
    configs = [
        PluginConfig(
            each["name"],
            read_args(at, index, each["name"], each.get("args"), partial(arguments.read, each["name"], features)),
        )
        for index, each in enumerate(given.get("pluginConfig") or ())
    ]
    configured = {each.name for each in configs}
    for plugin in pluginsets.names(plugins):
        args = arguments.default(plugin, features)
        if plugin not in configured and args is not None:
            configs.append(PluginConfig(plugin, args))
    return Profile(scheduler_name=given.get("schedulerName", name), plugins=plugins, plugin_config=tuple(configs))


def _extender(given: Json) -> ExtenderConfig:
    tls = given.get("tlsConfig")
    return ExtenderConfig(
        url_prefix=given["urlPrefix"],
        filter_verb=given.get("filterVerb", ""),
        preempt_verb=given.get("preemptVerb", ""),
        prioritize_verb=given.get("prioritizeVerb", ""),
        weight=given.get("weight", 0),
        bind_verb=given.get("bindVerb", ""),
        enable_https=given.get("enableHTTPS", False),
        tls=None if tls is None else _tls(tls),
        http_timeout=_seconds(given["httpTimeout"]),
        node_cache_capable=given.get("nodeCacheCapable", False),
        managed_resources=tuple(
            ManagedResource(each["name"], each.get("ignoredByScheduler", False))
            for each in given.get("managedResources") or ()
        ),
        ignorable=given.get("ignorable", False),
    )


def _tls(given: Json) -> ExtenderTls:
    return ExtenderTls(
        insecure=given.get("insecure", False),
        server_name=given.get("serverName", ""),
        cert_file=given.get("certFile", ""),
        key_file=given.get("keyFile", ""),
        ca_file=given.get("caFile", ""),
        cert_data=base64.b64decode(given.get("certData", "")),
        key_data=base64.b64decode(given.get("keyData", "")),
        ca_data=base64.b64decode(given.get("caData", "")),
    )


def _address(given: str) -> str:
    """An address with host and port: the host is every address where none was given, the port 0. What is neither stays for
    validation to refuse."""
    if not given:
        return ""
    if given.startswith(":"):
        return f"0.0.0.0{given}"
    try:
        host = ip_address(given)
    except ValueError:
        return given
    return f"[{host}]:0" if host.version == 6 else f"{host}:0"
