"""Cells of pods, and the conditions of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.kinds.conditions import is_true
from orchd.kinds.objects.tabulate.text import EMPTY, NONE, Cells, Json, Printing, age_of

#: Row conditions by phase: clients hide completed rows on request.
CONDITIONS: Final[dict[str, list[dict[str, str]]]] = {
    phase: [{"type": "Completed", "status": "True", "reason": phase, "message": message}]
    for phase, message in (("Succeeded", "The pod has completed successfully."), ("Failed", "The pod failed."))
}


def conditions(pod: Json) -> list[dict[str, str]] | None:
    """Row conditions of a completed pod, else None."""
    return CONDITIONS.get((pod.get("status") or EMPTY).get("phase", ""))


def cells(pod: Json, x: Printing) -> Cells:
    """Name, ready, status, restarts, age; wide: IP, node, nominated node, readiness gates."""
    spec, status = pod["spec"], pod.get("status") or EMPTY
    reason = status.get("reason") or status.get("phase") or ""
    restarts, last, ready = 0, "", 0
    starting = False
    listed = status.get("initContainerStatuses")
    if listed:
        reason, restarts, last, starting = _initializing(listed, len(spec.get("initContainers") or ()), reason)
    if not starting:
        listed = status.get("containerStatuses")
        if listed:
            # Restarts of init containers no longer count, but the time of the last one does.
            restarts = 0
            running = False
            for container in reversed(listed):
                restarts += container.get("restartCount") or 0
                last = _later(last, container)
                state = container.get("state") or EMPTY
                waiting, terminated = state.get("waiting"), state.get("terminated")
                if waiting and waiting.get("reason"):
                    reason = waiting["reason"]
                elif terminated is not None and (terminated.get("reason") or not waiting):
                    reason = terminated.get("reason") or _exit(terminated)
                elif container.get("ready") and "running" in state:
                    running = True
                    ready += 1
            if running and reason == "Completed":
                reason = "Running" if is_true(status, "Ready") else "NotReady"
        else:
            restarts = 0
    if pod["metadata"].get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return _row(pod, x, f"{ready}/{len(spec.get('containers') or ())}", reason, _restarts(restarts, last, x))


def _restarts(restarts: int, last: str, x: Printing) -> str:
    return f"{restarts} ({x.age(last)} ago)" if last else str(restarts)


def _row(pod: Json, x: Printing, ready: str, reason: str, restarts: str) -> Cells:
    spec, status = pod["spec"], pod.get("status") or EMPTY
    ips = status.get("podIPs")
    gates = spec.get("readinessGates")
    return [
        pod["metadata"]["name"],
        ready,
        reason,
        restarts,
        age_of(pod, x),
        (ips[0].get("ip") if ips else status.get("podIP")) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(gates, status) if gates else NONE,
    ]


def _initializing(listed: list[Any], total: int, reason: str) -> tuple[str, int, str, bool]:
    """Reason, restarts, time of the last one, and whether an init container has not finished."""
    restarts, last = 0, ""
    for index, container in enumerate(listed):
        restarts += container.get("restartCount") or 0
        last = _later(last, container)
        state = container.get("state") or EMPTY
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated is not None:
            if not terminated.get("exitCode"):
                continue
            return f"Init:{terminated.get('reason') or _exit(terminated)}", restarts, last, True
        if waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}", restarts, last, True
        return f"Init:{index}/{total}", restarts, last, True
    return reason, restarts, last, False


def cells_with_sidecars(pod: Json, x: Printing) -> Cells:
    """As `cells`, where restartable init containers count as containers, and scheduling gates and final phases are shown."""
    spec, status = pod["spec"], pod.get("status") or EMPTY
    inits = spec.get("initContainers") or ()
    sidecars = {container["name"] for container in inits if container.get("restartPolicy") == "Always"}
    reason = _reason(status)
    state = _initialization(status.get("initContainerStatuses") or (), sidecars, len(inits))
    ready = state.ready
    reason, restarts, last = state.reason or reason, state.restarts, state.last
    if not state.reason or is_true(status, "Initialized"):
        reason, more, restarts, last = _running(status, reason, state)
        ready += more
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in CONDITIONS:
            reason = "Terminating"
    total = len(spec.get("containers") or ()) + len(sidecars)
    return _row(pod, x, f"{ready}/{total}", reason, _restarts(restarts, last if restarts else "", x))


#: The printers of pods, of all releases.
PRINTERS: Final = (cells, cells_with_sidecars)


def _reason(status: Json) -> str:
    gated = any(c.get("type") == "PodScheduled" and c.get("reason") == _GATED for c in status.get("conditions") or ())
    return _GATED if gated else status.get("reason") or status.get("phase") or ""


_GATED: Final = "SchedulingGated"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Initialization:
    """How far a pod is initialized. `reason` is "" once it is; `ready` counts sidecars that are ready; restarts and the time of
    the last one are those of all init containers, and of the sidecars alone."""

    reason: str
    ready: int
    restarts: int
    last: str
    sidecar_restarts: int
    sidecar_last: str


def _initialization(listed: Sequence[Json], sidecars: set[str], total: int) -> _Initialization:
    restarts, last, sidecar_restarts, sidecar_last, ready, reason = 0, "", 0, "", 0, ""
    for index, container in enumerate(listed):
        restarts += container.get("restartCount") or 0
        last = _later(last, container)
        sidecar = container.get("name") in sidecars
        if sidecar:
            sidecar_restarts += container.get("restartCount") or 0
            sidecar_last = _later(sidecar_last, container)
        state = container.get("state") or EMPTY
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if sidecar and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        if terminated is not None:
            reason = f"Init:{terminated.get('reason') or _exit(terminated)}"
        elif waiting and waiting.get("reason") and waiting["reason"] != "PodInitializing":
            reason = f"Init:{waiting['reason']}"
        else:
            reason = f"Init:{index}/{total}"
        break
    return _Initialization(
        reason=reason,
        ready=ready,
        restarts=restarts,
        last=last,
        sidecar_restarts=sidecar_restarts,
        sidecar_last=sidecar_last,
    )


def _running(status: Json, reason: str, initialization: _Initialization) -> tuple[str, int, int, str]:
    """Reason, number of ready containers, restarts and the time of the last one of an initialized pod."""
    restarts, last = initialization.sidecar_restarts, initialization.sidecar_last
    ready, running, failure = 0, False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        restarts += container.get("restartCount") or 0
        last = _later(last, container)
        state = container.get("state") or EMPTY
        waiting, terminated = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = terminated.get("reason") or _exit(terminated)
            failure = reason if terminated.get("exitCode") else failure
        elif container.get("ready") and "running" in state:
            running = True
            ready += 1
    if reason == "Completed":
        if running and is_true(status, "Ready"):
            reason = "Running"
        elif failure or running:
            reason = failure or "NotReady"
    return reason, ready, restarts, last


def _exit(terminated: Json) -> str:
    signal = terminated.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode') or 0}"


def _later(last: str, container: Json) -> str:
    """The later of `last` and the end of the container's previous run; times of one format compare as text."""
    before = container.get("lastState")
    if not before:
        return last
    finished = (before.get("terminated") or EMPTY).get("finishedAt") or ""
    return finished if finished > last else last


def _gates(gates: list[Any], status: Json) -> str:
    met = {c.get("type") for c in status.get("conditions") or () if c.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in met for gate in gates)}/{len(gates)}"
