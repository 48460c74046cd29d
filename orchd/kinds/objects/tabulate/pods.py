"""Cells of pods, and the conditions of their rows."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.conditions import is_true
from orchd.kinds.objects.tabulate.text import EMPTY, NONE, Cells, Json, Printing, age_of

#: Row conditions by phase: clients hide completed rows on request.
CONDITIONS: Final[dict[str, list[dict[str, str]]]] = {
    phase: [{"type": "Completed", "status": "True", "reason": phase, "message": message}]
    for phase, message in (
        ("Succeeded", "The pod has completed successfully."),
        ("Failed", "The pod failed."),
    )
}


def conditions(pod: Json) -> list[dict[str, str]] | None:
    """Row conditions of a completed pod, else None."""
    return CONDITIONS.get((pod.get("status") or EMPTY).get("phase", ""))


def cells(pod: Json, x: Printing) -> Cells:
    """Name, ready, status, restarts, age; wide: IP, node, nominated node, readiness gates."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or EMPTY
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
    if metadata.get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    ips = status.get("podIPs")
    gates = spec.get("readinessGates")
    return [
        metadata["name"],
        f"{ready}/{len(spec.get('containers') or ())}",
        reason,
        f"{restarts} ({x.age(last)} ago)" if last else str(restarts),
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
