"""Validation of the status of jobs since release 1.32, when controllers outside may write it.

A rule applies to a change that concerns it: a status that is wrong already may change elsewhere.
"""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.jobindexes import IndexesError, count, overlap
from orchd.kinds.objects.validate.paths import STATUS
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.times import parse_time

_CONDITIONS: Final = STATUS / "conditions"
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


def transition(job: Object, old: Object, report: Report) -> None:
    """Validate a change of a job's status, beyond the values of single fields."""
    now, before = _State(job), _State(old)
    _times(now, before, report)
    _conditions(now, before, report)
    _finished(now, before, report)
    _indexes(now, before, report)
    _pods(now, before, report)
    _exclusive(now, report)
    _kept(now, before, report)


class _State:
    """A job's status: its members, and which of its conditions are true."""

    __slots__ = ("spec", "status", "true")

    def __init__(self, job: Object) -> None:
        self.spec = fields.spec(job)
        self.status = fields.status(job)
        self.true = {c.get("type") for c in self.status.get("conditions") or () if c.get("status") == "True"}

    @property
    def finished(self) -> bool:
        return bool(self.true & {"Complete", "Failed"})

    def differs(self, other: _State, *members: str) -> bool:
        return any(self.status.get(member) != other.status.get(member) for member in members)

    def turned(self, other: _State, *conditions: str) -> bool:
        """True if a condition became true or ceased to be."""
        return any((name in self.true) != (name in other.true) for name in conditions)


def _time(text: Any) -> Any:
    return dump("*v1.Time", text, str(text))


def _times(now: _State, before: _State, report: Report) -> None:
    status, end = now.status, now.status.get("completionTime")
    if now.turned(before, "Complete", "Failed") and {"Complete", "Failed"} <= now.true:
        report.inadmissible(_CONDITIONS, "cannot set Complete=True and Failed=true conditions")
    if now.turned(before, "Complete", "FailureTarget") and {"Complete", "FailureTarget"} <= now.true:
        report.inadmissible(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions")
    if now.turned(before, "Complete") or now.differs(before, "completionTime"):
        if end is not None and "Complete" not in now.true:
            why = "cannot set completionTime when there is no Complete=True condition"
            report.invalid(STATUS / "completionTime", _time(end), why)
        if end is None and "Complete" in now.true:
            report.required(STATUS / "completionTime", "completionTime is required for Complete jobs")
    start = status.get("startTime")
    if start and end and now.differs(before, "startTime", "completionTime") and parse_time(end) < parse_time(start):
        report.invalid(STATUS / "completionTime", _time(end), "must be equal to or after `startTime`")


def _conditions(now: _State, before: _State, report: Report) -> None:
    failed = now.turned(before, "Failed") or now.differs(before, "failedIndexes")
    if failed and "Failed" in now.true and "FailureTarget" not in now.true:
        why = "cannot set Failed=True condition without the FailureTarget=true condition"
        report.inadmissible(_CONDITIONS, why)
    completed = now.turned(before, "Complete", "SuccessCriteriaMet")
    if completed and "Complete" in now.true and "SuccessCriteriaMet" not in now.true:
        why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        report.inadmissible(_CONDITIONS, why)


def _finished(now: _State, before: _State, report: Report) -> None:
    status, changed = now.status, now.finished != before.finished
    if not now.finished:
        return
    if (status.get("active") or 0) > 0 and (changed or now.differs(before, "active")):
        report.invalid(STATUS / "active", status["active"], "active>0 is invalid for finished job")
    nothing_to_do = now.spec.get("suspend") is True and now.spec.get("completions") == 0
    if status.get("startTime") is None and not nothing_to_do and (changed or now.differs(before, "startTime")):
        report.required(STATUS / "startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if (uncounted.get("failed") or uncounted.get("succeeded")) and (
        changed or now.differs(before, "uncountedTerminatedPods")
    ):
        rendered = dump("batch.UncountedTerminatedPods", uncounted)
        report.invalid(STATUS / "uncountedTerminatedPods", rendered, "must be empty for finished job")


def _indexes(now: _State, before: _State, report: Report) -> None:
    spec, status = now.spec, now.status
    completions, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    new_completed, new_failed = now.differs(before, "completedIndexes"), now.differs(before, "failedIndexes")
    for member, text, concerned in (
        ("completedIndexes", completed, new_completed),
        ("failedIndexes", failed, new_failed and limit is not None),
    ):
        if concerned and text and completions is not None:
            try:
                count(text, completions)
            except IndexesError as error:
                report.invalid(STATUS / member, text, f"error parsing {member}: {error}")
    if new_completed and completed and spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        report.invalid(STATUS / "completedIndexes", completed, why)
    if new_failed and failed is not None and limit is None:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        report.invalid(STATUS / "failedIndexes", failed, why)
    if (new_completed or new_failed) and failed and completions is not None:
        both = overlap(completed, failed, completions)
        if both is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {both}"
            report.invalid(STATUS / "failedIndexes", failed, why)


def _pods(now: _State, before: _State, report: Report) -> None:
    status, terminating, ready = now.status, now.status.get("terminating") or 0, now.status.get("ready")
    changed = now.finished != before.finished or now.differs(before, "terminating")
    if changed and now.finished and terminating > 0:
        report.invalid(STATUS / "terminating", terminating, "terminating>0 is invalid for finished job")
    if ready is not None and ready > (status.get("active") or 0) and now.differs(before, "ready", "active"):
        report.invalid(STATUS / "ready", ready, "cannot set more ready pods than active")


def _exclusive(now: _State, report: Report) -> None:
    for other in ("Failed", "FailureTarget"):
        if {"SuccessCriteriaMet", other} <= now.true:
            name = "Failed" if other == "Failed" else other
            report.inadmissible(_CONDITIONS, f"cannot set SuccessCriteriaMet=True and {name}=true conditions")
    if now.spec.get("successPolicy") is not None and "SuccessCriteriaMet" not in now.true and "Complete" in now.true:
        why = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        report.inadmissible(_CONDITIONS, why)


def _kept(now: _State, before: _State, report: Report) -> None:
    """Validate what may not be taken back."""
    status, was = now.status, before.status
    for name in _TERMINAL:
        if name in before.true and name not in now.true:
            report.inadmissible(_CONDITIONS, f"cannot disable the terminal {name}=True condition")
    scaled = now.spec.get("completionMode") == "Indexed" and now.spec.get("completions") == now.spec.get("parallelism")
    for member in ("failed",) if scaled else ("failed", "succeeded"):
        if (status.get(member) or 0) < (was.get(member) or 0):
            report.invalid(STATUS / member, status.get(member) or 0, f"cannot decrease the {member} counter")
    end = status.get("completionTime")
    if end is not None and was.get("completionTime") is not None and end != was["completionTime"]:
        report.invalid(STATUS / "completionTime", _time(end), "field is immutable")
    resuming = "Suspended" in before.true and any(
        c.get("type") == "Suspended" and c.get("status") == "False" for c in status.get("conditions") or ()
    )
    started = was.get("startTime") is not None and not resuming and not now.spec.get("suspend")
    if started and now.differs(before, "startTime"):
        report.required(STATUS / "startTime", "startTime cannot be removed for unsuspended job")
    if "SuccessCriteriaMet" in before.true and "SuccessCriteriaMet" not in now.true:
        report.inadmissible(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in before.true and "SuccessCriteriaMet" not in before.true and "SuccessCriteriaMet" in now.true:
        why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        report.inadmissible(_CONDITIONS, why)
