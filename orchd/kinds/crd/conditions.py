"""The conditions in a definition's status, and the finalizer that holds it until its instances are gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Object = Mapping[str, Any]

#: Holds a deleted definition.
FINALIZER: Final = "customresourcecleanup.apiextensions.{abbr}.io"

NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"
APPROVED: Final = "{Long}APIApprovalPolicyConformant"


def condition(definition: Object, type_: str) -> str:
    """The status of one of a definition's conditions, "" when it has not been set."""
    found = find(definition.get("status") or {}, type_)
    return "" if found is None else str(found.get("status") or "")


def find(status: Object, type_: str) -> Object | None:
    """A condition of a status."""
    for each in status.get("conditions") or ():
        if each.get("type") == type_:
            found: Object = each
            return found
    return None


def established(definition: Object) -> bool:
    """Is the definition's kind served?"""
    return condition(definition, ESTABLISHED) == "True"


def with_condition(status: Object, type_: str, value: str, reason: str, message: str, *, now: str) -> dict[str, Any]:
    """`status` with a condition set; the time of its last transition stays unless its status changes."""
    made = {"type": type_, "status": value, "lastTransitionTime": now, "reason": reason, "message": message}
    conditions = list(status.get("conditions") or ())
    for i, old in enumerate(conditions):
        if old.get("type") == type_:
            if old.get("status") == value:
                made["lastTransitionTime"] = old.get("lastTransitionTime")
            conditions[i] = made
            break
    else:
        conditions.append(made)
    return {**status, "conditions": conditions}
