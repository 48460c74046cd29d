"""Validation of a configuration beyond its types, with the reference's messages and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.gotext.values import GoText, quote
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.core.resources import is_extended
from orchd.kinds.objects.validate.names import ip, qualified_name
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.scheduler.config.argument_rules import check_arguments
from orchd.scheduler.config.model import (
    ClientConnection,
    ConfigError,
    ExtenderConfig,
    LeaderElection,
    PluginSet,
    Profile,
    SchedulerConfiguration,
    UntypedArgs,
)

#: Kinds of locks that leader election knows.
LOCKS: Final = ("endpoints", "configmaps", "leases", "endpointsleases", "configmapsleases")


def validate(
    config: SchedulerConfiguration, dialect: Dialect, features: Mapping[str, bool] = MappingProxyType({})
) -> None:
    """Raises ConfigError that names every invalid field."""
    report = Report(ObjectSettings(dialect=dialect, features=features))
    _client_connection(config.client_connection, root("clientConnection"), report)
    _leader_election(config.leader_election, root("leaderElection"), report)
    if config.parallelism <= 0:
        report.invalid(root("parallelism"), config.parallelism, "should be an integer value greater than zero")
    _profiles(config.profiles, root("profiles"), report)
    _address(config.healthz_bind_address, root("healthzBindAddress"), report)
    _address(config.metrics_bind_address, root("metricsBindAddress"), report)
    if not 0 <= config.percentage_of_nodes_to_score <= 100:
        why = "not in valid range [0-100]"
        report.invalid(root("percentageOfNodesToScore"), config.percentage_of_nodes_to_score, why)
    first, most = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if first <= 0:
        report.invalid(root("podInitialBackoffSeconds"), first, "must be greater than 0")
    if most < first:
        report.invalid(root("podMaxBackoffSeconds"), most, "must be greater than or equal to PodInitialBackoffSeconds")
    _extenders(config.extenders, root("extenders"), report)
    if report.causes:
        raise ConfigError(texts(report.causes))


def texts(causes: Sequence[Cause]) -> str:
    """One message for all causes: distinct messages, in brackets if there are several."""
    each = list(dict.fromkeys(f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes))
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]"


def _client_connection(connection: ClientConnection, at: Path, report: Report) -> None:
    if connection.burst < 0:
        report.invalid(at / "burst", connection.burst, "must be non-negative")


def _leader_election(election: LeaderElection, at: Path, report: Report) -> None:
    if not election.elect:
        return
    durations = (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    )
    for name, seconds in durations:
        if seconds <= 0:
            report.invalid(at / name, _format_duration(seconds), "must be greater than zero")
    if election.lease_duration < election.renew_deadline:
        deadline = _format_duration(election.renew_deadline)
        report.invalid(at / "leaseDuration", deadline, "LeaseDuration must be greater than RenewDeadline")
    if election.resource_lock not in LOCKS:
        report.unsupported(at / "resourceLock", election.resource_lock, LOCKS)


def _format_duration(seconds: float) -> GoText:
    """A duration as the reference's messages show it."""
    return GoText(f"v1.Duration{{Duration:{round(seconds * 10**9)}}}")


def _profiles(profiles: Sequence[Profile], at: Path, report: Report) -> None:
    first_with: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        here = at[index]
        if not profile.scheduler_name:
            report.required(here / "schedulerName")
        _plugin_config(profile, here / "pluginConfig", report)
        before = first_with.get(profile.scheduler_name)
        if before is not None:
            report.duplicate(here / "schedulerName", GoText(str(at[before] / "schedulerName")))
        first_with[profile.scheduler_name] = index
    _common_queue_sort(profiles, at, report)


def _plugin_config(profile: Profile, at: Path, report: Report) -> None:
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        if config.name in seen:
            report.duplicate(at[index], config.name)
        seen.add(config.name)
        if not isinstance(config.args, UntypedArgs):
            check_arguments(config.args, at[index] / "args", report)


def _common_queue_sort(profiles: Sequence[Profile], at: Path, report: Report) -> None:
    """All profiles share one queue and need the same queue sort plugin."""
    canon = profiles[0].plugins["queueSort"]
    if len(canon.enabled) > 1:
        why = "only one queue sort plugin can be enabled"
        report.invalid(at[0] / "plugins" / "queueSort" / "Enabled", len(canon.enabled), why)
    name = canon.enabled[0].name if canon.enabled else None
    args = [each.args for each in profiles[0].plugin_config if each.name == name]
    for index, profile in enumerate(profiles[1:], 1):
        own = profile.plugins["queueSort"]
        if own != canon:
            report.invalid(at[index] / "plugins" / "queueSort", _set(own), "has to match for all profiles")
        for config in profile.plugin_config:
            if config.name == name and [config.args] != args:
                report.invalid(at[index] / "pluginConfig" / "args", name, "has to match for all profiles")


def _set(plugins: PluginSet) -> GoText:
    def listed(entries: Sequence[tuple[str, int]]) -> str:
        if not entries:
            return "[]config.Plugin(nil)"
        each = (f"config.Plugin{{Name:{quote(name)}, Weight:{weight}}}" for name, weight in entries)
        return f"[]config.Plugin{{{', '.join(each)}}}"

    enabled = listed([(each.name, each.weight) for each in plugins.enabled])
    disabled = listed([(name, 0) for name in plugins.disabled])
    return GoText(f"config.PluginSet{{Enabled:{enabled}, Disabled:{disabled}}}")


def _address(address: str, at: Path, report: Report) -> None:
    """Insecure serving was removed, so an address may only disable it."""
    if not address:
        return
    host, colon, port = address.rpartition(":")
    if not colon:
        report.invalid(at, address, f"address {address}: missing port in address")
        return
    if not (port.isascii() and port.lstrip("+-").isdigit()):
        report.invalid(at, address, f"strconv.Atoi: parsing {quote(port)}: invalid syntax")
        return
    wrong = ip(host.removeprefix("[").removesuffix("]"))
    if wrong:
        report.invalid(at, address, ",".join(wrong))
    if int(port) != 0:
        report.invalid(at, address, "must be empty or with an explicit 0 port")


def _extenders(extenders: Sequence[ExtenderConfig], at: Path, report: Report) -> None:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        here = at[index]
        if extender.prioritize_verb and extender.weight <= 0:
            report.invalid(here / "weight", extender.weight, "must have a positive weight applied to it")
        for number, resource in enumerate(extender.managed_resources):
            place = (here / "managedResources")[number] / "name"
            wrong = qualified_name(resource.name)
            report.invalids(place, resource.name, wrong)
            if not wrong and not is_extended(resource.name, report):
                report.invalid(place, resource.name, "is an invalid extended resource name")
            if resource.name in managed:
                report.invalid(place, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        report.invalid(at, f"found {binders} extenders implementing bind", "only one extender can implement bind")
