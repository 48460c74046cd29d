"""Conversions for synchronous algorithms over kinds with a conversion webhook.

Field management is computed by pure functions that need an object in every version that a manager used. With a
conversion webhook such a function runs until a conversion is missing, and again when it is available. It requests the
same conversions each time, so this terminates.
"""

from __future__ import annotations

import dataclasses

import orjson

from orchd.kinds.catalog import Resource, split_group_version
from orchd.kinds.ir import Type
from orchd.kinds.jsonvalues import Object


class ConversionNeededError(Exception):
    """A conversion is missing; `resource` is the target version."""

    def __init__(self, resource: Resource, object: Object, key: bytes) -> None:
        super().__init__(resource.api_version)
        self.resource = resource
        self.object = object
        self.key = key


class VersionTranslation:
    """Known conversions of objects."""

    def __init__(self) -> None:
        self._cache: dict[tuple[bytes, str], Object] = {}

    def find(self, resource: Resource, obj: Object) -> Object:
        """`obj` in the version of `resource`. Raises ConversionNeededError if it has not been converted yet."""
        to = resource.api_version
        if obj["apiVersion"] == to:
            return obj
        if not obj.get("metadata"):
            # The empty object before a create is the same in every version.
            return {**obj, "apiVersion": to}
        key = orjson.dumps(obj)
        try:
            return self._cache[key, to]
        except KeyError:
            raise ConversionNeededError(resource, obj, key) from None

    def add(self, needed: ConversionNeededError, translated: Object) -> None:
        """Add the result of a conversion."""
        self._cache[needed.key, needed.resource.api_version] = translated


def version_of(resource: Resource, api_version: str) -> Resource | None:
    """A version in a custom kind's definition, served or not."""
    type_ = resource.version_types.get(api_version)
    if type_ is None:
        return None
    return dataclasses.replace(resource, version=split_group_version(api_version)[1], type=type_)


def type_of_version(resource: Resource, api_version: str) -> Type | None:
    """The type of such a version."""
    return resource.version_types.get(api_version)
