"""Objects in other versions of their kind, for algorithms that cannot wait and kinds that a webhook converts.

Who owns which fields is worked out by pure functions, which look at an object in every version that an owner used. Where
a webhook converts, such a function runs until something is missing, and again once that is there. It asks for the
same things each time, so it comes to an end.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson

from orchd.kinds.catalog import Resource, split_group_version
from orchd.kinds.ir import Type

Object = dict[str, Any]


class ConversionNeededError(Exception):
    """An object that has to be converted before the work can go on; `resource` is the version to convert to."""

    def __init__(self, resource: Resource, object: Object, key: bytes) -> None:
        super().__init__(resource.api_version)
        self.resource = resource
        self.object = object
        self.key = key


class VersionTranslation:
    """What objects are in other versions, as far as it is known; None for what cannot be converted."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, str], Object | None] = {}

    def find(self, resource: Resource, obj: Object) -> Object | None:
        """`obj` in the version of `resource`. Raises WantedError when it has not been converted yet."""
        to = resource.api_version
        if obj["apiVersion"] == to:
            return obj
        if not obj.get("metadata"):
            # The object before a create has nothing in it that could differ.
            return {**obj, "apiVersion": to}
        key = orjson.dumps(obj)
        try:
            return self._known[key, to]
        except KeyError:
            raise ConversionNeededError(resource, obj, key) from None

    def add(self, wanted: ConversionNeededError, made: Object | None) -> None:
        """What came of something that was wanted."""
        self._known[wanted.key, wanted.resource.api_version] = made


def version_of(resource: Resource, api_version: str) -> Resource | None:
    """A version of a custom kind that its definition has, served or not."""
    type_ = resource.version_types.get(api_version)
    if type_ is None:
        return None
    return dataclasses.replace(resource, version=split_group_version(api_version)[1], type=type_)


def type_of_version(resource: Resource, api_version: str) -> Type | None:
    """The type of such a version."""
    return resource.version_types.get(api_version)
