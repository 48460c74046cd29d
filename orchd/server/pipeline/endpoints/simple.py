"""Static endpoints: path list, version, and OpenID documents of the service account issuer."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from orchd import errors
from orchd.dialect import Dialect
from orchd.kinds.catalog import Catalog
from orchd.kinds.codec.mediatype import JSON_TYPE, check_route
from orchd.kinds.gates import GATES
from orchd.kinds.openapi import discovery
from orchd.kinds.release import Release
from orchd.server.pipeline.endpoints.health import Health
from orchd.server.pipeline.endpoints.routes import json_response
from orchd.server.pipeline.interfaces import Request, Response
from orchd.txkit.metrics.instruments import Info, Instrument, ObservedGauge

Endpoint = Callable[[Request], Awaitable[Response]]


def root_endpoint(catalog: Callable[[], Catalog], health: Health) -> Endpoint:
    """``/``: the list of paths."""

    async def respond(request: Request) -> Response:
        return json_response(discovery.root_paths(catalog(), health.paths()))

    return respond


def build_info(dialect: Dialect, version: Mapping[str, str]) -> Iterator[Info]:
    """The metrics of the release. `version` is the document of ``/version``, whose members become labels; in later
    releases it also says which release is emulated."""
    own = {name: value for name, value in version.items() if not name.startswith(("emulation", "minCompatibility"))}
    labels = {re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name): value for name, value in own.items()}
    yield Info(dialect("{long}_build_info"), "1, with the version as labels.", labels)
    if own != version:
        emulated, oldest = (
            f"{version[f'{kind}Major']}.{version[f'{kind}Minor']}" for kind in ("emulation", "minCompatibility")
        )
        labels = {
            "binary": version["gitVersion"].removeprefix("v"),
            "component": dialect("{short}"),
            "emulation": emulated,
            "min_compat": oldest,
        }
        yield Info("version_info", "1, with the release of the program and the one that it emulates as labels.", labels)


def enabled_features(dialect: Dialect, release: Release, is_on: Callable[[str], bool]) -> Iterator[Instrument]:
    """The metric of the feature gates of a release, from the first release on that has it."""
    if not release.includes("1.26"):
        return
    stages = [(gate.name, gate.stage(release)) for gate in GATES]
    numbers: dict[tuple[str, ...], float] = {
        (dialect(name), "" if stage.name == "GA" else stage.name.upper()): float(is_on(name))
        for name, stage in stages
        if stage is not None
    }
    text = "Whether a feature gate is on, by its name and its stage."
    yield ObservedGauge(dialect("{long}_feature_enabled"), text, lambda: numbers, ("name", "stage"))


def version_endpoint(release: Release) -> Endpoint:
    """``/version``."""
    document = discovery.version_info(release)

    async def respond(request: Request) -> Response:
        if request.method != "GET":
            raise errors.method_not_allowed()
        check_route(",".join(request.headers.get("accept", ())), (JSON_TYPE,), release)
        return json_response(document)

    return respond


def document_endpoint(document: Any, *, content_type: str, release: Release) -> Endpoint:
    """A fixed JSON document: OpenID configuration or key set of the service account issuer."""

    async def respond(request: Request) -> Response:
        if request.method != "GET":
            raise errors.method_not_allowed()
        check_route(",".join(request.headers.get("accept", ())), (content_type,), release)
        response = json_response(document, content_type=content_type, pretty=False)
        response.headers = [("Cache-Control", "public, max-age=3600")]
        return response

    return respond
