"""Owners of the claims of a stateful set, by which the garbage collector applies the retention policy. Pure."""

from __future__ import annotations

from typing import Any

from orchd.controllers.statefulset.ordinals import ordinals
from orchd.kinds.fields import mapping, name, owner_reference, owners, spec, uid
from orchd.kinds.jsonvalues import Object


def _owns(parent: Object, number: int) -> tuple[bool, bool]:
    """Whether the set and the pod of a number own the claims of the pod: the set does if its deletion deletes claims, a
    pod that is scaled down if that does."""
    policy = mapping(spec(parent), "persistentVolumeClaimRetentionPolicy")
    pod_owns = policy.get("whenScaled") == "Delete" and number not in ordinals(parent)
    return policy.get("whenDeleted") == "Delete" and not pod_owns, pod_owns


def controlling_owners(claim: Object, parent: Object, pod: Object, number: int) -> list[Any] | None:
    """The owner references that a claim of the pod of a number should have; None if it has them. Owners are
    controllers: a claim that another object controls gets none, and one of a former set or pod is left to the garbage
    collector."""
    references = owners(claim)
    heads = ((parent, "apps/v1", "StatefulSet"), (pod, "v1", "Pod"))
    kept = []
    for each in references:
        same = next((o for o, _, kind in heads if each.get("kind") == kind and each.get("name") == name(o)), None)
        if same is None:
            kept.append(each)
        elif each.get("uid") != uid(same):
            return None
    owns = _owns(parent, number)
    desired = kept
    if not any(owns) or not any(each.get("controller") for each in kept):
        desired = [*kept, *(owner_reference(*head) for head, own in zip(heads, owns, strict=True) if own)]
    controllers = {each.get("uid"): bool(each.get("controller")) for each in references}
    return None if {e.get("uid"): bool(e.get("controller")) for e in desired} == controllers else desired


def plain_owners(claim: Object, parent: Object, pod: Object, number: int) -> list[Any] | None:
    """The owner references that a claim of the pod of a number should have; None if it has them. Owners are no
    controllers."""
    set_owns, pod_owns = _owns(parent, number)
    references = owners(claim)
    desired = references
    for owner, owns, head in (
        (parent, set_owns, {"apiVersion": "apps/v1", "kind": "StatefulSet"}),
        (pod, pod_owns, {"apiVersion": "v1", "kind": "Pod"}),
    ):
        there = any(each.get("uid") == uid(owner) for each in desired)
        if owns and not there:
            desired = [*desired, {**head, "name": name(owner), "uid": uid(owner)}]
        elif there and not owns:
            desired = [each for each in desired if each.get("uid") != uid(owner)]
    return None if desired is references else desired


def is_stale(claim: Object, pod: str) -> bool:
    """True if a former pod of the name `pod` owns the claim, which the garbage collector is about to delete."""
    return any(each.get("name") == pod and each.get("kind") == "Pod" for each in owners(claim))
