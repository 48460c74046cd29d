"""A complete built-in kind: Backups of the group ``backup.{abbr}.io``, which name a claim and how long copies are kept.

The upper half is a module as in `orchd/kinds/builtin/`, the lower half holds the functions that the row names. See
docs/extending/kind.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.objects.tabulate.text import Cells, Printing
from orchd.kinds.objects.validate import meta, names
from orchd.kinds.objects.validate.paths import SPEC
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.rows import UNSUPPORTED_FIELD, FieldSelectors, KindRow, Row, Subresource, Table, Validation

Object = dict[str, Any]

GROUP: Final = "backup.{abbr}.io"
VERSION: Final = "v1"
DEFINITIONS: Final = "io.{abbr}.api.backup.v1."

RESOURCES: Final[tuple[Row, ...]] = (
    KindRow(
        kind="Backup",
        plural="backups",
        namespaced=True,
        short_names=("bk",),
        key="backups",
        table=Table(
            "tabulate.backups.backup", ("Name|name", "Claim", "Copies|integer", "Age"), {"Copies": "Copies kept."}
        ),
        fields=FieldSelectors(
            names=("spec.claimName",), values="tabulate.backups.field_values", unsupported=UNSUPPORTED_FIELD
        ),
        validation=Validation(create="validate.backups.create", update="validate.backups.update"),
        generation=("spec",),
        subresources=(Subresource(name="status", update="validate.backups.update_status"),),
    ),
)

TYPES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    "Backup": (
        ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
        ("spec", 2, "BackupSpec", "omit"),
        ("status", 3, "BackupStatus", "omit"),
    ),
    "BackupSpec": (("claimName", 1, "string", "required"), ("copies", 2, "int32", "omit ptr default=3")),
    "BackupStatus": (("lastBackupTime", 1, "time", "omit ptr"),),
}


# --- validation: orchd/kinds/objects/validate/backups.py


def create(value: Object, report: Report) -> None:
    """All errors of a new Backup."""
    meta.create(value, report, namespaced=True, name_rule=names.subdomain_name)
    _spec(value.get("spec") or {}, report)


def update(value: Object, old: Object, report: Report) -> None:
    """All errors of a change; the claim cannot change."""
    meta.update(value, old, report)
    spec, before = value.get("spec") or {}, old.get("spec") or {}
    report.immutable(SPEC / "claimName", spec.get("claimName"), before.get("claimName"))
    _spec(spec, report)


def update_status(value: Object, old: Object, report: Report) -> None:
    """All errors of a change of the status."""
    meta.update(value, old, report)


def _spec(spec: Object, report: Report) -> None:
    if not spec.get("claimName"):
        report.required(SPEC / "claimName")
    report.nonnegative(SPEC / "copies", spec.get("copies"))


# --- tables and selectable fields: orchd/kinds/objects/tabulate/backups.py


def backup(value: Mapping[str, Any], printing: Printing) -> Cells:
    """Name, claim, number of copies, age."""
    metadata, spec = value["metadata"], value.get("spec") or {}
    return [
        metadata["name"],
        spec.get("claimName", ""),
        spec.get("copies"),
        printing.age(metadata.get("creationTimestamp")),
    ]


def field_values(value: Mapping[str, Any]) -> dict[str, str]:
    """Values of the selectable fields."""
    return {"spec.claimName": (value.get("spec") or {}).get("claimName", "")}
