"""Custom kinds: every version has the same form, so that only apiVersion differs, and what a version does not know goes."""

from __future__ import annotations

from typing import Any

from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.kinds.ir import Type
from orchd.kinds.objects.shape import canonical

Object = dict[str, Any]


def convert(obj: Object, to: str, resource: Resource) -> Object:
    """`obj` in the version with apiVersion `to`. `resource` is that version, or any of the kind where `to` is not
    served. Raises ApiError 500 where another program converts: that takes more than a function."""
    if resource.converter is not None:
        raise not_called(obj["apiVersion"], obj["kind"])
    return canonical({**obj, "apiVersion": to}, _type(to, resource))


def not_called(api_version: str, kind: str) -> ApiError:
    """What is answered instead of an object that only a webhook could convert."""
    return ApiError(500, "", f"conversion webhook for {api_version}, Kind={kind} has not been called")


def _type(to: str, resource: Resource) -> Type:
    if resource.api_version != to and resource.storage_version == to and resource.storage_type is not None:
        return resource.storage_type
    return resource.version_types.get(to, resource.type)
