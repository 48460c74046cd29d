"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any

from orchd.errors import bad_request
from orchd.kinds.gotext.values import json_name
from orchd.kinds.patch.patch_errors import no_object
from orchd.kinds.patch.syntax import SyntaxProblem, decode


def apply(doc: dict[str, Any], patch: bytes | str | dict[str, Any]) -> dict[str, Any]:
    """Apply `patch` to a document. Raises ApiError: 400 for a malformed patch, 422 if the result is not an object."""
    value: Any = patch
    if isinstance(patch, bytes | str):
        try:
            value = decode(patch, exact=True)
        except SyntaxProblem:
            raise bad_request("Invalid JSON Patch") from None
    if isinstance(value, list):
        raise no_object(value)
    if not isinstance(value, dict):
        raise bad_request("Invalid JSON Patch")
    return merge(doc, value)


def check(patch: bytes) -> None:
    """Raise ApiError 400 unless `patch` is an object. First step of strict decoding."""
    why = ""
    try:
        value = decode(patch)
    except SyntaxProblem as problem:
        why, value = str(problem), None
    if value is not None and not isinstance(value, dict):
        why = f"json: cannot unmarshal {json_name(value)} into Go value of type map[string]interface {{}}"
    if why:
        raise bad_request(f"error decoding patch: {why}")


def merge(doc: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Merge two objects: null removes, objects are merged, other values replace. Members are sorted where they are
    looked at, as in errors of the reference about the result."""
    out = dict(doc)
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
            continue
        old = out.get(key)
        if isinstance(old, dict):
            # A value other than an object replaces unchanged, including nulls inside lists.
            out[key] = merge(old, value) if isinstance(value, dict) else value
        else:
            out[key] = _without_nulls(value)
    return dict(sorted(out.items()))


def _without_nulls(value: Any) -> Any:
    """A new value without null members in its objects, which have no value to remove."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in sorted(value.items()) if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value


def diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A patch that turns `old` into `new`, where `new` has no null members."""
    out: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            inner = diff(before, value)
            if inner:
                out[key] = inner
        elif key not in old or before != value or type(before) is not type(value):
            out[key] = value
    return out
