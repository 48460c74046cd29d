"""The next step in the life cycle of a simulated pod: a pure function of the pod, its behavior and the time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.simulated import RUNTIME
from orchd.kinds.times import seconds_of, timestamp
from orchd.simulation.behaviour import PodBehaviour

#: Seconds between the end of a container and its restart, after the first one: doubled up to the longest.
_FIRST_BACKOFF, _LONGEST_BACKOFF = 10.0, 300.0

Status = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`status` is the status to write, None for no change. `remove`: delete the pod. `due` is the time of the next step
    in seconds since the epoch, None for no next step."""

    status: Status | None = None
    remove: bool = False
    due: float | None = None


def advance(pod: Object, behaviour: PodBehaviour | str, *, host: str, addresses: Sequence[str], now: float) -> Step:
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
    open_ = [c for c in old.get("containerStatuses") or () if "running" in (c.get("state") or {})]
    if open_:
        statuses = [_end(c, 0, now) if "running" in (c.get("state") or {}) else c for c in old["containerStatuses"]]
        status = {**old, "containerStatuses": statuses}
        status["conditions"] = _conditions(pod, status, now)
        return Step(status=status, due=now)
    # After the deletion with a grace period of 0, only finalizers keep the pod.
    return Step(remove=metadata.get("deletionGracePeriodSeconds") != 0)


def _running(pod: Object, behaviour: PodBehaviour | str, host: str, addresses: Sequence[str], now: float) -> Step:
    spec, old = pod["spec"], fields.status(pod)
    start = seconds_of(old.get("startTime"))
    begin = now if start is None else start
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and now >= begin + deadline:
        return Step(status=_overdue(old))
    dues: list[float] = [] if deadline is None else [begin + deadline]
    by_name = {c["name"]: c for c in old.get("containerStatuses") or ()}
    containers = []
    for container in spec["containers"]:
        one, due = _container(pod, container, by_name.get(container["name"]), behaviour, begin, now)
        containers.append(one)
        if due is not None:
            dues.append(due)
    started = any("waiting" not in c["state"] or c.get("lastState") for c in containers)
    status: Status = {
        **old,
        "phase": _phase(containers, spec.get("restartPolicy", "Always")),
        "hostIP": host,
        "startTime": old.get("startTime") or timestamp(now),
        "containerStatuses": containers,
    }
    own = [host] if spec.get("hostNetwork") else addresses
    if own:
        status["podIP"], status["podIPs"] = own[0], [{"ip": address} for address in own]
    if spec.get("initContainers"):
        seen = {c["name"]: c for c in old.get("initContainerStatuses") or ()}
        status["initContainerStatuses"] = [
            _init_container(pod, c, seen.get(c["name"]), started, now) for c in spec["initContainers"]
        ]
    status["conditions"] = _conditions(pod, status, now, initialized=started or not spec.get("initContainers"))
    return Step(status=None if status == old else status, due=min(dues, default=None))


def _container(
    pod: Object,
    container: Mapping[str, Any],
    old: Mapping[str, Any] | None,
    behaviour: PodBehaviour | str,
    begin: float,
    now: float,
) -> tuple[Status, float | None]:
    """The status of a container, and the time of its next change."""
    if isinstance(behaviour, str):
        return _waiting(container, old, "CreateContainerConfigError", behaviour), None
    count = int((old or {}).get("restartCount") or 0)
    state = dict((old or {}).get("state") or {})
    if "terminated" in state:
        return dict(old or {}), None
    if "running" in state:
        return _run(pod, container, dict(old or {}), behaviour, now)
    last = (old or {}).get("lastState") or {}
    if "terminated" in last:
        again = (seconds_of(last["terminated"].get("finishedAt")) or now) + _backoff(count)
        if now < again:
            return dict(old or {}), again
        return _run(pod, container, _begin(pod, container, count + 1, last, now), behaviour, now)
    if behaviour.start_failure:
        return _waiting(container, old, behaviour.start_failure, "the simulation was asked to fail here"), None
    if now < begin + behaviour.start_delay:
        reason = "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"
        return _waiting(container, old, reason, ""), begin + behaviour.start_delay
    return _run(pod, container, _begin(pod, container, count, {}, now), behaviour, now)


def _run(
    pod: Object, container: Mapping[str, Any], status: Status, behaviour: PodBehaviour, now: float
) -> tuple[Status, float | None]:
    """The status of a running container: it may end, be restarted on request, or become ready."""
    count = int(status.get("restartCount") or 0)
    if count < behaviour.restarts:
        last = _end(status, 137, now)["state"]
        status = _begin(pod, container, behaviour.restarts, last, now)
        count = behaviour.restarts
    since = seconds_of(status["state"]["running"]["startedAt"]) or now
    if behaviour.run_duration is not None:
        end = since + behaviour.run_duration
        if now >= end:
            return _terminated_status(pod, container, _end(status, behaviour.exit_code, now), behaviour, now)
    else:
        end = None
    ready_at = None if behaviour.ready_delay is None else since + behaviour.ready_delay
    status = {**status, "ready": ready_at is not None and now >= ready_at}
    due = ready_at if ready_at is not None and not status["ready"] else None
    return status, min((at for at in (due, end) if at is not None), default=None)


