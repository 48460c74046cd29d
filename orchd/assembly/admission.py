"""The admission chain of one server, from its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from orchd.assembly.access import Access
from orchd.assembly.objects import Objects
from orchd.assembly.outbound import Outbound
from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IClient
from orchd.config.documents.admission import Section, parse_admission
from orchd.dialect import Dialect
from orchd.kinds.naming import random_suffix
from orchd.server.admission import builtin
from orchd.server.admission.chain import AdmissionChain
from orchd.server.admission.expressions.metrics import ConditionMetrics
from orchd.server.admission.interfaces import (
    PluginApi,
    PluginContext,
    PluginOutbound,
    PluginRuntime,
    PluginSettings,
    WebhookServices,
)
from orchd.server.admission.metrics import WebhookMetrics
from orchd.server.outbound.reviews import ConfigurationFile, Limits, RemoteReviews
from orchd.server.state import ServerState
from orchd.txkit.config_file_watcher import read_limited

_FLAG: Final = "--admission-control-config-file"


def admission_chain(
    runtime: Runtime, client: IClient, objects: Objects, outbound: Outbound, access: Access, state: ServerState
) -> AdmissionChain:
    """The enabled plugins in running order. Raises ValueError naming the invalid flag, file or plugin."""
    random, reactor, webhooks = runtime.random, runtime.reactor, outbound.webhooks

    def reviewer(path: str, pause: float) -> Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]:
        return RemoteReviews(
            outbound.images,
            ConfigurationFile(path, reactor.seconds),
            reactor,
            random=random,
            limits=Limits(pause=pause),
        ).ask

    chosen = runtime.settings.admission
    flags = {
        "default-not-ready-toleration-seconds": chosen.default_not_ready_toleration_seconds,
        "default-unreachable-toleration-seconds": chosen.default_unreachable_toleration_seconds,
    }
    metrics, conditions = WebhookMetrics(runtime.objects.release), ConditionMetrics()
    services = WebhookServices(
        client=webhooks,
        uid=objects.naming.uid,
        to_working=objects.store.versions.canonicalize,
        translate=objects.store.versions.to_requested,
        serving=state.is_open,
        observe=metrics.observe,
    )
    context = PluginContext(
        settings=PluginSettings(
            dialect=runtime.dialect,
            flags=flags,
            disabled=runtime.objects.disabled,
            release=runtime.objects.release,
            rate_share=chosen.rate_share,
        ),
        api=PluginApi(client=client, informers=objects.informers, catalog=objects.store.catalog),
        authorize=access.authorization.union.authorize,
        runtime=PluginRuntime(
            wall=runtime.wall,
            reactor=reactor,
            random_suffix=lambda length: random_suffix(random, length),
            compute=objects.compute,
        ),
        outbound=PluginOutbound(reviewer=reviewer, webhooks=services),
        observe_conditions=conditions.observe,
    )
    by_plugin = sections(chosen.config_file, runtime.dialect)
    try:
        return builtin.make_chain(
            context,
            chosen.plugins,
            configurations={name: section.values for name, section in by_plugin.items()},
            more=builtin.drop_ins(),
            measured=(metrics, conditions),
        )
    except builtin.PluginError as error:
        if error.plugin not in by_plugin:
            raise
        raise ValueError(f"{_FLAG}: {chosen.config_file}: {by_plugin[error.plugin].source}: {error}") from error


def sections(name: str, dialect: Dialect) -> dict[str, Section]:
    """Plugin sections of an AdmissionConfiguration file; {} without a file. Raises ValueError naming the file and the
    field."""
    if not name:
        return {}
    folder = Path(name).parent
    try:
        return parse_admission(read_limited(name), dialect, lambda path: read_limited(str(folder / path)))
    except (OSError, ValueError) as error:
        raise ValueError(f"{_FLAG}: {name}: {error}") from None
