"""All settings of the server. The classes and the functions that build them are in `orchd.config.sections`.

Durations are seconds. A file name is "" if its flag was not given; generated files are stored below `data_dir`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.config.capabilities import Capabilities
from orchd.config.flag_values import FlagValues
from orchd.config.sections.access import AuthenticationSettings, AuthorizationSettings, authentication, authorization
from orchd.config.sections.admission import AdmissionSettings, admission
from orchd.config.sections.api import ApiSettings, api
from orchd.config.sections.audit import AuditSettings, audit
from orchd.config.sections.components import ControllerSettings, SchedulerSettings, controllers, scheduler
from orchd.config.sections.connections import AggregationSettings, NodeSettings, aggregation, nodes
from orchd.config.sections.serving import ServingSettings, serving
from orchd.config.sections.storage import StorageSettings, storage
from orchd.config.sections.verbosity import Verbosity, verbosity
from orchd.dialect import Dialect
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of the server. `warnings` are logged at start."""

    dialect: Dialect
    release: Release
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


def build_settings(flags: FlagValues, components: Mapping[str, FlagValues], can: Capabilities) -> Settings:
    """Settings from the values of all flags, and of those of the components in this process by name. Raises FlagError
    that names the invalid flag."""
    authorizers = authorization(flags, can)
    return Settings(
        dialect=flags.dialect,
        release=flags.release,
        dialect_given=flags.dialect.name if "dialect" in flags.explicit else None,
        serving=serving(flags),
        authentication=authentication(flags, authorizers),
        authorization=authorizers,
        admission=admission(flags, can),
        storage=storage(flags),
        api=api(flags),
        controllers=controllers(components["controller-manager"], can),
        scheduler=scheduler(components["scheduler"], enabled=flags["scheduler"]),
        audit=audit(flags),
        aggregation=aggregation(flags),
        nodes=nodes(flags),
        verbosity=verbosity(flags),
        tracing_file=_tracing_file(flags),
        egress_file=flags["egress-selector-config-file"],
        flags=flags.by_name(),
        warnings=tuple(flags.warnings),
    )


def _tracing_file(flags: FlagValues) -> str:
    path: str = flags["tracing-config-file"]
    if path and flags.features.get("APIServerTracing") is False:
        raise flags.error("tracing-config-file", "the feature gate APIServerTracing is off")
    return path


def object_settings(settings: Settings) -> ObjectSettings:
    """The subset of settings that algorithms over objects depend on."""
    return ObjectSettings(
        dialect=settings.dialect,
        release=settings.release,
        allow_privileged=settings.api.allow_privileged,
        service_cidrs=settings.api.service_cluster_ip_range,
        node_ports=settings.api.service_node_port_range,
        features=settings.api.features,
        garbage_collection=settings.api.enable_garbage_collector,
    )
