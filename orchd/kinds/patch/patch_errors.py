"""Errors shared by the patch formats."""

from __future__ import annotations

from typing import Any

import orjson

from orchd.errors import ApiError, Cause
from orchd.kinds.gotext.values import quote


def rejection() -> ApiError:
    """ApiError 422 without details, for a well-formed patch that does not fit the object."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def server_error(message: str) -> ApiError:
    """ApiError 500 with a message only: merge errors of the reference have no reason."""
    return ApiError(500, "", message)


def unusable_result(shown: str, why: str) -> ApiError:
    """ApiError 422 for a patched object that cannot be decoded. `shown` is the text of the result (for a strategic merge
    patch, of the patch), `why` the decoder's message."""
    message = f"Invalid value: {quote(shown)}: {why}"
    cause = Cause("FieldValueInvalid", message, "patch")
    return ApiError(422, "Invalid", f' "" is invalid: patch: {message}', details={"causes": [cause.as_json()]})


def no_object(result: list[Any]) -> ApiError:
    """ApiError 422 for a patch that replaces an object by a list."""
    return unusable_result(
        orjson.dumps(result).decode(),
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    )
