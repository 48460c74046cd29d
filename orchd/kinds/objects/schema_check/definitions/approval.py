"""Validation of the approval annotation of definitions in protected groups."""

from __future__ import annotations

from orchd.kinds.crd.approval import APPROVAL, approval, is_protected
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.paths import METADATA
from orchd.kinds.objects.validate.report import Report


def check(metadata: Object, spec: Object, report: Report, old: Object | None = None) -> None:
    """Check the approval of a definition in a protected group (enhancement 1111 of the reference).

    A state of the annotation that is unchanged from `old` metadata is accepted.
    """
    dialect = report.dialect
    if not is_protected(spec.get("group") or "", dialect):
        return
    state, why = approval(metadata, dialect)
    if old is not None and approval(old, dialect)[0] == state:
        return
    key = dialect(APPROVAL)
    if state == "missing":
        report.required((METADATA / "annotations")[key], why)
    elif state == "invalid":
        report.invalid((METADATA / "annotations")[key], (metadata.get("annotations") or {})[key], why)
