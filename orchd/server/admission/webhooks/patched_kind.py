"""Checks that a webhook's patch keeps kind, version and type of the object.

Stored bytes are served without validation; an object of another kind would make every list with it undecodable. Errors
are those of the reference, which decodes a patched object into the type that it sent: they do not count as webhook
failures, so no failure policy ignores them.
"""

from __future__ import annotations

from typing import Any

import orjson

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource, group_version
from orchd.kinds.codec import decode
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.schema_check.objects import identity_causes
from orchd.server.admission.interfaces import Review

_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_NAMES = ((str, "string"), (bool, "bool"), (int, "number"), (float, "number"), (dict, "object"), (list, "array"))


def same_kind(patched: Any, review: Review, resource: Resource, catalog: Catalog) -> Object:
    """A patched object of the kind and version that the webhook received; removed apiVersion and kind are restored for
    built-in kinds. Raises ApiError 500, or 422 for a custom object."""
    if not isinstance(patched, dict):
        raise _unreadable(f"cannot unmarshal {_sort(patched)} into Go value of type {_META}")
    for member in ("kind", "apiVersion"):
        value = patched.get(member)
        if value is not None and not isinstance(value, str):
            raise _unreadable(f"cannot unmarshal {_sort(value)} into Go struct field .{member} of type string")
    kind, version = patched.get("kind") or "", patched.get("apiVersion") or ""
    wanted_kind, wanted_version = resource.kind, resource.api_version
    if review.kind is not None:
        group, version_name, wanted_kind = review.kind
        wanted_version = group_version(group, version_name)
    if (kind, version) == (wanted_kind, wanted_version):
        return patched
    if resource.custom and review.kind is None:
        raise _of_custom(patched, resource)
    if (kind or wanted_kind, version or wanted_version) != (wanted_kind, wanted_version):
        raise _foreign(
            (version or wanted_version, kind or wanted_kind), (wanted_version, wanted_kind), resource, catalog
        )
    return {**patched, "kind": wanted_kind, "apiVersion": wanted_version}


def _foreign(actual: tuple[str, str], expected: tuple[str, str], resource: Resource, catalog: Catalog) -> ApiError:
    why = decode.foreign(catalog, actual, expected, resource.type)
    if why.startswith("no kind"):
        return errors.internal(why)
    package, expected_text = decode.internal_package(resource.type), f"{actual[0].rpartition('/')[2]}.{actual[1]}"
    return ApiError(500, "", why or f"converting ({expected_text}) to ({package}.{expected[1]}): unknown conversion")


def _of_custom(patched: Object, resource: Resource) -> ApiError:
    if not patched.get("kind"):
        return errors.internal(f"Object 'Kind' is missing in '{orjson.dumps(patched).decode()}'")
    name = fields.metadata(patched).get("name") or ""
    return errors.invalid(resource.group, patched["kind"], name, identity_causes(patched, resource))


def _unreadable(why: str) -> ApiError:
    return errors.internal(f"couldn't get version/kind; json parse error: json: {why}")


def _sort(value: Any) -> str:
    """The name of a JSON value's type in errors."""
    return next((name for sort, name in _NAMES if type(value) is sort), "null")
