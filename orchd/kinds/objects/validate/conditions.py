"""Validation of conditions in the common form (meta/v1 Condition)."""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import reworded
from orchd.kinds.objects.validate.core.field_rules import is_qualified
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_STATUSES: Final = ("False", "True", "Unknown")
_MAX_REASON: Final = 1024
_MAX_MESSAGE: Final = 32 * 1024
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RE: Final = re.compile(_REASON).fullmatch
_BAD_REASON: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)


_UNSET: Final = reworded("must be set", ("1.31", ""))


def conditions(listed: list[Object], at: Path, report: Report) -> None:
    """Validate conditions: at most one per type, each complete."""
    seen: set[str] = set()
    for i, condition in enumerate(listed):
        kind = condition.get("type") or ""
        if kind in seen:
            report.duplicate(at[i] / "type", kind)
        seen.add(kind)
        _condition(condition, at[i], report)


def _condition(condition: Object, at: Path, report: Report) -> None:
    status, reason = condition.get("status") or "", condition.get("reason") or ""
    is_qualified(condition.get("type") or "", at / "type", report)
    if status not in _STATUSES:
        report.unsupported(at / "status", status, _STATUSES)
    if (condition.get("observedGeneration") or 0) < 0:
        why = "must be greater than or equal to zero"
        report.invalid(at / "observedGeneration", condition["observedGeneration"], why)
    if not condition.get("lastTransitionTime"):
        report.required(at / "lastTransitionTime", _UNSET)
    if not reason:
        report.required(at / "reason", _UNSET)
    else:
        if not _REASON_RE(reason):
            report.invalid(at / "reason", reason, _BAD_REASON)
        if len(reason.encode()) > _MAX_REASON:
            report.too_long(at / "reason", _MAX_REASON)
    if len((condition.get("message") or "").encode()) > _MAX_MESSAGE:
        report.too_long(at / "message", _MAX_MESSAGE)
