"""The admission chain of one server, from its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import yaml

from orchd.client.interfaces import IClient, IInformers
from orchd.config.settings import Capabilities, Settings
from orchd.controllers.table import CONTROLLERS
from orchd.kinds.catalog import Catalog, Resource
from orchd.server.admission import builtin
from orchd.server.admission.chain import AdmissionChain, Observe
from orchd.server.admission.interfaces import PluginContext
from orchd.server.authz import modes
from orchd.server.outbound.reviews import ConfigurationFile, RemoteReviews
from orchd.server.outbound.webhooks import WebhookClient
from orchd.server.registry.objectmeta import ALPHABET, Naming


def admission_chain(
    settings: Settings,
    client: IClient,
    informers: IInformers,
    *,
    authorize: Callable[..., Any],
    clock: Callable[[], float],
    reactor: Any,
    catalog: Callable[[], Catalog],
    random: Random,
    observe: Observe,
    webhooks: WebhookClient,
    observe_webhook: Callable[[str, str, str, float, bool, str, int], None],
    settle: Callable[[Resource, dict[str, Any]], dict[str, Any]],
    translate: Callable[[Resource, dict[str, Any]], Awaitable[dict[str, Any]]],
    serving: Callable[[], bool],
) -> AdmissionChain:
    """The plugins that are on, in order. Raises ValueError naming the flag, file or plugin that is wrong."""

    def reviewer(path: str, pause: float) -> Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]:
        return RemoteReviews(
            webhooks, ConfigurationFile(path, reactor.seconds), reactor, random=random, pause=pause
        ).ask

    chosen = settings.admission
    wanted = set(chosen.plugins)
    context = PluginContext(
        dialect=settings.dialect,
        client=client,
        informers=informers,
        authorize=authorize,
        flags={
            "default-not-ready-toleration-seconds": chosen.not_ready_toleration_seconds,
            "default-unreachable-toleration-seconds": chosen.unreachable_toleration_seconds,
        },
        clock=clock,
        reactor=reactor,
        catalog=catalog,
        random_suffix=lambda length: "".join(random.choice(ALPHABET) for _ in range(length)),
        uid=Naming(random).uid,
        webhooks=webhooks,
        reviewer=reviewer,
        observe_webhook=observe_webhook,
        settle=settle,
        translate=translate,
        serving=serving,
    )
    return builtin.make_chain(
        context,
        enable=[name for name in chosen.plugins if name not in builtin.DEFAULT_ON],
        disable=[name for name in builtin.DEFAULT_ON if name not in wanted],
        configurations=sections(chosen.config_file),
        more=builtin.drop_ins(),
        observe=observe,
    )


def sections(name: str) -> dict[str, Mapping[str, Any]]:
    """The plugins' sections of an AdmissionConfiguration file, {} for no file. Raises ValueError naming the file."""
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


def capabilities() -> Capabilities:
    """What flags may choose from: what is built, and drop-ins that were found."""
    return Capabilities(
        admission_plugins=frozenset((*builtin.BUILT, *(str(f.name) for f in builtin.drop_ins()))),
        authorizers=frozenset((*modes.MODES, *modes.drop_ins())),
        controllers=frozenset(name for name, _ in CONTROLLERS),
    )
