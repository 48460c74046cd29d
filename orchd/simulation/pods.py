"""The next step in the life cycle of a simulated pod: a pure function of the pod, its behavior and the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp
from orchd.simulation.behaviour import PodBehaviour
from orchd.simulation.containers import (
    Status,
    advance_container,
    begun_status,
    ended_status,
    is_running,
    restarts,
    waiting_status,
)
from orchd.simulation.initialization import end_sidecars, initialize, sidecars

_MEMBERS: Final = ("initContainerStatuses", "containerStatuses")
#: Exit code of a container that its node kills.
_KILLED: Final = 137

#: What nodes of a release report besides: a function of the pod, its next status and the time. It returns the status,
#: and the time of a further step, None for no such step.
Report = Callable[[Object, Status, float], tuple[Status, float | None]]


def report_nothing(pod: Object, status: Status, now: float) -> tuple[Status, float | None]:
    """The status itself."""
    return status, None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`status` is the status to write, None for no change. `remove`: delete the pod. `due` is the time of the next step
    in seconds since the epoch, None for no next step."""

    status: Status | None = None
    remove: bool = False
    due: float | None = None


def report_step(pod: Object, step: Step, report: Report, now: float) -> Step:
    """The step with what nodes of the release report; it has a status only if that is a change."""
    if step.status is None and step.remove:
        return step
    status, due = report(pod, step.status or fields.status(pod), now)
    return Step(
        status=None if status == fields.status(pod) else status,
        remove=step.remove,
        due=min((at for at in (step.due, due) if at is not None), default=None),
    )


def advance(pod: Object, behaviour: PodBehaviour | str, host: str, addresses: Sequence[str], now: float) -> Step:
    """The next step of a pod that is bound to a simulated node with the address `host`. A text instead of the behavior
    is the reason why the pod cannot start."""
    metadata, old = pod["metadata"], fields.status(pod)
    ended = old.get("phase") in ("Succeeded", "Failed")
    if metadata.get("deletionTimestamp"):
        end = _end_of_grace(metadata, behaviour)
        if now >= end:
            return _removal(pod, now)
        if ended:
            return Step(due=end)
        step = _running(pod, behaviour, host, addresses, now)
        return Step(status=step.status, due=min(end, step.due or end))
    if ended:
        return Step()
    return _running(pod, behaviour, host, addresses, now)


def _end_of_grace(metadata: Mapping[str, Any], behaviour: PodBehaviour | str) -> float:
    end = seconds_of(metadata["deletionTimestamp"]) or 0.0
    delay = 0.0 if isinstance(behaviour, str) else behaviour.termination_delay
    asked = end - (metadata.get("deletionGracePeriodSeconds") or 0)
    return min(asked + delay, end)


def _removal(pod: Object, now: float) -> Step:
    """Remove the pod. A pod with finalizers first gets a status in which its containers have ended."""
    metadata, old = pod["metadata"], fields.status(pod)
    if not metadata.get("finalizers"):
        return Step(remove=True)
    if any(is_running(each) for name in _MEMBERS for each in old.get(name) or ()):
        return Step(status=_stopped(pod, old, 0, now), due=now)
    # After the deletion with a grace period of 0, only finalizers keep the pod.
    return Step(remove=metadata.get("deletionGracePeriodSeconds") != 0)


def _stopped(pod: Object, status: Status, code: int, now: float) -> Status:
    """A status in which the running containers have ended with an exit code."""
    ended = {
        name: [ended_status(each, code, now) if is_running(each) else each for each in status[name]]
        for name in _MEMBERS
        if status.get(name)
    }
    status = {**status, **ended}
    return {**status, "conditions": _conditions(pod, status, now)}


def _running(pod: Object, behaviour: PodBehaviour | str, host: str, addresses: Sequence[str], now: float) -> Step:
    spec, old = pod["spec"], fields.status(pod)
    start = seconds_of(old.get("startTime"))
    begin = now if start is None else start
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and now >= begin + deadline:
        return Step(status=_stopped(pod, _overdue(old), _KILLED, now))
    dues: list[float] = [] if deadline is None else [begin + deadline]
    by_name = {c["name"]: c for c in old.get("containerStatuses") or ()}
    initial = initialize(pod, behaviour, begin, now)
    containers: list[Status] = []
    due: float | None
    for container in spec["containers"]:
        status_before = by_name.get(container["name"])
        # Containers that were begun stay, whatever becomes of a sidecar.
        if initial.waits and (status_before is None or "waiting" in status_before["state"]):
            one, due = waiting_status(container, status_before, "PodInitializing", ""), initial.due
        else:
            one, due = advance_container(pod, container, status_before, behaviour, begin, now)
        containers.append(one)
        if due is not None:
            dues.append(due)
    if initial.due is not None:
        dues.append(initial.due)
    phase = "Failed" if initial.failed else _phase(pod, containers)
    if phase in ("Succeeded", "Failed"):
        initial = replace(initial, statuses=end_sidecars(pod, initial.statuses, now))
        dues.clear()
    status: Status = {
        **old,
        "phase": phase,
        "hostIP": host,
        "startTime": old.get("startTime") or timestamp(now),
        "containerStatuses": containers,
    }
    own = [host] if spec.get("hostNetwork") else addresses
    if own:
        status["podIP"], status["podIPs"] = own[0], [{"ip": address} for address in own]
    if spec.get("ephemeralContainers"):
        status["ephemeralContainerStatuses"] = _ephemeral(pod, now, running=phase == "Running")
    if initial.statuses:
        status["initContainerStatuses"] = list(initial.statuses)
    status["conditions"] = _conditions(pod, status, now, incomplete=initial.incomplete)
    return Step(status=None if status == old else status, due=min(dues, default=None))


