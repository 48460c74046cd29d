"""The conditions of a definition's status, and the finalizer for the deletion of its instances."""

from __future__ import annotations

import base64
from typing import Any, Final

from orchd.kinds import conditions, fields
from orchd.kinds.jsonvalues import ObjectView
from orchd.pemblocks import ca_bundle_error

#: Keeps a deleted definition until its instances are deleted.
FINALIZER: Final = "customresourcecleanup.apiextensions.{abbr}.io"

NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"
APPROVED: Final = "{Long}APIApprovalPolicyConformant"


def condition(definition: ObjectView, type_: str) -> str:
    """The status of a condition of a definition, "" if it is not set."""
    first = conditions.find_condition(fields.status(definition), type_)
    return "" if first is None else str(first.get("status") or "")


def authority_error(spec: ObjectView) -> str:
    """Why the caBundle of a definition's conversion webhook cannot be used; "" if it can, and without one."""
    bundle = fields.mapping(spec, "conversion", "webhook", "clientConfig").get("caBundle")
    return ca_bundle_error(base64.b64decode(bundle)) if bundle else ""


def is_established(definition: ObjectView) -> bool:
    """True if the kind of a definition is established."""
    return condition(definition, ESTABLISHED) == "True"


def with_condition(
    status: ObjectView, type_: str, value: str, reason: str, message: str, *, now: str
) -> dict[str, Any]:
    """`status` with a condition set. lastTransitionTime only changes with the status of the condition."""
    condition_ = {"type": type_, "status": value, "lastTransitionTime": now, "reason": reason, "message": message}
    return {**status, "conditions": conditions.with_condition(status.get("conditions") or (), condition_)}
