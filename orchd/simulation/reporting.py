"""Additional reports about pods by nodes of later releases: observed generations, addresses of the host, mounts and
resources of containers, and whether a resize is possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.kinds.times import timestamp
from orchd.simulation.containers import Status, begun_status, ended_status, is_running
from orchd.simulation.pods import Report, report_nothing
from orchd.simulation.resizes import RESIZES, Resize, Room, asked_of, resize_of

#: The release whose nodes report all of it, each by default.
_SINCE: Final = "1.34"
_READY_TO_START: Final = "PodReadyToStartContainers"
#: Conditions of node agents.
_OWN: Final = frozenset((*RESIZES, _READY_TO_START, "Initialized", "Ready", "ContainersReady", "PodScheduled"))
#: Reasons of the conditions of ended pods, by phase, and the conditions that have them.
_ENDS: Final = {
    "Failed": ("PodFailed", ("Ready", "ContainersReady")),
    "Succeeded": ("PodCompleted", ("Ready", "ContainersReady", "Initialized")),
}
_LISTS: Final = (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses"))


def report_of(release: Release, node: Object, pods: Callable[[], Iterable[Object]]) -> Report:
    """The report of a node about its pods in a release. `pods` returns the pods of the node."""
    later: Report = partial(_report, Room(allocatable=fields.status(node).get("allocatable") or {}, pods=pods))
    return release.choose((("", report_nothing), (_SINCE, later)))


def _report(room: Room, pod: Object, status: Status, now: float) -> tuple[Status, float | None]:
    if pod["metadata"].get("deletionTimestamp"):
        status = {**status, "phase": _final_phase(status)}
    reported: Status = {**status}
    resize = resize_of(pod, status, room, now)
    for listed, member in _LISTS:
        if status.get(member):
            containers = {each["name"]: each for each in pod["spec"].get(listed) or ()}
            reported[member] = [
                _container(pod, containers[each["name"]], each, now, resize) if each["name"] in containers else each
                for each in status[member]
            ]
    if status.get("hostIP"):
        reported["hostIPs"] = [{"ip": status["hostIP"]}]
    generation = pod["metadata"].get("generation")
    if generation is not None:
        reported["observedGeneration"] = generation
    conditions = [each for each in status.get("conditions") or () if each["type"] not in (*RESIZES, _READY_TO_START)]
    if conditions:
        conditions = [_ended(each, str(status.get("phase"))) for each in conditions]
        runs = status.get("phase") not in ("Succeeded", "Failed")
        conditions.insert(0, _condition(status, _READY_TO_START, runs, now))
    if resize.type:
        why = {"reason": resize.reason, "message": resize.message} if resize.reason else {}
        conditions.insert(0, {**_condition(status, resize.type, True, now), **why})
    if generation is not None:
        conditions = [
            {**each, "observedGeneration": generation} if each["type"] in _OWN else each for each in conditions
        ]
    return {**reported, "conditions": conditions}, resize.due


def _ended(condition: Status, phase: str) -> Status:
    """A condition with the reason that a final phase gives it."""
    reason, types = _ENDS.get(phase, ("", ()))
    if condition["type"] not in types:
        return condition
    kept = {key: value for key, value in condition.items() if key != "message"}
    return {**kept, "reason": reason}


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


def _container(pod: Object, container: Mapping[str, Any], status: Status, now: float, resize: Resize) -> Status:
    """The status of a container with its mounts and, while it runs, the resources that it has: those of the pod, or
    the former ones until they are granted. A changed resource that its policy says so restarts the container."""
    reported = {**status}
    mounts = [_mount(each) for each in container.get("volumeMounts") or ()]
    if mounts:
        reported["volumeMounts"] = mounts
    if not is_running(status):
        return reported
    resources = asked_of(container)
    before = status.get("resources")
    if "requests" in resources and (before is None or resize.allocated):
        reported["allocatedResources"] = resources["requests"]
    if before is None or (resize.granted and before == resources):
        return {**reported, "resources": resources}
    if not resize.granted:
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
