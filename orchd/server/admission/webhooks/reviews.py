"""AdmissionReview documents (specification, "Webhook request and response"): requests and parsed responses."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.dialect import Dialect
from orchd.errors import ApiError, quoted
from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.gotext.values import json_name
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import CONNECT, CREATE, DELETE, UPDATE, Review

GROUP = "admission.{abbr}.io"
KIND = "AdmissionReview"
#: Supported versions of the document, preferred first.
SUPPORTED_VERSIONS = ("v1", "v1beta1")
_OPTIONS = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}
#: Members of the response -> type check, and the type's name in errors.
_TYPES: Mapping[str, tuple[type, str]] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "warnings": (list, "[]string"),
    "auditAnnotations": (dict, "map[string]string"),
    "status": (dict, "v1.Status"),
}


class BadReviewError(Exception):
    """A malformed AdmissionReview response. `called` distinguishes undecodable documents from invalid ones."""

    def __init__(self, text: str, *, called: bool = True) -> None:
        prefix = "received invalid webhook response: " if called else "failed to call webhook: "
        super().__init__(prefix + text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The response of a webhook."""

    allowed: bool
    status: Mapping[str, Any] = field(default_factory=dict)
    patch: bytes = b""
    patch_type: str = ""
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)


def version_for(accepted: tuple[str, ...]) -> str:
    """The first supported version that a webhook accepts, "" without one."""
    return next((v for v in accepted if v in SUPPORTED_VERSIONS), "")


def build_review(
    review: Review,
    target: Resource,
    obj: Object | None,
    old: Object | None,
    *,
    uid: str,
    version: str,
    dialect: Dialect,
) -> Object:
    """The AdmissionReview for a webhook that receives `target`'s version; the objects are already converted."""
    asked, target_names = _names(review, review.resource), _names(review, target)
    request: Object = {"uid": uid, "kind": target_names[0], "resource": target_names[1]}
    if review.subresource:
        request["subResource"] = review.subresource
    request["requestKind"], request["requestResource"] = asked
    if review.subresource:
        request["requestSubResource"] = review.subresource
    if review.name:
        request["name"] = review.name
    namespace = review.namespace or (review.name if review.resource.plural == "namespaces" else "")
    if namespace:
        request["namespace"] = namespace
    request |= {
        "operation": review.operation,
        "userInfo": review.user.as_json(),
        "object": obj,
        "oldObject": old,
        "dryRun": review.dry_run,
        "options": _options(review, dialect),
    }
    return {"kind": KIND, "apiVersion": f"{dialect(GROUP)}/{version}", "request": request}


def _names(review: Review, resource: Resource) -> tuple[Object, Object]:
    group, version, kind = review.kind or (resource.group, resource.version, resource.kind)
    return (
        {"group": group, "version": version, "kind": kind},
        {"group": resource.group, "version": resource.version, "resource": resource.plural},
    )


def _options(review: Review, dialect: Dialect) -> Object | None:
    if review.operation == CONNECT:
        return None
    options = {k: v for k, v in review.options.items() if k not in ("kind", "apiVersion", "force")}
    return {"kind": _OPTIONS[review.operation], "apiVersion": f"{dialect.meta_group}/v1", **options}


def patch_size(document: Object) -> int:
    """Characters of the patch of a response, 0 without one."""
    response = document.get("response")
    patch = response.get("patch") if isinstance(response, dict) else None
    return len(patch) if isinstance(patch, str) else 0


def parse_response(document: Object, *, uid: str, version: str, mutating: bool, dialect: Dialect) -> Verdict:
    """Parse a response. Raises BadReviewError."""
    group_version = f"{dialect(GROUP)}/{version}"
    given_version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    if (given_version or group_version, kind or KIND) != (group_version, KIND):
        actual_kind = f"{given_version.rpartition('/')[2] or version}.{kind or KIND}"
        raise BadReviewError(f"converting ({actual_kind}) to ({version}.{KIND}): unknown conversion", called=False)
    response = document.get("response")
    if response is None:
        raise BadReviewError("webhook response was absent")
    _check_types(response)
    patch = _patch(response.get("patch") or "")
    patch_type = response.get("patchType")
    if version == "v1":
        actual_uid = response.get("uid") or ""
        if actual_uid != uid:
            raise BadReviewError(f"expected response.uid={quoted(uid)}, got {quoted(actual_uid)}")
        if not given_version or not kind:
            actual = f"{given_version or '/'}, Kind={kind}"
            raise BadReviewError(f"expected webhook response of {group_version}, Kind={KIND}, got {actual}")
        _check_patch(patch, patch_type, mutating=mutating)
    elif patch:
        # This version never checked the patch type.
        patch_type = "JSONPatch"
    return Verdict(
        allowed=response.get("allowed") or False,
        status=fields.status(response),
        patch=patch if mutating else b"",
        patch_type=patch_type or "",
        warnings=tuple(response.get("warnings") or ()),
        annotations=response.get("auditAnnotations") or {},
    )


def _check_types(response: Any) -> None:
    """Check the types of members. Raises BadReviewError."""
    if not isinstance(response, dict):
        raise _type_mismatch(response, "AdmissionReview.response", "v1.AdmissionResponse")
    for member, (type_, name) in _TYPES.items():
        value = response.get(member)
        if value is not None and not isinstance(value, type_):
            raise _type_mismatch(value, f"AdmissionResponse.response.{member}", name)
    texts = [*(response.get("warnings") or ()), *(response.get("auditAnnotations") or {}).values()]
    for value in texts:
        if not isinstance(value, str):
            raise _type_mismatch(value, "AdmissionResponse.response.warnings", "string")


def _type_mismatch(value: Any, where: str, type_name: str) -> BadReviewError:
    return BadReviewError(
        f"json: cannot unmarshal {json_name(value)} into Go struct field {where} of type {type_name}", called=False
    )


def _patch(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        at = next((i for i, c in enumerate(text) if c not in alphabet), len(text))
        raise BadReviewError(f"illegal base64 data at input byte {at}", called=False) from None


def _check_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    if not mutating:
        for is_set, member in ((bool(patch), "patch"), (patch_type is not None, "patchType")):
            if is_set:
                raise BadReviewError(f"validating webhook may not return response.{member}")
    elif patch and patch_type is None:
        raise BadReviewError("webhook returned response.patch but not response.patchType")
    elif patch_type is not None and not patch:
        raise BadReviewError("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise BadReviewError('webhook returned invalid response.patchType of ""')


def denial(name: str, status: Mapping[str, Any]) -> ApiError:
    """The error for a denial with a webhook's status."""
    message, reason = status.get("message") or "", status.get("reason") or ""
    explanation = f": {message or reason}" if message or reason else " without explanation"
    code = status.get("code")
    error = ApiError(
        # HTTP has no code of more than three digits.
        code if isinstance(code, int) and 400 <= code <= 999 else 400,
        reason if isinstance(reason, str) else "",
        f"admission webhook {quoted(name)} denied the request{explanation}",
    )
    details = status.get("details")
    if isinstance(details, dict):
        error.details = details
    return error
