"""Endpoints that take another kind than the one they store: Scale, Binding, Eviction, TokenRequest.

Admission is asked about the kind that was sent, by the endpoint itself; what follows from it is then written without asking
again. So such endpoints hold a registry of their own, whose admission is silent.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Protocol

from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource, group_version
from orchd.server.pipeline.interfaces import Response
from orchd.server.pipeline.representation import Representation
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.server.registry.interfaces import Context, IRegistry, Object


class Ask(Protocol):
    """One chain of admission. `name` is that of the URL, where the object does not tell it."""

    def __call__(
        self, context: Any, operation: str, obj: Object | None, old: Object | None, *, name: str = ""
    ) -> Awaitable[Object | None]: ...


async def unasked(context: Context, operation: str, obj: Object | None, old: Object | None) -> Object | None:
    """The silent admission of a registry for endpoints that ask themselves."""
    return obj


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """What such endpoints work with besides the tools of all verbs. `registry` is the silent one."""

    registry: IRegistry
    mutate: Ask
    validate: Ask

    async def mutated(
        self, tools: VerbContext, context: Context, kind: Resource, operation: str, obj: Object, old: Object | None, name: str
    ) -> Object:
        """`obj` of `kind` as mutating admission leaves it, in canonical shape."""
        admitted = await self.mutate(context, operation, obj, old, name=name)
        if admitted is None or admitted is obj:
            return obj
        return tools.settled(admitted, kind)


def foreign_kind(catalog: Catalog, group: str, version: str, kind: str) -> Resource:
    """A kind that endpoints take and that no resource of its own serves. `group` is a template."""
    package = f"{group.partition('.')[0] or 'core'}/{version}"
    name = catalog.dialect(group)
    return Resource(
        group=name,
        version=version,
        kind=kind,
        plural=kind.lower() + "s",
        type=catalog.type(f"{package}.{kind}"),
        namespaced=True,
        storage_version=group_version(name, version),
    )


def success(tools: VerbContext, view: Representation) -> Response:
    """201 with a Status: what was asked for has been done. `view` was negotiated before that."""
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return tools.present.response(view, tools.present.other(view, status), code=201)


def bare_error(message: str) -> ApiError:
    """500 without a reason: an error that the reference does not dress up."""
    return ApiError(500, "", message)
