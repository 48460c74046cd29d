"""Fields that descriptions of claims, their templates and persistent volumes share."""

from __future__ import annotations

from orchd.ctl.printing.describe.sheet import Sheet
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.text import access_modes


def phase(sheet: Sheet, obj: Object, age: str) -> None:
    """Add the phase of a claim or volume; `age` is the time since its deletion."""
    deleted = obj["metadata"].get("deletionTimestamp")
    sheet.row("Status", f"Terminating (lasts {age})" if deleted else fields.status(obj).get("phase", ""))


def claim_rows(sheet: Sheet, obj: Object, storage_class: str, *, level: int = 0, age: str | None = None) -> None:
    """Add the fields of a claim; only those of its template without `age`, the time since its deletion."""
    metadata, spec, status = obj["metadata"], fields.spec(obj), fields.status(obj)
    indent = "  " * level
    sheet.row("StorageClass", storage_class, level)
    if age is not None:
        phase(sheet, obj, age)
    sheet.row("Volume", spec.get("volumeName", ""), level)
    sheet.labels(f"{indent}Labels", metadata.get("labels"))
    sheet.annotations(metadata.get("annotations"), f"{indent}Annotations")
    if age is not None:
        sheet.row("Finalizers", metadata.get("finalizers") or [])
    bound = bool(spec.get("volumeName"))
    sheet.row("Capacity", fields.mapping(status, "capacity").get("storage", "0") if bound else "", level)
    sheet.row("Access Modes", access_modes(status.get("accessModes")) if bound else "", level)
    sheet.rows(spec, {"volumeMode": "VolumeMode"}, level)
    if spec.get("dataSource"):
        sheet.line("DataSource:", level)
        sheet.rows(spec["dataSource"], {"apiGroup": "APIGroup", "kind": "Kind", "name": "Name"}, level + 1)
