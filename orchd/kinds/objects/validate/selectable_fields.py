"""Validation of the fields of custom kinds that field selectors may use: ``selectableFields`` of a definition's
versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.objects.schema_check.field_paths import FieldPathError, resolve
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

#: Maximum number of different fields of a version.
MOST: Final = 8

_KINDS: Final = ("string", "boolean", "integer")


def validate_selectable_fields(
    version: Mapping[str, Any], schema: Mapping[str, Any] | None, at: Path, report: Report
) -> None:
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
            names, _, leaf = resolve(path, schema or {}, brackets=False)
        except FieldPathError as error:
            report.invalid(here, path, f"is an invalid path: {error}")
            continue
        if names[0] == "metadata":
            report.invalid(here, path, "must not point to fields in metadata")
        if leaf.get("type") not in _KINDS:
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            report.invalid(here, path, why)
        if names in seen:
            report.duplicate(here, path)
        seen.add(names)
    if len(seen) > MOST:
        report.too_many(at, len(seen), MOST)
