"""The annotation that a definition in one of the API's own groups needs."""

from __future__ import annotations

from typing import Any

from orchd.kinds.crd.approval import APPROVAL, approval, is_protected
from orchd.kinds.objects.validate.paths import METADATA
from orchd.kinds.objects.validate.report import Report

Object = dict[str, Any]


def check(metadata: Object, spec: Object, report: Report, old: Object | None = None) -> None:
    """Groups under the project's own domains need a public decision (its enhancement 1111). Where what is said of it has
    not changed from `old` metadata, it is let pass."""
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