def _terminated_status(
    pod: Object, container: Mapping[str, Any], status: Status, behaviour: PodBehaviour, now: float
) -> tuple[Status, float | None]:
    """The status of a container that has ended: it is restarted at once the first time, later with backoff, or not at
    all."""
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Never" or (policy == "OnFailure" and behaviour.exit_code == 0):
        return status, None
    count, last = int(status.get("restartCount") or 0), status["state"]
    pause = _backoff(count)
    if not pause:
        begun = _begin(pod, container, count + 1, last, now)
        ready = behaviour.ready_delay is not None and behaviour.ready_delay == 0
        duration = behaviour.run_duration
        return {**begun, "ready": ready}, None if duration is None else now + max(duration, 1.0)
    reason, name = "CrashLoopBackOff", pod["metadata"]["name"]
    message = (
        f"back-off {int(pause)}s restarting failed container={container['name']} "
        f"pod={name}_{pod['metadata'].get('namespace', '')}"
    )
    waiting = {"state": {"waiting": {"reason": reason, "message": message}}, "lastState": last, "started": False}
    return {**status, **waiting}, now + pause


def _backoff(count: int) -> float:
    """Seconds before a container that was restarted `count` times is restarted again."""
    return 0.0 if count == 0 else min(_FIRST_BACKOFF * 2.0 ** min(count - 1, 30), _LONGEST_BACKOFF)


def _waiting(container: Mapping[str, Any], old: Mapping[str, Any] | None, reason: str, message: str) -> Status:
    waiting = {"reason": reason, **({"message": message} if message else {})}
    return {
        "name": container["name"],
        "state": {"waiting": waiting},
        "lastState": dict((old or {}).get("lastState") or {}),
        "ready": False,
        "restartCount": int((old or {}).get("restartCount") or 0),
        "image": container.get("image", ""),
        "imageID": "",
        "started": False,
    }


def _begin(pod: Object, container: Mapping[str, Any], count: int, last: Mapping[str, Any], now: float) -> Status:
    return {
        "name": container["name"],
        "state": {"running": {"startedAt": timestamp(now)}},
        "lastState": dict(last),
        "ready": False,
        "restartCount": count,
        "image": container.get("image", ""),
        "imageID": RUNTIME + container.get("image", ""),
        "containerID": _container_id(pod, container, count),
        "started": True,
    }


def _end(status: Mapping[str, Any], code: int, now: float) -> Status:
    begun = ((status.get("state") or {}).get("running") or {}).get("startedAt") or timestamp(now)
    terminated = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": begun,
        "finishedAt": timestamp(now),
        "containerID": status.get("containerID", ""),
    }
    return {**status, "state": {"terminated": terminated}, "ready": False, "started": False}


def _init_container(
    pod: Object, container: Mapping[str, Any], old: Mapping[str, Any] | None, started: bool, now: float
) -> Status:
    if old is not None and "terminated" in (old.get("state") or {}):
        return dict(old)
    if not started:
        return _waiting(container, old, "PodInitializing", "")
    ended = _end(_begin(pod, container, 0, {}, now), 0, now)
    del ended["started"]
    return {**ended, "ready": True}


def _container_id(pod: Object, container: Mapping[str, Any], count: int) -> str:
    text = f"{pod['metadata'].get('uid', '')}/{container['name']}/{count}"
    return RUNTIME + sha256(text.encode()).hexdigest()


def _phase(containers: Iterable[Mapping[str, Any]], policy: str) -> str:
    states = [(c["state"], c.get("lastState") or {}) for c in containers]
    if all("terminated" in state for state, _ in states):
        failed = any(state["terminated"]["exitCode"] for state, _ in states)
        if policy == "Always":
            return "Running"
        return "Failed" if failed else "Succeeded"
    if any("waiting" in state and not last for state, last in states):
        return "Pending"
    return "Running"


def _overdue(old: Mapping[str, Any]) -> Status:
    message = "Pod was active on the node longer than the specified deadline"
    return {**old, "phase": "Failed", "reason": "DeadlineExceeded", "message": message}


def _conditions(pod: Object, status: Mapping[str, Any], now: float, *, initialized: bool = True) -> list[Status]:
    """The conditions of a pod: those of the node agent, then the unchanged ones of other writers."""
    old = {c["type"]: c for c in fields.status(pod).get("conditions") or ()}
    containers = status.get("containerStatuses") or ()
    unready = [c["name"] for c in containers if not c.get("ready")]
    why: dict[str, str] = {}
    if status.get("phase") == "Succeeded":
        why = {"reason": "PodCompleted"}
    elif unready:
        why = {"reason": "ContainersNotReady", "message": f"containers with unready status: [{' '.join(unready)}]"}
    gates = [g["conditionType"] for g in pod["spec"].get("readinessGates") or ()]
    closed = [gate for gate in gates if (old.get(gate) or {}).get("status") != "True"]
    ready_why = why
    if not why and closed:
        lacking = "; ".join(
            f'corresponding condition of pod readiness gate "{gate}" does not exist.' for gate in closed
        )
        ready_why = {"reason": "ReadinessGatesNotReady", "message": lacking}
    initial: dict[str, str] = {}
    if not initialized:
        names = " ".join(c["name"] for c in pod["spec"].get("initContainers") or ())
        initial = {"reason": "ContainersNotInitialized", "message": f"containers with incomplete status: [{names}]"}
    elif status.get("phase") == "Succeeded":
        initial = {"reason": "PodCompleted"}
    states = [
        ("Initialized", initialized, initial),
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
