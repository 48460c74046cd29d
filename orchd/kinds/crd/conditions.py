"""The conditions of a definition's status, and the finalizer for the deletion of its instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Object = Mapping[str, Any]

#: Keeps a deleted definition until its instances are deleted.
FINALIZER: Final = "customresourcecleanup.apiextensions.{abbr}.io"

NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"
APPROVED: Final = "{Long}APIApprovalPolicyConformant"


def condition(definition: Object, type_: str) -> str:
    """The status of a condition of a definition, "" if it is not set."""
    found = find(definition.get("status") or {}, type_)
    return "" if found is None else str(found.get("status") or "")


def find(status: Object, type_: str) -> Object | None:
    """The condition of a type in a status, None if it is not set."""
    for each in status.get("conditions") or ():
        if each.get("type") == type_:
            found: Object = each
            return found
    return None


def established(definition: Object) -> bool:
    """True if the kind of a definition is established."""
    return condition(definition, ESTABLISHED) == "True"


def with_condition(status: Object, type_: str, value: str, reason: str, message: str, *, now: str) -> dict[str, Any]:
    """`status` with a condition set. lastTransitionTime only changes with the status of the condition."""
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
