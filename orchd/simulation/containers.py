"""The status of one container of a simulated pod: a pure function of its last status, the behavior of the pod and the
time."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from orchd.kinds.jsonvalues import Object
from orchd.kinds.simulated import RUNTIME
from orchd.kinds.times import seconds_of, timestamp
from orchd.simulation.behaviour import PodBehaviour

#: Seconds between the end of a container and its restart, after the first one: doubled up to the longest.
_FIRST_BACKOFF, _LONGEST_BACKOFF = 10.0, 300.0

Status = dict[str, Any]


def advance_container(
    pod: Object,
    container: Mapping[str, Any],
    old: Mapping[str, Any] | None,
    behaviour: PodBehaviour | str,
    begin: float,
    now: float,
) -> tuple[Status, float | None]:
    """The status of a container of a pod that has begun at `begin`, and the time of its next change."""
    if isinstance(behaviour, str):
        return waiting_status(container, old, "CreateContainerConfigError", behaviour), None
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
        return _run(pod, container, begun_status(pod, container, count + 1, last, now), behaviour, now)
    if behaviour.start_failure:
        return waiting_status(container, old, behaviour.start_failure, "the simulation was asked to fail here"), None
    if now < begin + behaviour.start_delay:
        reason = "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"
        return waiting_status(container, old, reason, ""), begin + behaviour.start_delay
    return _run(pod, container, begun_status(pod, container, count, {}, now), behaviour, now)


def _run(
    pod: Object, container: Mapping[str, Any], status: Status, behaviour: PodBehaviour, now: float
) -> tuple[Status, float | None]:
    """The status of a running container: it may end, be restarted on request, or become started and ready."""
    if int(status.get("restartCount") or 0) < behaviour.restarts:
        last = ended_status(status, 137, now)["state"]
        status = begun_status(pod, container, behaviour.restarts, last, now)
    since = seconds_of(status["state"]["running"]["startedAt"]) or now
    end = None
    if behaviour.run_duration is not None:
        end = since + behaviour.run_duration
        if now >= end:
            return _after_end(pod, container, ended_status(status, behaviour.exit_code, now), behaviour, now)
    status, due = _probed(container, status, behaviour, since, now)
    return status, min((at for at in (due, end) if at is not None), default=None)


def _probed(
    container: Mapping[str, Any], status: Status, behaviour: PodBehaviour, since: float, now: float
) -> tuple[Status, float | None]:
    """The status of a container that runs since then with what its probes say, and the time of their next result.
    Probes succeed at their first attempts."""
    started_at = since + _success_after(container.get("startupProbe"))
    ready_at = None
    if behaviour.ready_delay is not None:
        ready_at = max(
            started_at, since + behaviour.ready_delay, since + _success_after(container.get("readinessProbe"))
        )
    started, ready = now >= started_at, ready_at is not None and now >= ready_at
    dues = [at for at, over in ((started_at, started), (ready_at, ready)) if at is not None and not over]
    return {**status, "started": started, "ready": ready}, min(dues, default=None)


def _success_after(probe: Mapping[str, Any] | None) -> float:
    """Seconds from the start of a container to the success of a probe that never fails."""
    if probe is None:
        return 0.0
    repeated = int(probe.get("successThreshold") or 1) - 1
    return float(int(probe.get("initialDelaySeconds") or 0) + repeated * int(probe.get("periodSeconds") or 10))


def restarts(pod: Object, container: Mapping[str, Any], code: int) -> bool:
    """True if a container that ended with an exit code is restarted, by its own rules and policy or that of the pod."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        if rule.get("action") == "Restart" and (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _after_end(
    pod: Object, container: Mapping[str, Any], status: Status, behaviour: PodBehaviour, now: float
) -> tuple[Status, float | None]:
    """The status of a container that has ended: it is restarted at once the first time, later with backoff, or not at
    all."""
    if not restarts(pod, container, behaviour.exit_code):
        return status, None
    count, last = int(status.get("restartCount") or 0), status["state"]
    pause = _backoff(count)
    if not pause:
        begun, due = _probed(container, begun_status(pod, container, count + 1, last, now), behaviour, now, now)
        ends = None if behaviour.run_duration is None else now + max(behaviour.run_duration, 1.0)
        return begun, min((at for at in (due, ends) if at is not None), default=None)
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


def waiting_status(container: Mapping[str, Any], old: Mapping[str, Any] | None, reason: str, message: str) -> Status:
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


def begun_status(pod: Object, container: Mapping[str, Any], count: int, last: Mapping[str, Any], now: float) -> Status:
    """The status of a container that starts now and was restarted `count` times; `last` is its state before."""
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


def ended_status(status: Mapping[str, Any], code: int, now: float) -> Status:
    """The status of a container that has run until now."""
    begun = ((status.get("state") or {}).get("running") or {}).get("startedAt") or timestamp(now)
    terminated = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": begun,
        "finishedAt": timestamp(now),
        "containerID": status.get("containerID", ""),
    }
    return {**status, "state": {"terminated": terminated}, "ready": False, "started": False}


def is_running(status: Mapping[str, Any]) -> bool:
    return "running" in (status.get("state") or {})


def _container_id(pod: Object, container: Mapping[str, Any], count: int) -> str:
    text = f"{pod['metadata'].get('uid', '')}/{container['name']}/{count}"
    return RUNTIME + sha256(text.encode()).hexdigest()
