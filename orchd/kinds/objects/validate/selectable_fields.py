"""Validation of the fields of custom kinds that field selectors may use: ``selectableFields`` of a definition's versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

#: Maximum number of different fields of a version.
MOST: Final = 8

_KINDS: Final = ("string", "boolean", "integer")
_TOKEN: Final = re.compile(r"[.\[\]]|[^.\[\]]+")


class _PathError(Exception):
    """An invalid path; the text is the reason."""


def validate_selectable_fields(version: Mapping[str, Any], schema: Mapping[str, Any] | None, at: Path, report: Report) -> None:
    """`schema` is the schema of the version, None without one."""
    listed = version.get("selectableFields") or ()
    if listed and schema is None:
        report.invalid(at, "", "may only be set when `version.schema.openAPIV3Schema` is not included")
        return
    seen: set[tuple[str, ...]] = set()
    for index, each in enumerate(listed):
        here, path = at[index] / "jsonPath", each.get("jsonPath") or ""
        if not path:
            report.required(here)
            continue
        try:
            names, found = _resolve(path, schema or {})
        except _PathError as error:
            report.invalid(here, path, f"is an invalid path: {error}")
            continue
        if names[0] == "metadata":
            report.invalid(here, path, "must not point to fields in metadata")
        if found.get("type") not in _KINDS:
            why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            report.invalid(here, path, why)
        if names in seen:
            report.duplicate(here, path)
        seen.add(names)
    if len(seen) > MOST:
        report.too_many(at, len(seen), MOST)


def _resolve(path: str, schema: Mapping[str, Any]) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """The names of a path ``.spec.color`` and the schema of its field. Raises _PathError."""
    names: list[str] = []
    tokens = iter(_TOKEN.findall(path))
    for token in tokens:
        if token == "[":
            raise _PathError("array notation is not allowed")
        if token != ".":
            raise _PathError(f"expected [ or . but got: {token}")
        name = next(tokens, "")
        if not name:
            raise _PathError("unexpected end of JSON path")
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        below = properties.get(name) if properties else more
        if not isinstance(below, Mapping):
            raise _PathError("does not refer to a valid field")
        schema = below
        names.append(name)
    return tuple(names), schema
