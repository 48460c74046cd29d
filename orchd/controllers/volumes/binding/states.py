"""Claims and volumes after changes of the binder: pure functions, which return the same object if nothing changes."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.controllers.objects import without
from orchd.dialect import Dialect
from orchd.kinds.fields import annotations_of, mapping, spec, status, with_metadata, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.objects.volumes.claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    capacity,
    class_of,
    has_access_modes,
    requested_storage,
    volume_mode,
)
from orchd.kinds.objects.volumes.matching import find_volume


def with_claim_phase(claim: Object, phase: str, volume: Object | None) -> Object:
    """A claim in a phase, with the access modes and capacity of its volume (None: without them).

    The capacity of a claim that was in the phase already stays: its file system may be smaller than the device."""
    current = status(claim)
    fresh = {**current, "phase": phase}
    if volume is None:
        fresh = without(fresh, "accessModes", "capacity")
    else:
        fresh["accessModes"] = spec(volume).get("accessModes") or []
        if current.get("phase") != phase and _other_capacity(current, volume):
            fresh["capacity"] = mapping(spec(volume), "capacity")
    return claim if fresh == current else {**claim, "status": fresh}


def _other_capacity(claim_status: Object, volume: Object) -> bool:
    recorded = mapping(claim_status, "capacity").get("storage")
    return recorded is None or Quantity.parse(recorded).nano != capacity(volume).nano


def with_volume_phase(volume: Object, phase: str, message: str) -> Object:
    """A volume in a phase; the message of one that was in it already stays."""
    if status(volume).get("phase") == phase:
        return volume
    fresh = {**without(status(volume), "message"), "phase": phase}
    return {**volume, "status": {**fresh, "message": message} if message else fresh}


def bound_claim(claim: Object, volume: Object, dialect: Dialect) -> Object:
    """A claim bound to a volume. The binding is marked as the controller's unless the user had chosen the volume."""
    notes, name = annotations_of(claim), volume["metadata"]["name"]
    chosen = spec(claim).get("volumeName") == name
    marks = {} if chosen or dialect(BOUND_BY_CONTROLLER) in notes else {dialect(BOUND_BY_CONTROLLER): "yes"}
    if dialect(BIND_COMPLETED) not in notes:
        marks[dialect(BIND_COMPLETED)] = "yes"
    if chosen and not marks:
        return claim
    return {**with_metadata(claim, annotations={**notes, **marks}), "spec": {**spec(claim), "volumeName": name}}


def unbound_volume(volume: Object, dialect: Dialect) -> Object:
    """A volume without its claim. One that a user reserved stays reserved, for a claim of that name and any uid."""
    notes, mark = annotations_of(volume), dialect(BOUND_BY_CONTROLLER)
    if mark not in notes:
        return with_spec(volume, claimRef=without(spec(volume)["claimRef"], "uid"))
    return {**with_metadata(volume, annotations=without(notes, mark)), "spec": without(spec(volume), "claimRef")}


def mismatch(volume: Object, claim: Object, dialect: Dialect) -> str:
    """Why a claim cannot be bound to the volume that it names; "" if it can."""
    if volume["metadata"].get("deletionTimestamp"):
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if capacity(volume) < requested_storage(claim):
        return "requested PV is too small"
    if class_of(volume, dialect) != class_of(claim, dialect):
        return "storageClassName does not match"
    if volume_mode(volume) != volume_mode(claim):
        return "incompatible volumeMode"
    return "" if has_access_modes(volume, claim) else "incompatible accessMode"


def best_volume(claim: Object, volumes: Iterable[Object], dialect: Dialect, *, delayed: bool) -> Object | None:
    """The best volume for a claim: of those with the fewest access modes the smallest that is large enough, or None."""
    groups: dict[frozenset[str], list[Object]] = {}
    for volume in volumes:
        if has_access_modes(volume, claim):
            groups.setdefault(frozenset(spec(volume).get("accessModes") or ()), []).append(volume)
    for modes in sorted(groups, key=lambda each: (len(each), sorted(each))):
        best = find_volume(claim, groups[modes], dialect, delayed=delayed)
        if best is not None:
            return best
    return None
