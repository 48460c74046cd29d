"""What nodes of later releases report of a pod besides: observed generations, addresses of the host, mounts and
resources of containers, and whether a resize is possible."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.release import Release
from orchd.kinds.times import timestamp
from orchd.simulation.containers import Status, begun_status, ended_status, is_running
from orchd.simulation.pods import Report, report_nothing

#: The release whose nodes report all of it, each by default.
_SINCE: Final = "1.34"
_PENDING: Final = "PodResizePending"
_READY_TO_START: Final = "PodReadyToStartContainers"
#: Conditions of node agents.
_OWN: Final = frozenset((_PENDING, _READY_TO_START, "Initialized", "Ready", "ContainersReady", "PodScheduled"))
#: Resources that have to fit, and how many of their units are one in messages: cores are counted in thousandths.
_UNITS: Final = {"cpu": 10**6, "memory": 10**9}
_LISTS: Final = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))


def report_of(release: Release, node: Object) -> Report:
    """What a node of a release reports of its pods."""
    later: Report = partial(_report, fields.status(node).get("allocatable") or {})
    return release.choose((("", report_nothing), (_SINCE, later)))


def _report(allocatable: Mapping[str, str], pod: Object, status: Status, now: float) -> Status:
    if pod["metadata"].get("deletionTimestamp"):
        status = {**status, "phase": _final_phase(status)}
    reported: Status = {**status}
    refusal = _refusal(pod, allocatable)
    for listed, member in _LISTS:
        if status.get(member):
            containers = {each["name"]: each for each in pod["spec"].get(listed) or ()}
            reported[member] = [
                _container(pod, containers[each["name"]], each, now, fits=not refusal)
                if each["name"] in containers
                else each
                for each in status[member]
            ]
    if status.get("hostIP"):
        reported["hostIPs"] = [{"ip": status["hostIP"]}]
    generation = pod["metadata"].get("generation")
    if generation is not None:
        reported["observedGeneration"] = generation
    conditions = [each for each in status.get("conditions") or () if each["type"] not in (_PENDING, _READY_TO_START)]
    if conditions:
        runs = status.get("phase") not in ("Succeeded", "Failed")
        conditions.insert(0, _condition(status, _READY_TO_START, runs, now))
    if refusal and any(is_running(each) for each in status.get("containerStatuses") or ()):
        pending = _condition(status, _PENDING, True, now)
        conditions.insert(0, {**pending, "reason": "Infeasible", "message": refusal})
    if generation is not None:
        conditions = [
            {**each, "observedGeneration": generation} if each["type"] in _OWN else each for each in conditions
        ]
    return {**reported, "conditions": conditions}


def _final_phase(status: Status) -> str:
    """The phase of a pod that is being deleted: final as soon as its containers have ended."""
    states = [each.get("state") or {} for each in status.get("containerStatuses") or ()]
    phase = str(status.get("phase") or "Pending")
    if phase in ("Succeeded", "Failed") or not states or not all("terminated" in each for each in states):
        return phase
    return "Failed" if any(each["terminated"].get("exitCode") for each in states) else "Succeeded"


def _condition(status: Status, type_: str, value: bool, now: float) -> Status:
    truth = "True" if value else "False"
    before: Status = next((each for each in status.get("conditions") or () if each["type"] == type_), {})
    since = before.get("lastTransitionTime") if before.get("status") == truth else None
    return {"type": type_, "status": truth, "lastProbeTime": None, "lastTransitionTime": since or timestamp(now)}


def _container(pod: Object, container: Mapping[str, Any], status: Status, now: float, *, fits: bool) -> Status:
    """The status of a container with its mounts and, while it runs, the resources that it has: those of the pod, or
    the former ones if they do not fit. A changed resource that its policy says so restarts the container."""
    reported = {**status}
    mounts = [_mount(each) for each in container.get("volumeMounts") or ()]
    if mounts:
        reported["volumeMounts"] = mounts
    if not is_running(status):
        return reported
    resources = {name: amounts for name, amounts in (container.get("resources") or {}).items() if name != "claims"}
    before = status.get("resources")
    if before is None or (fits and before == resources):
        return {**reported, "resources": resources}
    if not fits:
        return reported
    if _restarted(container, before, resources):
        last = ended_status(status, 137, now)["state"]
        begun = begun_status(pod, container, int(status.get("restartCount") or 0) + 1, last, now)
        reported = {**reported, **begun, "ready": status.get("ready", False)}
    return {**reported, "resources": resources}


def _mount(mount: Mapping[str, Any]) -> Status:
    reported = {name: mount[name] for name in ("name", "mountPath") if name in mount}
    return {**reported, "readOnly": True, "recursiveReadOnly": "Disabled"} if mount.get("readOnly") else reported


def _restarted(container: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    for policy in container.get("resizePolicy") or ():
        if policy.get("restartPolicy") == "RestartContainer":
            name = policy.get("resourceName")
            kinds = ("requests", "limits")
            if any((before.get(kind) or {}).get(name) != (after.get(kind) or {}).get(name) for kind in kinds):
                return True
    return False


def _refusal(pod: Object, allocatable: Mapping[str, str]) -> str:
    """Why a pod does not fit on an empty node, "" if it does."""
    for name, unit in _UNITS.items():
        has = allocatable.get(name)
        if has is None:
            continue
        amounts = ((each.get("resources") or {}).get("requests", {}).get(name) for each in pod["spec"]["containers"])
        requested = sum(Quantity.parse(amount).nano for amount in amounts if amount is not None)
        capacity = Quantity.parse(has).nano
        if requested > capacity:
            amounts_text = f"requested: {requested // unit}, capacity: {capacity // unit}"
            return f"Node didn't have enough capacity: {name}, {amounts_text}"
    return ""
