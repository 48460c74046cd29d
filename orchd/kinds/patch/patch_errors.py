"""The answers to patches that cannot be used, shared by the patch formats."""

from __future__ import annotations

from typing import Any

import orjson

from orchd.errors import ApiError, Cause
from orchd.kinds.patch.gotext import quoted


def rejected() -> ApiError:
    """422 without particulars: what a patch gets that is well-formed and does not fit the object."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", details={})


def server_error(message: str) -> ApiError:
    """500 with a bare message: the reference gives its merge errors no reason."""
    return ApiError(500, "", message)


def unusable_result(shown: str, why: str) -> ApiError:
    """422 for a patched object that does not decode. `shown` is the text of the result (or, for a strategic merge
    patch, of the patch), `why` what the decoder said."""
    message = f"Invalid value: {quoted(shown)}: {why}"
    cause = Cause("FieldValueInvalid", message, "patch")
    return ApiError(422, "Invalid", f' "" is invalid: patch: {message}', details={"causes": [cause.as_json()]})


def no_object(result: list[Any]) -> ApiError:
    """422 for a patch that makes a list of an object."""
    return unusable_result(
        orjson.dumps(result).decode(),
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    )