def _phase(pod: Object, containers: Sequence[Mapping[str, Any]]) -> str:
    states = [(c["state"], c.get("lastState") or {}) for c in containers]
    if all("terminated" in state for state, _ in states):
        codes = [state["terminated"]["exitCode"] for state, _ in states]
        if any(restarts(pod, each, code) for each, code in zip(pod["spec"]["containers"], codes, strict=True)):
            return "Running"
        return "Failed" if any(codes) else "Succeeded"
    if any("waiting" in state and not last for state, last in states):
        return "Pending"
    return "Running"


def _ephemeral(pod: Object, now: float, *, running: bool) -> list[Status]:
    """The statuses of ephemeral containers: they run while the pod does."""
    old_statuses = {each["name"]: each for each in fields.status(pod).get("ephemeralContainerStatuses") or ()}
    statuses: list[Status] = []
    for container in pod["spec"]["ephemeralContainers"]:
        old = old_statuses.get(container["name"])
        if old is None or not is_running(old):
            status = begun_status(pod, container, 0, {}, now) if running and old is None else old
        else:
            status = old if running else ended_status(old, 0, now)
        if status is not None:
            statuses.append({key: value for key, value in status.items() if key != "started"})
    return statuses


def _overdue(old: Mapping[str, Any]) -> Status:
    message = "Pod was active on the node longer than the specified deadline"
    return {**old, "phase": "Failed", "reason": "DeadlineExceeded", "message": message}


def _conditions(pod: Object, status: Mapping[str, Any], now: float, *, incomplete: Sequence[str] = ()) -> list[Status]:
    """The conditions of a pod: those of the node agent, then the unchanged ones of other writers. `incomplete` are init
    containers that are not through."""
    old = {c["type"]: c for c in fields.conditions(pod)}
    beside = sidecars(pod)
    initial_statuses = status.get("initContainerStatuses") or ()
    containers = [c for c in initial_statuses if c["name"] in beside] + list(status.get("containerStatuses") or ())
    unready = [c["name"] for c in containers if not c.get("ready")]
    why: dict[str, str] = {}
    if status.get("phase") == "Succeeded":
        why = {"reason": "PodCompleted"}
    elif unready:
        why = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{' '.join(unready)}]"}
    gates = [g["conditionType"] for g in pod["spec"].get("readinessGates") or ()]
    closed = [_closed_gate(gate, old.get(gate)) for gate in gates if (old.get(gate) or {}).get("status") != "True"]
    ready_why = why
    if not why and closed:
        ready_why = {"reason": "ReadinessGatesNotReady", "message": ", ".join(closed)}
    initial: dict[str, str] = {}
    if incomplete:
        message = f"containers with incomplete status: [{' '.join(incomplete)}]"
        initial = {"reason": "ContainersNotInitialized", "message": message}
    elif status.get("phase") == "Succeeded":
        initial = {"reason": "PodCompleted"}
    states = [
        ("Initialized", not incomplete, initial),
        ("Ready", not why and not closed, ready_why),
        ("ContainersReady", not why, why),
        ("PodScheduled", True, {}),
    ]
    out: list[Status] = []
    for type_, value, reason in states:
        truth, before = "True" if value else "False", old.get(type_)
        since = before.get("lastTransitionTime") if before and before.get("status") == truth else None
        out.append(
            {
                "type": type_,
                "status": truth,
                "lastProbeTime": None,
                "lastTransitionTime": since or timestamp(now),
                **reason,
            }
        )
    own = {c["type"] for c in out}
    # Conditions of other writers are taken from `status`, which may be newer than the pod.
    return [*out, *(c for c in status.get("conditions") or () if c["type"] not in own)]


def _closed_gate(gate: str, condition: Mapping[str, Any] | None) -> str:
    """Why a readiness gate is not passed; None for the condition if the pod has none of this type."""
    if condition is None:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    return f'the status of pod readiness gate "{gate}" is not "True", but {condition.get("status", "")}'
