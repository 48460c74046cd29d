"""`ApiError`, the exception that is rendered as a response, with a constructor per reason. Plain data, no HTTP.

The shape is the API's Status object (specification, "Response Status Kind"). Raise it anywhere below the pipeline;
`orchd.server.pipeline` renders it in one place. Messages name the resource as the API does: ``pods "a" not found``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any, Final

#: Maximum number of causes in one error, and of characters after which it has no further ones: many may quote one value.
MAX_CAUSES: Final = 500
_CAUSES_LENGTH: Final = 512 * 1024


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of an error. `reason` is a cause type such as FieldValueInvalid; `field` a path such as
    ``spec.containers[0].name``."""

    reason: str
    message: str
    field: str = ""

    def as_json(self) -> dict[str, str]:
        out = {"reason": self.reason, "message": self.message, "field": self.field}
        return {k: v for k, v in out.items() if v}


class ApiError(Exception):
    """An error that becomes a Status of status "Failure".

    `code` is the HTTP status, `reason` the machine-readable word ("" where the API sends none), `details` the JSON
    of `StatusDetails` or None, `headers` extra response headers.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = None if details is None else dict(details)
        self.headers: dict[str, str] = dict(headers or {})
        #: Metadata of the Status object: the continue token of an expired list.
        self.list_metadata: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<ApiError {self.code} {self.reason}: {self.message}>"

    def status(self) -> dict[str, Any]:
        """The Status object, as JSON data."""
        out: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.list_metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            out["reason"] = self.reason
        if self.details is not None:
            out["details"] = self.details
        out["code"] = self.code
        return out


def _details(group: str, kind: str, name: str = "", causes: Iterable[Cause] = (), **more: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if name:
        out["name"] = name
    if group:
        out["group"] = group
    if kind:
        out["kind"] = kind
    entries = [c.as_json() for c in causes]
    if entries:
        out["causes"] = entries
    out.update(more)
    return out


_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}


def quoted(text: str) -> str:
    """A quoted string in the format of messages: printable characters verbatim, others escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def qualified(group: str, resource: str) -> str:
    """A resource in the format of messages: ``pods``, ``deployments.apps``."""
    return f"{resource}.{group}" if group else resource


def not_found(group: str, resource: str, name: str) -> ApiError:
    return ApiError(
        404,
        "NotFound",
        f"{qualified(group, resource)} {quoted(name)} not found",
        details=_details(group, resource, name),
    )


def page_not_found() -> ApiError:
    """404 for a path below an API root that does not name a served resource."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(group: str, resource: str, name: str) -> ApiError:
    return ApiError(
        409,
        "AlreadyExists",
        f'{qualified(group, resource)} "{name}" already exists',
        details=_details(group, resource, name),
    )


def generated_name_conflict(group: str, resource: str, name: str, *, retry_after: int = 1) -> ApiError:
    """409 for a generated name that exists already; the client may retry."""
    return ApiError(
        409,
        "AlreadyExists",
        f'{qualified(group, resource)} "{name}" already exists, the server was not able to generate a unique '
        "name for the object",
        details=_details(group, resource, name, retryAfterSeconds=retry_after),
        headers={"Retry-After": str(retry_after)},
    )


def conflict(group: str, resource: str, name: str, why: str, causes: Iterable[Cause] = ()) -> ApiError:
    return ApiError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {why}',
        details=_details(group, resource, name, causes),
    )


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def invalid(group: str, kind: str, name: str, causes: Iterable[Cause]) -> ApiError:
    """422 with the first causes. The message lists distinct causes, in brackets if there are several."""
    first = list(islice(causes, MAX_CAUSES))
    lengths = accumulate((len(cause.message) for cause in first), initial=0)
    limited = [cause for cause, before in zip(first, lengths, strict=False) if before < _CAUSES_LENGTH]
    seen: dict[str, None] = {}
    for cause in limited:
        seen.setdefault(f"{cause.field}: {cause.message}" if cause.field else cause.message)
    lines = list(seen)
    text = lines[0] if len(lines) == 1 else "[" + ", ".join(lines) + "]"
    title = f"{kind}.{group}" if group else kind
    return ApiError(
        422, "Invalid", f'{title} "{name}" is invalid: {text}', details=_details(group, kind, name, limited)
    )


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, name: str, why: str) -> ApiError:
    """403 by admission or authorization. `why` follows ``... is forbidden: `` in the message."""
    named = f'{qualified(group, resource)} "{name}"' if name else qualified(group, resource)
    head = f"{named} is forbidden: " if resource else "forbidden: "
    return ApiError(403, "Forbidden", head + why, details=_details(group, resource, name))


def method_not_supported(group: str, resource: str, verb: str) -> ApiError:
    return ApiError(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{qualified(group, resource)}"',
        details=_details(group, resource),
    )


def method_not_allowed() -> ApiError:
    """405 for an HTTP method that the path does not support."""
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def not_acceptable(accepted: Iterable[str]) -> ApiError:
    return ApiError(406, "NotAcceptable", "only the following media types are accepted: " + ", ".join(accepted))


def unsupported_media_type(accepted: Iterable[str]) -> ApiError:
    return ApiError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted),
    )


def gone(message: str) -> ApiError:
    return ApiError(410, "Gone", message)


def expired(message: str) -> ApiError:
    """410 for a resource version or continue token that is too old."""
    return ApiError(410, "Expired", message)


def too_large(limit: int) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def too_many_requests(message: str) -> ApiError:
    return ApiError(429, "TooManyRequests", message, details={"retryAfterSeconds": 1}, headers={"Retry-After": "1"})


def timeout(message: str, *, retry_after: int = 0) -> ApiError:
    """504 for an operation that exceeded a time limit of the server."""
    details: dict[str, Any] = {"retryAfterSeconds": retry_after} if retry_after else {}
    return ApiError(504, "Timeout", message, details=details)


def resource_version_too_large(requested: int, current: int, *, retry_after: int = 1) -> ApiError:
    """504 for a read at a minimum resource version that the server has not reached."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {requested}, current: {current}",
        details={"causes": [cause.as_json()], **({"retryAfterSeconds": retry_after} if retry_after else {})},
        headers={"Retry-After": str(retry_after)} if retry_after else {},
    )


def internal(message: str) -> ApiError:
    return ApiError(
        500, "InternalError", f"Internal error occurred: {message}", details={"causes": [Cause("", message).as_json()]}
    )


def unavailable(message: str, *, retry_after: int = 1) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message, headers={"Retry-After": str(retry_after)})
