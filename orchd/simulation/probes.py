"""When the probes of a simulated container have which result. A probe succeeds as early as it can, or always fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from orchd.simulation.behaviour import PodBehaviour
from orchd.simulation.commands import succeeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """Times in seconds since the epoch at which a container is started, ready, and killed because of its probes;
    infinite for never."""

    started_at: float
    ready_at: float
    killed_at: float


def probe(container: Mapping[str, Any], behaviour: PodBehaviour, since: float) -> Probed:
    """The results of the probes of a container that runs since then."""
    startup = container.get("startupProbe")
    if _fails(startup, "startup", behaviour):
        return Probed(started_at=inf, ready_at=inf, killed_at=since + _failure_after(startup))
    started_at = since + _success_after(startup)
    readiness, ready_at = container.get("readinessProbe"), inf
    if behaviour.ready_delay is not None and not _fails(readiness, "readiness", behaviour):
        ready_at = max(started_at, since + behaviour.ready_delay, since + _success_after(readiness))
    liveness = container.get("livenessProbe")
    killed_at = inf
    if _fails(liveness, "liveness", behaviour):
        killed_at = max(started_at, since + _failure_after(liveness))
    return Probed(started_at=started_at, ready_at=ready_at, killed_at=killed_at)


def _fails(probe: Mapping[str, Any] | None, name: str, behaviour: PodBehaviour) -> bool:
    """True for a probe that an annotation makes fail, or whose command is known to fail."""
    if probe is None:
        return False
    return name in behaviour.failing_probes or not succeeds((probe.get("exec") or {}).get("command") or ())


def _success_after(probe: Mapping[str, Any] | None) -> float:
    """Seconds from the start of a container to the success of a probe that never fails."""
    return _repeated(probe, "successThreshold", 1)


def _failure_after(probe: Mapping[str, Any] | None) -> float:
    """Seconds from the start of a container to the failure of a probe that always fails."""
    return _repeated(probe, "failureThreshold", 3)


def _repeated(probe: Mapping[str, Any] | None, threshold: str, default: int) -> float:
    if probe is None:
        return 0.0
    more = int(probe.get(threshold) or default) - 1
    return float(int(probe.get("initialDelaySeconds") or 0) + more * int(probe.get("periodSeconds") or 10))
