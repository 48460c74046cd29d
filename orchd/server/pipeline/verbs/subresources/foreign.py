"""Subresource endpoints whose body is of another kind: Scale, Binding, Eviction, TokenRequest.

The endpoint itself runs admission on the sent kind; the resulting write of the stored object then runs without
admission, through a registry without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zope.interface import implementer

from orchd.errors import ApiError
from orchd.kinds.canonical import canonicalize
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.server.pipeline.interfaces import Response
from orchd.server.pipeline.representation import Representation
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.server.registry.interfaces import Context, IAdmission, IRegistry, IReview


@implementer(IAdmission, IReview)
class NoAdmission:
    """Admission that does nothing, for the registry of endpoints that run admission themselves."""

    def review(self, context: Context, operation: str, old: Object | None, *, name: str = "") -> IReview:
        review: IReview = self
        return review

    async def mutate(self, obj: Object | None) -> Object | None:
        return obj

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        """Accepts everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignBodyContext:
    """Collaborators of such endpoints besides those of all verbs. `registry` runs no admission."""

    registry: IRegistry
    admission: IAdmission


async def mutate(context: VerbContext, review: IReview, kind: Resource, obj: Object) -> Object:
    """`obj` of `kind` after mutating admission, in canonical shape."""
    admitted = await review.mutate(obj)
    if admitted is None or admitted is obj:
        return obj
    return canonicalize(admitted, kind, context.settings)


def success(context: VerbContext, view: Representation) -> Response:
    """201 with a success Status. `view` was negotiated before the operation."""
    status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return context.present.response(view, context.present.other(view, status), code=201)


def bare_error(message: str) -> ApiError:
    """500 without a reason: an error that the reference does not wrap."""
    return ApiError(500, "", message)
