"""Whether a node grants the changed resources of a pod: at once, later, or never."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.conditions import find_condition
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.pod_amounts import whole
from orchd.kinds.objects.quota.amounts import Usage, add, amounts
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.times import seconds_of
from orchd.simulation.containers import Status, is_running

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"
#: Types of the conditions of resizes.
RESIZES: Final = (PENDING, IN_PROGRESS)
#: Seconds between the grant of resources and their use, and between two attempts of a deferred resize.
_DURATION, _RETRY = 1.0, 180.0
#: Resources that have to fit, and how many billionths are one of their units in messages: cores are counted in
#: thousandths.
_UNITS: Final = {"cpu": 10**6, "memory": 10**9}
_LISTS: Final = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))
_DEFERRED: Final = "Deferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The allocatable resources of a node, and a function that returns its pods."""

    allocatable: Mapping[str, str]
    pods: Callable[[], Iterable[Object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """The state of a resize. `granted`: the containers have the resources of the pod. Else `type` is that of its
    condition, which has a reason and a message if the resize is pending. `due` is the time of the next attempt."""

    granted: bool = True
    type: str = ""
    reason: str = ""
    message: str = ""
    due: float | None = None

    @property
    def allocated(self) -> bool:
        """True if the node keeps the resources of the pod for it."""
        return self.type != PENDING


def is_deferred(pod: Object) -> bool:
    """True for a pod whose resize waits for room on its node."""
    return any(each["type"] == PENDING and each.get("reason") == _DEFERRED for each in fields.conditions(pod))


def asked_of(container: Mapping[str, Any]) -> dict[str, Any]:
    """The resources of a container that its status repeats."""
    return {name: amounts for name, amounts in (container.get("resources") or {}).items() if name != "claims"}


def resize_of(pod: Object, status: Status, room: Room, now: float) -> Resize:
    """The state of the resize of a pod with a status."""
    if not _is_resized(pod, status):
        return Resize()
    before = find_condition(status, IN_PROGRESS)
    if before is not None and before.get("observedGeneration") == pod["metadata"].get("generation"):
        done = (seconds_of(before.get("lastTransitionTime")) or now) + _DURATION
        return Resize() if now >= done else Resize(granted=False, type=IN_PROGRESS, due=done)
    infeasible = _infeasible(pod, room.allocatable)
    if infeasible:
        return Resize(granted=False, type=PENDING, reason="Infeasible", message=infeasible)
    deferred = _deferred(pod, room)
    if deferred:
        return Resize(granted=False, type=PENDING, reason=_DEFERRED, message=deferred, due=now + _RETRY)
    return Resize(granted=False, type=IN_PROGRESS, due=now + _DURATION)


def _is_resized(pod: Object, status: Status) -> bool:
    for listed, member in _LISTS:
        asked = {each["name"]: asked_of(each) for each in pod["spec"].get(listed) or ()}
        for each in status.get(member) or ():
            has = each.get("resources")
            if has is not None and is_running(each) and has != asked.get(each["name"], has):
                return True
    return False


def _infeasible(pod: Object, allocatable: Mapping[str, str]) -> str:
    """Why a pod does not fit on an empty node, "" if it does."""
    request = _request_of(pod, {})
    for name in ("memory", "cpu"):
        unit, capacity, requested = _UNITS[name], _nano(allocatable.get(name)), _amount(request, name)
        if capacity is not None and requested > capacity:
            amounts = f"requested: {requested // unit}, capacity: {capacity // unit}"
            return f"Node didn't have enough capacity: {name}, {amounts}"
    return ""


def _deferred(pod: Object, room: Room) -> str:
    """Why a pod does not fit beside the other pods of its node, "" if it does."""
    identity = pod["metadata"].get("uid")
    request = _request_of(pod, {})
    others = [
        _request_of(each, _granted(each))
        for each in room.pods()
        if each["metadata"].get("uid") != identity and fields.status(each).get("phase") not in ("Succeeded", "Failed")
    ]
    for name, unit in _UNITS.items():
        requested, capacity = _amount(request, name), _nano(room.allocatable.get(name))
        used = sum(_amount(each, name) for each in others)
        if capacity is not None and requested and requested + used > capacity:
            amounts = f"requested: {requested // unit}, used: {used // unit}, capacity: {capacity // unit}"
            return f"Node didn't have enough resource: {name}, {amounts}"
    return ""


def _granted(pod: Object) -> dict[str, Mapping[str, Any]]:
    """The resources that the containers of a pod have, by container."""
    status = fields.status(pod)
    return {
        each["name"]: each["resources"]
        for _, member in _LISTS
        for each in status.get(member) or ()
        if each.get("resources") is not None
    }


def _request_of(pod: Object, granted: Mapping[str, Mapping[str, Any]]) -> Usage:
    """The amounts of resources that a pod requests; `granted` replaces the resources of containers."""
    spec = pod["spec"]
    if granted:
        spec = spec | {
            listed: [
                each | {"resources": granted.get(each["name"], each.get("resources") or {})} for each in spec[listed]
            ]
            for listed, _ in _LISTS
            if spec.get(listed)
        }
    return add(whole(spec, "requests"), amounts(spec.get("overhead")))


def _amount(usage: Usage, name: str) -> int:
    return usage[name].nano if name in usage else 0


def _nano(text: str | None) -> int | None:
    return None if text is None else Quantity.parse(text).nano
