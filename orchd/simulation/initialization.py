"""The init containers of a simulated pod: they run in their order, and sidecars among them stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.simulation.behaviour import PodBehaviour
from orchd.simulation.containers import Status, advance_container, ended_status, is_running, waiting_status


@dataclass(frozen=True, slots=True, kw_only=True)
class Initialization:
    """`statuses` of the init containers, the names of those that are not through, and the time of the next change. A
    sidecar is through when it is started, another init container when it has completed. `failed`: one of them has
    failed and is not restarted."""

    statuses: tuple[Status, ...] = ()
    incomplete: tuple[str, ...] = ()
    due: float | None = None
    failed: bool = False

    @property
    def waits(self) -> bool:
        """True if the containers wait for init containers that have begun."""
        return bool(self.incomplete) and (self.failed or self.due is not None)


def is_sidecar(container: Mapping[str, object]) -> bool:
    """True for an init container that runs beside the containers."""
    return container.get("restartPolicy") == "Always"


def sidecars(pod: Object) -> frozenset[str]:
    """Names of the sidecars of a pod."""
    return frozenset(each["name"] for each in pod["spec"].get("initContainers") or () if is_sidecar(each))


def initialize(pod: Object, behaviour: PodBehaviour | str, begin: float, now: float) -> Initialization:
    """The init containers of a pod that has begun at `begin`."""
    old_statuses = {each["name"]: each for each in fields.status(pod).get("initContainerStatuses") or ()}
    starts = not isinstance(behaviour, str) and not behaviour.start_failure and now >= begin + behaviour.start_delay
    statuses: list[Status] = []
    incomplete: list[str] = []
    dues: list[float] = []
    for container in pod["spec"].get("initContainers") or ():
        name, old = container["name"], old_statuses.get(container["name"])
        if is_sidecar(container) and ((old is not None and is_running(old)) or (starts and not incomplete)):
            status, due = advance_container(pod, container, old, _unending(behaviour), begin, now)
            dues += [due] if due is not None else []
            through = bool(status.get("started"))
        elif old is not None and "terminated" in (old.get("state") or {}):
            status, through = dict(old), _code(old) == 0
        elif starts and not incomplete:
            status, due = advance_container(pod, _ordinary(pod, container), old, _immediate(behaviour), begin, now)
            dues += [due] if due is not None else []
            through = _code(status) == 0
            status = {**status, "ready": through}
        else:
            status, through = waiting_status(container, old, "PodInitializing", ""), False
        statuses.append(status)
        if not through:
            incomplete.append(name)
    failed = any(_code(each) for each in statuses if each["name"] in incomplete)
    return Initialization(
        statuses=tuple(statuses), incomplete=tuple(incomplete), due=min(dues, default=None), failed=failed
    )


def end_sidecars(pod: Object, statuses: tuple[Status, ...], now: float) -> tuple[Status, ...]:
    """The statuses of init containers after the end of the containers, which ends the sidecars."""
    names = sidecars(pod)
    return tuple(
        ended_status(each, 0, now) if each["name"] in names and is_running(each) else each for each in statuses
    )


def _unending(behaviour: PodBehaviour | str) -> PodBehaviour | str:
    """The behavior of sidecars, which neither end nor restart by themselves."""
    if isinstance(behaviour, str):
        return behaviour
    return replace(behaviour, run_duration=None, restarts=0, exit_code=0)


def _immediate(behaviour: PodBehaviour | str) -> PodBehaviour | str:
    """The behavior of init containers, which end at once."""
    if isinstance(behaviour, str):
        return behaviour
    return replace(behaviour, run_duration=0.0, restarts=0, exit_code=None, command_duration=None)


def _ordinary(pod: Object, container: Mapping[str, Any]) -> Mapping[str, Any]:
    """An init container with the policy by which it is restarted: on failure, unless the pod never restarts."""
    policy = "Never" if pod["spec"].get("restartPolicy") == "Never" else "OnFailure"
    return {"restartPolicy": policy, **container}


def _code(status: Status) -> int | None:
    """The exit code of a container that is not restarted, None for others."""
    return (status["state"].get("terminated") or {}).get("exitCode")
