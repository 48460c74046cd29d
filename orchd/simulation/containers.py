"""The status of one container of a simulated pod: a pure function of its last status, the behavior of the pod and the
time."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from math import inf
from typing import Any, Final

from orchd.kinds.fields import mapping
from orchd.kinds.jsonvalues import Object
from orchd.kinds.simulated import RUNTIME
from orchd.kinds.times import seconds_of, timestamp
from orchd.simulation.behaviour import PodBehaviour
from orchd.simulation.commands import outcome_of
from orchd.simulation.probes import Probed, probe
from orchd.simulation.variables import subpath_error

_CONFIG_ERROR: Final = "CreateContainerConfigError"
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
        return waiting_status(container, old, _CONFIG_ERROR, behaviour), None
    count = int((old or {}).get("restartCount") or 0)
    state = dict(mapping(old, "state"))
    if "terminated" in state:
        return dict(old or {}), None
    if "running" in state:
        return _run(pod, container, dict(old or {}), behaviour, now)
    last = mapping(old, "lastState")
    if "terminated" in last:
        again = (seconds_of(last["terminated"].get("finishedAt")) or now) + _backoff(count)
        if now < again:
            return dict(old or {}), again
        return _run(pod, container, begun_status(pod, container, count + 1, last, now), behaviour, now)
    if behaviour.start_failure:
        return waiting_status(container, old, behaviour.start_failure, "the simulation was asked to fail here"), None
    error = subpath_error(pod, container)
    if error:
        return waiting_status(container, old, _CONFIG_ERROR, error), None
    if now < begin + behaviour.start_delay:
        reason = "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"
        return waiting_status(container, old, reason, ""), begin + behaviour.start_delay
    return _run(pod, container, begun_status(pod, container, count, {}, now), behaviour, now)


def _run(
    pod: Object, container: Mapping[str, Any], status: Status, behaviour: PodBehaviour, now: float
) -> tuple[Status, float | None]:
    """The status of a running container: it may end, be restarted on request, or become started and ready."""
    count = int(status.get("restartCount") or 0)
    if count < behaviour.restarts:
        last = ended_status(status, 137, now)["state"]
        status, count = begun_status(pod, container, behaviour.restarts, last, now), behaviour.restarts
    since = seconds_of(status["state"]["running"]["startedAt"]) or now
    code, duration = _ending(pod, container, behaviour, count)
    probed = probe(container, behaviour, since)
    if duration is not None and since + duration <= min(now, probed.killed_at):
        return _after_end(pod, container, ended_status(status, code, now), behaviour, now)
    if probed.killed_at <= now:
        return _after_end(pod, container, ended_status(status, 137, now), behaviour, now)
    return _probed(status, probed, None if duration is None else since + duration, now)


def _ending(pod: Object, container: Mapping[str, Any], behaviour: PodBehaviour, count: int) -> tuple[int, float | None]:
    """The exit code of a container that was restarted `count` times, and the seconds after which it ends."""
    if behaviour.exit_code is not None:
        return behaviour.exit_code, behaviour.run_duration
    outcome = outcome_of(pod, container, count)
    if outcome is None:
        return 0, behaviour.run_duration
    if behaviour.command_duration is None:
        return outcome.code, behaviour.run_duration
    duration = outcome.seconds or behaviour.command_duration
    return outcome.code, None if duration == inf else duration


def _probed(status: Status, probed: Probed, end: float | None, now: float) -> tuple[Status, float | None]:
    """The status of a running container with what its probes say, and the time of its next change; `end` is one."""
    started, ready = probed.started_at <= now, probed.ready_at <= now
    dues = [at for at in (probed.started_at, probed.ready_at, probed.killed_at, end or inf) if now < at < inf]
    return {**status, "started": started, "ready": ready}, min(dues, default=None)


def restarts(pod: Object, container: Mapping[str, Any], code: int) -> bool:
    """True if a container that ended with an exit code is restarted, by its own rules and policy or that of the pod."""
    for rule in container.get("restartPolicyRules") or ():
        codes = mapping(rule, "exitCodes")
        if rule.get("action") == "Restart" and (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _after_end(
    pod: Object, container: Mapping[str, Any], status: Status, behaviour: PodBehaviour, now: float
) -> tuple[Status, float | None]:
    """The status of a container that has ended: it is restarted at once the first time, later with backoff, or not at
    all."""
    if not restarts(pod, container, status["state"]["terminated"]["exitCode"]):
        return status, None
    count, last = int(status.get("restartCount") or 0), status["state"]
    pause = _backoff(count)
    if not pause:
        begun = begun_status(pod, container, count + 1, last, now)
        duration = _ending(pod, container, behaviour, count + 1)[1]
        ends = None if duration is None else now + max(duration, 1.0)
        return _probed(begun, probe(container, behaviour, now), ends, now)
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
        "lastState": dict(mapping(old, "lastState")),
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
    begun = mapping(status, "state", "running").get("startedAt") or timestamp(now)
    terminated = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": begun,
        "finishedAt": timestamp(now),
        "containerID": status.get("containerID", ""),
    }
    return {**status, "state": {"terminated": terminated}, "ready": False, "started": False}


def is_running(status: Mapping[str, Any]) -> bool:
    return "running" in mapping(status, "state")


def _container_id(pod: Object, container: Mapping[str, Any], count: int) -> str:
    text = f"{pod['metadata'].get('uid', '')}/{container['name']}/{count}"
    return RUNTIME + sha256(text.encode()).hexdigest()
