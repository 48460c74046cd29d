"""Routing of non-resource paths to endpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from orchd.kinds.codec import json_
from orchd.kinds.openapi import v3
from orchd.server.pipeline.endpoints.documents import Documents
from orchd.server.pipeline.endpoints.health import Health
from orchd.server.pipeline.endpoints.schemas import Schemas
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.dispatch import text_not_found

#: Serves one exact path.
Endpoint = Callable[[Request], Awaitable[Response]]


def json_response(data: Any, *, content_type: str = "application/json", pretty: bool = True) -> Response:
    """A response with a document that exists only as JSON."""
    return Response(content_type=content_type, headers=[NO_STORE], body=json_.body(data, pretty=pretty))


def _group_version(path: str) -> tuple[str, str]:
    """Group and version of a path below ``/apis/``."""
    _, _, group, version, *_ = (*path.split("/"), "")
    return group, version


class Routes:
    """Passes resource requests to `resources` and routes all other paths. `exact` maps paths to endpoints."""

    def __init__(
        self,
        resources: Callable[[Request], Awaitable[Response]],
        *,
        health: Health,
        documents: Documents,
        exact: Mapping[str, Endpoint],
        forwarder: Callable[[str, str], Endpoint | None] = lambda group, version: None,
        schemas: Schemas | None = None,
    ) -> None:
        """`forwarder(group, version)` returns the handler of another server's group version, None for local ones.
        `schemas` serves OpenAPI v3 if enabled."""
        self._resources = resources
        self._health = health
        self._documents = documents
        self._exact = exact
        self._forwarder = forwarder
        self._schemas = schemas

    def __call__(self, request: Request) -> Awaitable[Response]:
        assert request.info is not None
        schemas = self._schemas
        below = request.path.removeprefix(v3.ROOT) if schemas is not None else request.path
        if below.startswith("/apis/"):
            # Other servers document their own group versions.
            version = _group_version(below)
            forward = self._forwarder(*version)
            if forward is not None and (
                below == request.path or (schemas is not None and schemas.is_foreign(*version))
            ):
                return forward(request)
        if request.info.is_resource:
            return self._resources(request)
        return self._respond(request, schemas)

    async def _respond(self, request: Request, schemas: Schemas | None) -> Response:
        """The response to a request for no resource."""
        endpoint = self._exact.get(request.path) or self._exact.get(request.path.removesuffix("/"))
        if endpoint is not None:
            return await endpoint(request)
        if self._health.handles(request.path):
            return self._health.respond(request)
        if schemas is not None and schemas.handles(request.path):
            return await schemas.respond(request)
        return self._documents.discovery(request) or text_not_found()
