"""Owners of the claims of a stateful set, by which the garbage collector applies the retention policy. Pure."""

from __future__ import annotations

from typing import Any

from orchd.kinds.fields import name, spec, uid
from orchd.kinds.jsonvalues import Object


def wanted_owners(claim: Object, parent: Object, pod: Object, number: int) -> list[Any] | None:
    """The owner references that a claim of the pod of a number should have; None if it has them.

    The set owns the claim if its deletion deletes claims; a pod that is scaled down owns it if that deletes claims.
    """
    policy = spec(parent).get("persistentVolumeClaimRetentionPolicy") or {}
    scaled_down = number >= int(spec(parent).get("replicas", 1))
    pod_owns = policy.get("whenScaled") == "Delete" and scaled_down
    set_owns = policy.get("whenDeleted") == "Delete" and not pod_owns
    owners = list(claim["metadata"].get("ownerReferences") or ())
    wanted = owners
    for owner, owns, head in (
        (parent, set_owns, {"apiVersion": "apps/v1", "kind": "StatefulSet"}),
        (pod, pod_owns, {"apiVersion": "v1", "kind": "Pod"}),
    ):
        there = any(each.get("uid") == uid(owner) for each in wanted)
        if owns and not there:
            wanted = [*wanted, {**head, "name": name(owner), "uid": uid(owner)}]
        elif there and not owns:
            wanted = [each for each in wanted if each.get("uid") != uid(owner)]
    return None if wanted is owners else wanted


def is_stale(claim: Object, pod: str, pod_uid: str = "") -> bool:
    """True if a former pod of the name `pod` owns the claim, which the garbage collector is about to delete."""
    return any(
        each.get("name") == pod and each.get("kind") == "Pod" and each.get("uid") != pod_uid
        for each in claim["metadata"].get("ownerReferences") or ()
    )
