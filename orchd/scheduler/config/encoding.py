"""A configuration as JSON data of the version in which it was written, with all defaults."""

from __future__ import annotations

import base64
from typing import Any

from orchd.dialect import Dialect
from orchd.kinds.codec import yaml_
from orchd.kinds.gotext.durations import format_seconds
from orchd.scheduler.config import arguments, types
from orchd.scheduler.config.model import (
    ExtenderConfig,
    ExtenderTls,
    PluginConfig,
    PluginSet,
    Profile,
    SchedulerConfiguration,
    UntypedArgs,
)


def as_yaml(config: SchedulerConfiguration, dialect: Dialect) -> bytes:
    """The file that --write-config-to writes."""
    return yaml_.encode(as_json(config, dialect))


def as_json(config: SchedulerConfiguration, dialect: Dialect) -> dict[str, Any]:
    election, connection = config.leader_election, config.client_connection
    out: dict[str, Any] = {
        "apiVersion": types.api_version(config.version, dialect),
        "kind": dialect(types.KIND),
        "parallelism": config.parallelism,
        "leaderElection": {
            "leaderElect": election.elect,
            "leaseDuration": format_seconds(election.lease_duration),
            "renewDeadline": format_seconds(election.renew_deadline),
            "retryPeriod": format_seconds(election.retry_period),
            "resourceLock": election.resource_lock,
            "resourceName": election.resource_name,
            "resourceNamespace": election.resource_namespace,
        },
        "clientConnection": {
            dialect.config_file_kind: connection.config_file,
            "acceptContentTypes": connection.accept_content_types,
            "contentType": connection.content_type,
            "qps": int(connection.qps) if float(connection.qps).is_integer() else connection.qps,
            "burst": connection.burst,
        },
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
        "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
        "profiles": [_profile(each, config.version, dialect) for each in config.profiles],
    }
    if config.version == "v1beta2":
        out["healthzBindAddress"] = config.healthz_bind_address
        out["metricsBindAddress"] = config.metrics_bind_address
    if config.extenders:
        out["extenders"] = [_extender(each) for each in config.extenders]
    return out


def _profile(profile: Profile, version: str, dialect: Dialect) -> dict[str, Any]:
    out: dict[str, Any] = {
        "schedulerName": profile.scheduler_name,
        "plugins": {point: _plugin_set(each) for point, each in profile.plugins.items()},
    }
    if profile.plugin_config:
        out["pluginConfig"] = [_plugin_config(each, version, dialect) for each in profile.plugin_config]
    return out


def _plugin_set(plugins: PluginSet) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if plugins.enabled:
        out["enabled"] = [{"name": each.name, "weight": each.weight} for each in plugins.enabled]
    if plugins.disabled:
        out["disabled"] = [{"name": name, "weight": 0} for name in plugins.disabled]
    return out


def _plugin_config(config: PluginConfig, version: str, dialect: Dialect) -> dict[str, Any]:
    if isinstance(config.args, UntypedArgs):
        return {"name": config.name, "args": config.args.data}
    head = {"apiVersion": types.api_version(version, dialect), "kind": f"{config.name}Args"}
    return {"name": config.name, "args": {**head, **arguments.write(config.args)}}


def _extender(extender: ExtenderConfig) -> dict[str, Any]:
    optional = {
        "filterVerb": extender.filter_verb,
        "preemptVerb": extender.preempt_verb,
        "prioritizeVerb": extender.prioritize_verb,
        "weight": extender.weight,
        "bindVerb": extender.bind_verb,
        "enableHTTPS": extender.enable_https,
        "nodeCacheCapable": extender.node_cache_capable,
        "ignorable": extender.ignorable,
        "managedResources": [
            {"name": each.name, **({"ignoredByScheduler": True} if each.ignored_by_scheduler else {})}
            for each in extender.managed_resources
        ],
    }
    out: dict[str, Any] = {"urlPrefix": extender.url_prefix, "httpTimeout": format_seconds(extender.http_timeout)}
    out.update({name: value for name, value in optional.items() if value})
    if extender.tls is not None:
        out["tlsConfig"] = _tls(extender.tls)
    return out


def _tls(tls: ExtenderTls) -> dict[str, Any]:
    members = {
        "insecure": tls.insecure,
        "serverName": tls.server_name,
        "certFile": tls.cert_file,
        "keyFile": tls.key_file,
        "caFile": tls.ca_file,
        "certData": base64.b64encode(tls.cert_data).decode(),
        "keyData": base64.b64encode(tls.key_data).decode(),
        "caData": base64.b64encode(tls.ca_data).decode(),
    }
    return {name: value for name, value in members.items() if value}
