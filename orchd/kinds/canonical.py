"""Canonical shape and defaults of an object in the version of an endpoint, as the API's errors describe what prevents
them."""

from __future__ import annotations

from collections.abc import Callable

from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import default, shape
from orchd.kinds.objects.settings import ObjectSettings


def canonicalize(
    obj: Object,
    resource: Resource,
    settings: ObjectSettings,
    earlier: Object | None = None,
    *,
    refuse: Callable[[str], ApiError] | None = None,
) -> Object:
    """`obj`, of the version of `resource`, with canonical shape and defaults, which parts of `earlier` have. Raises
    what `refuse` makes of the reason if the object does not fit the type, ApiError 400 without it."""
    try:
        out = default.apply(shape.canonical(obj, resource.type, earlier), resource, settings, earlier)
    except RecursionError:
        # Recursive schemas can be defaulted to any depth.
        raise too_deep(resource) from None
    except shape.ShapeError as error:
        if refuse is not None:
            raise refuse(str(error)) from None
        raise shape.cannot_handle(resource.kind, resource.version, resource.kind, str(error)) from None
    metadata = obj.get("metadata")
    if metadata and metadata.get("managedFields") == []:
        # An empty list removes all managers; an absent one has no effect.
        return {**out, "metadata": {**out["metadata"], "managedFields": []}}
    return out


def too_deep(resource: Resource) -> ApiError:
    """400 for an object nested too deeply to be encoded."""
    return shape.cannot_handle(resource.kind, resource.version, resource.kind, "exceeded max depth")
