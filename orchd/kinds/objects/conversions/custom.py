"""Conversion of custom kinds with the strategy None: only apiVersion changes, and unknown fields are pruned."""

from __future__ import annotations

from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.shape import canonical


def convert(obj: Object, to: str, resource: Resource) -> Object:
    """Convert `obj` to the apiVersion `to`. `resource` is that version, or any version of the kind if `to` is not
    served.

    Raises ApiError 500 for kinds with a conversion webhook, which cannot be called here.
    """
    if resource.converter is not None:
        raise not_called(obj["apiVersion"], obj["kind"])
    return canonical({**obj, "apiVersion": to}, _type(to, resource))


def not_called(api_version: str, kind: str) -> ApiError:
    """ApiError 500 for an object that only a webhook can convert."""
    return ApiError(500, "", f"conversion webhook for {api_version}, Kind={kind} has not been called")


def _type(to: str, resource: Resource) -> Type:
    if resource.api_version != to and resource.storage_version == to and resource.storage_type is not None:
        return resource.storage_type
    return resource.version_types.get(to, resource.type)
