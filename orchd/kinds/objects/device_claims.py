"""Claims of devices that pods have: their names, their owners, and for whom they are reserved. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.kinds import fields
from orchd.kinds.fields import name, namespace, uid
from orchd.kinds.jsonvalues import Object, ObjectView

#: Maximum number of users of a claim at the same time.
MAX_RESERVED = 256


class ClaimError(Exception):
    """The claim of a pod does not exist, or was made for another pod. The text is the reference's."""


class ClaimNotMadeError(ClaimError):
    """The claim from a template has not been created yet."""


def claim_name(pod: ObjectView, entry: Mapping[str, Any]) -> str | None:
    """The name of the claim of an entry in spec.resourceClaims; None if none is needed. Raises ClaimError."""
    if entry.get("resourceClaimName"):
        return str(entry["resourceClaimName"])
    if not entry.get("resourceClaimTemplateName"):
        raise ClaimError(
            f'pod "{namespace(pod)}/{name(pod)}", spec.resourceClaim "{entry["name"]}": none of the supported '
            "fields are set"
        )
    for entry_status in fields.status(pod).get("resourceClaimStatuses") or ():
        if entry_status.get("name") == entry["name"]:
            claim: str | None = entry_status.get("resourceClaimName")
            return claim
    raise ClaimNotMadeError(f'pod "{namespace(pod)}/{name(pod)}": ResourceClaim not created yet')


def is_generated(entry: Mapping[str, Any]) -> bool:
    """True if the claim of an entry is made from a template, so that its pod must own it."""
    return not entry.get("resourceClaimName")


def check_owner(pod: ObjectView, claim: ObjectView) -> None:
    """Raises ClaimError if a claim was not made for a pod."""
    owner = fields.owner(claim)
    if owner is None or owner.get("uid") != uid(pod) or namespace(claim) != namespace(pod):
        raise ClaimError(
            f"ResourceClaim {namespace(claim)}/{name(claim)} was not created for pod {namespace(pod)}/{name(pod)}"
            " (pod is not owner)"
        )


def is_reserved_for(pod_uid: str, claim: ObjectView) -> bool:
    return any(each.get("uid") == pod_uid for each in fields.status(claim).get("reservedFor") or ())


def reservation(pod_name: str, pod_uid: str) -> Object:
    """The entry of a pod in status.reservedFor."""
    return {"resource": "pods", "name": pod_name, "uid": pod_uid}
