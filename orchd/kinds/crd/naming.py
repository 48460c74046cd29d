"""Acceptance of the names in definitions (specification, "Custom resources": accepted names)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.conditions import find_condition
from orchd.kinds.crd.approval import approval, is_protected
from orchd.kinds.crd.conditions import APPROVED, ESTABLISHED, NAMES_ACCEPTED, authority_error, condition, with_condition
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.release import SPECIFICATION, Release

#: State of the approval annotation -> status and reason of the condition.
_APPROVALS: Final = {
    "approved": ("True", "ApprovedAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
    "invalid": ("False", "InvalidAnnotation"),
    "missing": ("False", "MissingAnnotation"),
}
_SINGLE: Final = (
    ("plural", "PluralConflict"), ("singular", "SingularConflict"), ("kind", "KindConflict"), ("listKind", "ListKindConflict")
)  # fmt: skip


@dataclass(slots=True)
class AcceptedNames:
    """Names accepted for other definitions of a group."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def add(self, accepted: ObjectView) -> None:
        """Add the accepted names of a definition."""
        self.resources.update(filter(None, (accepted.get("plural"), accepted.get("singular"))))
        self.resources.update(accepted.get("shortNames") or ())
        self.kinds.update(filter(None, (accepted.get("kind"), accepted.get("listKind"))))


def taken_by(accepted: Iterable[ObjectView]) -> AcceptedNames:
    out = AcceptedNames()
    for names in accepted:
        out.add(names)
    return out


def decide_names(
    definition: ObjectView, taken: AcceptedNames, dialect: Dialect, *, now: str, release: Release = SPECIFICATION
) -> dict[str, Any]:
    """The status of `definition` after name acceptance; equal to its status if nothing changes.

    An established kind stays established under its accepted names, even if later names conflict.
    """
    status: dict[str, Any] = dict(definition.get("status") or {})
    names, problem = _decide(definition["spec"]["names"], status.get("acceptedNames") or {}, taken)
    status["acceptedNames"] = names
    if problem is None:
        status = with_condition(status, NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found", now=now)
    else:
        status = with_condition(status, NAMES_ACCEPTED, "False", *problem, now=now)
    if condition(definition, ESTABLISHED) != "True":
        established = release.choose(_ESTABLISHED)(definition) if problem is None else _NOT_ACCEPTED
        status = with_condition(status, ESTABLISHED, *established, now=now)
    return _set_approval(definition, status, dialect, now=now)


_NOT_ACCEPTED: Final = ("False", "NotAccepted", "not all names are accepted")


def _accepted(definition: ObjectView) -> tuple[str, str, str]:
    """Status, reason and message of the condition of a kind whose names are accepted."""
    return "True", "InitialNamesAccepted", "the initial names have been accepted"


def _convertible(definition: ObjectView) -> tuple[str, str, str]:
    if authority_error(definition["spec"]):
        return "False", "InvalidCABundle", "The conversion webhook CABundle is invalid"
    return _accepted(definition)


_ESTABLISHED: Final = (("", _accepted), ("1.31", _convertible))


def _decide(
    requested: ObjectView, have: ObjectView, taken: AcceptedNames
) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """The accepted names, and reason and message of the last conflict."""
    names = {"plural": have.get("plural") or "", "kind": have.get("kind") or ""}
    names.update({key: value for key, value in have.items() if value})
    problem: tuple[str, str] | None = None
    for member, reason in _SINGLE:
        used = taken.resources if member in ("plural", "singular") else taken.kinds
        asked = requested.get(member) or ""
        if asked != (have.get(member) or "") and asked in used:
            problem = reason, f'"{asked}" is already in use'
        elif asked:
            names[member] = asked
        if member == "singular":
            problem = _short_names(requested, have, taken, names) or problem
    _replace(names, "categories", requested)
    return names, problem


def _short_names(
    requested: ObjectView, have: ObjectView, taken: AcceptedNames, names: dict[str, Any]
) -> tuple[str, str] | None:
    ours = frozenset(have.get("shortNames") or ())
    used = [
        f'"{name}" is already in use'
        for name in requested.get("shortNames") or ()
        if name not in ours and name in taken.resources
    ]
    if used:
        return "ShortNamesConflict", used[0] if len(used) == 1 else f"[{', '.join(used)}]"
    _replace(names, "shortNames", requested)
    return None


def _replace(names: dict[str, Any], member: str, requested: ObjectView) -> None:
    if requested.get(member):
        names[member] = requested[member]
    else:
        names.pop(member, None)


def _set_approval(definition: ObjectView, status: dict[str, Any], dialect: Dialect, *, now: str) -> dict[str, Any]:
    """Set the approval condition of a definition in a protected group."""
    if not is_protected(definition["spec"]["group"], dialect):
        return status
    state, text = approval(definition["metadata"], dialect)
    value, reason = _APPROVALS[state]
    type_ = dialect(APPROVED)
    condition = find_condition(status, type_)
    if condition is not None and (condition.get("status"), condition.get("reason"), condition.get("message")) == (
        value,
        reason,
        text,
    ):
        return status
    return with_condition(status, type_, value, reason, text, now=now)
