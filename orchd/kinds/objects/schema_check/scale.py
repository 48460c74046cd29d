"""Validation of the fields that a scale subresource maps to."""

from __future__ import annotations

from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.crd.scale import ScaleMapping
from orchd.kinds.gotext.values import go_type
from orchd.kinds.objects.schema_check.findings import invalid
from orchd.kinds.release import Release

_MOST: Final = 2**31 - 1


def find_nested(obj: Any, steps: tuple[str, ...]) -> tuple[Any, str]:
    """The value at `steps` (None if absent), and the error if a parent is neither an object nor null ("" otherwise)."""
    value = obj
    for i, step in enumerate(steps):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            path = "." + ".".join(steps[: i + 1])
            return (
                None,
                f"{path} accessor error: {_plain(value)} is of the type {go_type(value)}, expected "
                f"map[string]interface{{}}",
            )
        if step not in value:
            return None, ""
        value = value[step]
    return value, ""


def _plain(value: Any) -> str:
    """Format a value without quotes."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + " ".join(map(_plain, value)) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{_plain(value[k])}" for k in sorted(value)) + "]"
    return str(value)


def spec_causes(obj: Any, mapping: ScaleMapping, release: Release) -> list[Cause]:
    """Findings about the desired number of replicas."""
    return _replicas(obj, mapping.spec_replicas, release)


def status_causes(obj: Any, mapping: ScaleMapping, release: Release) -> list[Cause]:
    """Findings about the observed number of replicas and the selector."""
    out = _replicas(obj, mapping.status_replicas, release)
    if mapping.selector:
        value, why = find_nested(obj, mapping.selector)
        at = "." + ".".join(mapping.selector)
        if not why and value is not None and not isinstance(value, str):
            why = f"{at} accessor error: {_plain(value)} is of the type {go_type(value)}, expected string"
        if why:
            out.append(invalid(at, "", why, release))
    return out


def _replicas(obj: Any, steps: tuple[str, ...], release: Release) -> list[Cause]:
    at = "." + ".".join(steps)
    value, why = find_nested(obj, steps)
    if not why and value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        why = f"{at} accessor error: {_plain(value)} is of the type {go_type(value)}, expected int64"
    if why:
        return [invalid(at, 0, why, release)]
    if value is None:
        return []
    if value < 0:
        return [invalid(at, value, "should be a non-negative integer", release)]
    if value > _MOST:
        return [invalid(at, value, f"should be less than or equal to {_MOST}", release)]
    return []
