"""The scheduler as a separate process: a client of any API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from twisted.python.failure import Failure

from orchd.assembly.component_process import ComponentProcess
from orchd.assembly.runtime import EXPLAIN
from orchd.assembly.scheduler import SchedulerTerms, TermClients, read_configuration, scheduler_election
from orchd.client.fenced import FencedClient
from orchd.client.informers import Informers
from orchd.config.component import ComponentSettings
from orchd.dialect import Dialect
from orchd.scheduler.config.encoding import as_json, as_yaml
from orchd.scheduler.config.model import ConfigError, SchedulerConfiguration
from orchd.scheduler.service import DEFAULT_NAME
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.scheduler")
_JSON = "application/json"
#: Deprecated flags by the configuration field that they set without --config.
_CONNECTION_FLAGS = {
    "{short}config": "config_file",
    "{short}-api-content-type": "content_type",
    "{short}-api-qps": "qps",
    "{short}-api-burst": "burst",
}
_LOCK_FLAGS = {"lock-object-name": "resource_name", "lock-object-namespace": "resource_namespace"}


def effective_configuration(settings: ComponentSettings) -> SchedulerConfiguration:
    """The configuration of --config, or the defaults with the deprecated flags; leader election flags apply in both
    cases. Raises ConfigError."""
    flags, mentioned = settings.flags, settings.explicit
    chosen = read_configuration(settings.dialect, flags["config"], settings.features, settings.release)
    if not flags["config"]:
        connection = {field: flags[flag] for flag, field in _CONNECTION_FLAGS.items()}
        lock = {field: flags[flag] for flag, field in _LOCK_FLAGS.items() if flag in mentioned}
        chosen = replace(
            chosen,
            client_connection=replace(chosen.client_connection, **connection),
            leader_election=replace(chosen.leader_election, **lock),
            enable_profiling=flags["profiling"],
            enable_contention_profiling=flags["contention-profiling"],
        )
    election = scheduler_election(chosen, flags, mentioned)
    return replace(
        chosen,
        leader_election=replace(
            chosen.leader_election,
            elect=election.enabled,
            lease_duration=election.lease_duration,
            renew_deadline=election.renew_deadline,
            retry_period=election.retry_period,
            resource_lock=election.lock,
            resource_name=election.name,
            resource_namespace=election.namespace,
        ),
    )


def write_configuration(settings: ComponentSettings) -> str:
    """Write the effective configuration to --write-config-to; returns the path, "" without the flag. Raises ConfigError
    and OSError."""
    path: str = settings.flags["write-config-to"]
    if path:
        Path(path).write_bytes(as_yaml(effective_configuration(settings), settings.dialect))
    return path


def choose_responses(accepted: str, dialect: Dialect) -> str:
    """The media type of responses for the acceptContentTypes of a configuration: the first one that can be read, JSON
    for none. Raises ConfigError."""
    for each in accepted.split(","):
        media_type = each.partition(";")[0].strip()
        if media_type == dialect.protobuf:
            return dialect.protobuf
        if media_type in ("", "*/*", _JSON):
            return _JSON
    raise ConfigError(
        f"--config: clientConnection.acceptContentTypes: {accepted!r} has neither {_JSON} nor {dialect.protobuf}"
    )


def _by_configuration(settings: ComponentSettings, configuration: SchedulerConfiguration) -> ComponentSettings:
    """Settings with the values that the configuration file overrides."""
    if not settings.flags["config"]:
        return settings
    dialect = settings.dialect
    ignored = [
        flag
        for flag in (*_CONNECTION_FLAGS, *_LOCK_FLAGS, "profiling", "contention-profiling")
        if flag in settings.explicit
    ]
    for flag in ignored:
        _log.warn("--{flag} is ignored with --config", flag=dialect(flag))
    connection = configuration.client_connection
    if connection.content_type not in ("", _JSON, dialect.protobuf):
        raise ConfigError(f"--config: clientConnection.contentType: unknown media type {connection.content_type!r}")
    return replace(
        settings,
        client=replace(
            settings.client,
            config_file=connection.config_file,
            content_type=connection.content_type or settings.client.content_type,
            response_type=choose_responses(connection.accept_content_types, dialect),
            qps=connection.qps,
            burst=connection.burst,
        ),
        port=replace(settings.port, profiling=configuration.enable_profiling),
    )


class SchedulerProcess:
    """The service of the process. Raises OSError and ValueError for unusable files and configurations.

    `failed` is called when it cannot start or continue; `environment` is the process environment.
    """

    def __init__(
        self,
        settings: ComponentSettings,
        reactor: Any,
        *,
        wall: Callable[[], float],
        environment: Mapping[str, str],
        failed: Callable[[Failure], object] | None = None,
    ) -> None:
        configuration = effective_configuration(settings)
        settings = _by_configuration(settings, configuration)
        process = ComponentProcess(settings, reactor, wall=wall, environment=environment)
        runtime, connections = process.runtime, process.connections
        client, reader = connections.throttled("scheduler"), connections.client("informers")

        def clients(may_write: Callable[[], bool]) -> TermClients:
            # Without budgets or storage objects of a server of an older release there is still something to schedule.
            informers = Informers(reader, reactor, runtime.random, may_lack=lambda ref: bool(ref.group))
            fenced: Any = FencedClient(client, may_write)
            return TermClients(client=fenced, informers=informers, begin=informers.start, end=informers.stop)

        self.terms = SchedulerTerms(
            configuration, process.events, clients, runtime, settings.features, settings.release
        )
        election = scheduler_election(configuration, settings.flags, settings.explicit)
        leadership = self.terms.leadership = process.compete("scheduler", election, self.terms.make, DEFAULT_NAME)
        self.service = process.service(
            leadership,
            failed,
            measured=self.terms,
            configuration=lambda: {"componentconfig": as_json(configuration, settings.dialect)},
            endpoints={EXPLAIN: self.terms.explain},
            resettable=True,
        )
