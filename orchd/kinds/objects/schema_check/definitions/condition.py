"""The NonStructuralSchema condition, for definitions of v1beta1 and older ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.errors import Cause
from orchd.kinds.conditions import find_condition
from orchd.kinds.crd.conditions import with_condition
from orchd.kinds.objects.schema_check.definitions import structural
from orchd.kinds.objects.schema_check.definitions.extension_keywords import extension_keywords
from orchd.kinds.objects.schema_check.definitions.schema import is_fine
from orchd.kinds.objects.schema_check.findings import aggregate
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import SPEC

NON_STRUCTURAL: Final = "NonStructuralSchema"


def with_structure(
    definition: Mapping[str, Any], status: dict[str, Any], settings: ObjectSettings, *, now: str
) -> dict[str, Any]:
    """`status` with the condition if a schema of `definition` is not structural, without it otherwise."""
    summary = _summarize(definition["spec"], settings)
    condition = find_condition(status, NON_STRUCTURAL)
    if summary is None:
        if condition is None:
            return status
        return {**status, "conditions": [c for c in status["conditions"] if c["type"] != NON_STRUCTURAL]}
    if (
        condition is not None
        and (condition.get("status"), condition.get("reason"), condition.get("message")) == summary
    ):
        return status
    return with_condition(status, NON_STRUCTURAL, *summary, now=now)


def _summarize(spec: Mapping[str, Any], settings: ObjectSettings) -> tuple[str, str, str] | None:
    """Status, reason and message of the condition, None if all schemas are structural."""
    causes: list[Cause] = []
    if spec.get("preserveUnknownFields"):
        causes.append(Cause("FieldValueInvalid", "Invalid value: true: must be false", "spec.preserveUnknownFields"))
    spelled = extension_keywords(settings.dialect)
    for i, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        status = (version.get("subresources") or {}).get("status") is not None
        if schema is None or is_fine(schema, settings, status=status):
            continue
        why = structural.unreadable(schema, spelled)
        if why:
            text = f"failed to check validation schema for version {version['name']}: {why}"
            return "Unknown", "StructuralError", text
        causes += structural.causes(schema, (SPEC / "versions")[i] / "schema" / "openAPIV3Schema", settings)
    return ("True", "Violations", aggregate(causes)) if causes else None
