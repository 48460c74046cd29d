"""Errors shared by the patch formats."""

from __future__ import annotations

from typing import Any

import orjson

from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import split_group_version
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object


def rejection() -> ApiError:
    """ApiError 422 without details, for a well-formed patch that does not fit the object."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def server_error(message: str) -> ApiError:
    """ApiError 500 with a message only: merge errors of the reference have no reason."""
    return ApiError(500, "", message)


def describe(api_version: str, obj: Object) -> str:
    """Format an object, which may be malformed, for errors of apply: ``namespace/name; group/version, Kind=Kind``."""
    metadata = obj.get("metadata")
    texts = (metadata.get(name) if isinstance(metadata, dict) else None for name in ("namespace", "name"))
    namespace, name = (text if isinstance(text, str) else "" for text in texts)
    kind = obj.get("kind")
    return f"{namespace}/{name}; {group_kind(api_version, kind if isinstance(kind, str) else '')}"


def group_kind(api_version: str, kind: str) -> str:
    """``group/version, Kind=Kind``, with an empty group for the core group."""
    return "{}/{}, Kind={}".format(*split_group_version(api_version), kind)


def unconvertible(api_version: str, kind: str, why: str) -> str:
    """The reason why an applied object cannot be decoded; `why` is the decoder's message."""
    return f"unable to convert unstructured object to {group_kind(api_version, kind)}: {why}"


def unusable_result(quoted: str, why: str) -> ApiError:
    """ApiError 422 for a patched object that cannot be decoded. `quoted` is the text of the result (for a strategic
    merge patch, of the patch), `why` the decoder's message."""
    message = f"Invalid value: {quote(quoted)}: {why}"
    cause = Cause("FieldValueInvalid", message, "patch")
    return ApiError(422, "Invalid", f' "" is invalid: patch: {message}', details={"causes": [cause.as_json()]})


def no_object(result: list[Any]) -> ApiError:
    """ApiError 422 for a patch that replaces an object by a list."""
    return unusable_result(
        orjson.dumps(result).decode(),
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    )
