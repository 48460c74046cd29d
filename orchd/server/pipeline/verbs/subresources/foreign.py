"""Subresource endpoints whose body is of another kind: Scale, Binding, Eviction, TokenRequest.

The endpoint itself runs admission on the sent kind; the resulting write of the stored object then runs without
admission, through a registry without it.
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
    """Runs one admission chain. `name` is that of the URL, for objects without it."""

    def __call__(
        self, context: Any, operation: str, obj: Object | None, old: Object | None, *, name: str = ""
    ) -> Awaitable[Object | None]: ...


async def skip_admission(context: Context, operation: str, obj: Object | None, old: Object | None) -> Object | None:
    """Admission that does nothing, for the registry of endpoints that run admission themselves."""
    return obj


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignBodyContext:
    """Collaborators of such endpoints besides those of all verbs. `registry` runs no admission."""

    registry: IRegistry
    mutate: Ask
    validate: Ask

    async def mutated(
        self, tools: VerbContext, context: Context, kind: Resource, operation: str, obj: Object, old: Object | None, name: str
    ) -> Object:
        """`obj` of `kind` after mutating admission, in canonical shape."""
        admitted = await self.mutate(context, operation, obj, old, name=name)
        if admitted is None or admitted is obj:
            return obj
        return tools.canonicalize(admitted, kind)


def foreign_kind(catalog: Catalog, group: str, version: str, kind: str) -> Resource:
    """A kind that endpoints accept without a resource of its own. `group` is a template."""
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
    """201 with a success Status. `view` was negotiated before the operation."""
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return tools.present.response(view, tools.present.other(view, status), code=201)


def bare_error(message: str) -> ApiError:
    """500 without a reason: an error that the reference does not wrap."""
    return ApiError(500, "", message)
