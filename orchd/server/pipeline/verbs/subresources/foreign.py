"""Subresource endpoints whose body is of another kind: Scale, Binding, Eviction, TokenRequest.

The endpoint itself runs admission on the sent kind; the resulting write of the stored object then runs without
admission, through a registry without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from zope.interface import implementer

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.canonical import canonicalize
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.server.pipeline.interfaces import Response
from orchd.server.pipeline.negotiation import Representation
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.server.registry.interfaces import Context, IAdmission, IRegistry, IReview
from orchd.server.registry.operations import OTHER_NAMESPACE


@implementer(IAdmission, IReview)
class NoAdmission:
    """Admission that does nothing, for the registry of endpoints that run admission themselves."""

    def review(self, context: Context, operation: str, old: Object | None, *, name: str | None = None) -> IReview:
        review: IReview = self
        return review

    async def mutate(self, obj: Object | None) -> Object | None:
        return obj

    async def validate(self, obj: Object | None, old: Object | None = None) -> None:
        """Accepts everything."""


#: Prepares a posted object of a kind that is not stored, before admission: the object, the namespace of the request,
#: and whether its system metadata is kept. May raise ApiError 400.
Preparation = Callable[[Object, str, bool], Object]

_SYSTEM_METADATA: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def as_sent(obj: Object, namespace: str, keeps: bool) -> Object:
    """The object as it was sent."""
    return obj


def in_namespace(obj: Object, namespace: str, keeps: bool) -> Object:
    """The object in the namespace of the request. Raises ApiError 400 if it names another one."""
    metadata = fields.metadata(obj)
    own_namespace = metadata.get("namespace") or ""
    if own_namespace and namespace and own_namespace != namespace:
        raise errors.bad_request(OTHER_NAMESPACE)
    dropped = ("namespace", *(() if keeps else _SYSTEM_METADATA))
    kept = {name: value for name, value in metadata.items() if name not in dropped}
    if namespace:
        kept["namespace"] = namespace
    return {**obj, "metadata": kept}


def preparation(release: Release) -> Preparation:
    """The rule of a release."""
    return release.choose((("", as_sent), ("1.24", in_namespace)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignBodyContext:
    """Collaborators of such endpoints besides those of all verbs. `registry` runs no admission."""

    registry: IRegistry
    admission: IAdmission
    prepare: Preparation = as_sent


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
