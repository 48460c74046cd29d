"""The admission chain of one server, from its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from orchd.assembly.identity import Identity
from orchd.assembly.objects import Objects
from orchd.assembly.outbound import Outbound
from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IClient
from orchd.kinds.naming import random_suffix
from orchd.server.admission import builtin
from orchd.server.admission.chain import AdmissionChain
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


def admission_chain(
    runtime: Runtime,
    client: IClient,
    objects: Objects,
    outbound: Outbound,
    identity: Identity,
    state: ServerState,
) -> AdmissionChain:
    """The enabled plugins in running order. Raises ValueError naming the invalid flag, file or plugin."""
    random, reactor, webhooks = runtime.random, runtime.reactor, outbound.webhooks

    def reviewer(path: str, pause: float) -> Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]:
        return RemoteReviews(
            outbound.images, ConfigurationFile(path, reactor.seconds), reactor, random=random, limits=Limits(pause=pause)
        ).ask

    chosen = runtime.settings.admission
    flags = {
        "default-not-ready-toleration-seconds": chosen.not_ready_toleration_seconds,
        "default-unreachable-toleration-seconds": chosen.unreachable_toleration_seconds,
    }
    metrics = WebhookMetrics()
    services = WebhookServices(
        client=webhooks,
        uid=objects.naming.uid,
        to_working=objects.store.versions.canonicalize,
        translate=objects.store.versions.to_requested,
        serving=state.is_open,
        observe=metrics.observe,
    )
    context = PluginContext(
        settings=PluginSettings(dialect=runtime.dialect, flags=flags),
        api=PluginApi(client=client, informers=objects.informers, catalog=objects.store.catalog),
        authorize=identity.authorization.union.authorize,
        runtime=PluginRuntime(
            wall=runtime.wall, reactor=reactor, random_suffix=lambda length: random_suffix(random, length)
        ),
        outbound=PluginOutbound(reviewer=reviewer, webhooks=services),
    )
    return builtin.make_chain(
        context,
        chosen.plugins,
        configurations=sections(chosen.config_file),
        more=builtin.drop_ins(),
        measured=(metrics,),
    )


def sections(name: str) -> dict[str, Mapping[str, Any]]:
    """Plugin sections of an AdmissionConfiguration file; {} without a file. Raises ValueError naming the file."""
    if not name:
        return {}
    document = _load(Path(name))
    out: dict[str, Mapping[str, Any]] = {}
    for position, entry in enumerate(document.get("plugins") or ()):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ValueError(f"--admission-control-config-file: {name}: plugins[{position}] has no name")
        section = entry.get("configuration")
        if section is None and entry.get("path"):
            section = _load(Path(name).parent / entry["path"])
        out[entry["name"]] = section or {}
    return out


def _load(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"--admission-control-config-file: {path}: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"--admission-control-config-file: {path}: not an object")
    return document
