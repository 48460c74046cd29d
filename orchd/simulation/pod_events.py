"""Events about simulated pods and their containers, as a kubelet records them. Each note ends with "(simulated)"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import orjson

from orchd.client.interfaces import IEventRecorder
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition
from orchd.kinds.jsonvalues import Object
from orchd.simulation.resizes import IN_PROGRESS, PENDING

#: The component that records the Events.
COMPONENT: Final = "orchd-simulation"
_MEMBERS: Final = ("initContainerStatuses", "containerStatuses")
_NOTE_SUFFIX: Final = " (simulated)"
#: Events of one change of a pod that are recorded. A pod may have thousands of containers; recorders drop all but some
#: 25 Events about an object.
_MOST_RECORDED: Final = 100

#: Type, reason and note of an Event, and the container that it is about, "" for the pod.
PodEvent = tuple[str, str, str, str]


def list_events(old: Object, new: Object) -> Iterator[PodEvent]:
    """Events about a pod that changed from `old` to `new`, and about its containers."""
    before = _statuses(old)
    if new["metadata"].get("deletionTimestamp") and not old["metadata"].get("deletionTimestamp"):
        for container in _containers(new):
            if "running" in _state(before.get(container["name"], {})):
                yield "Normal", "Killing", f"Stopping container {container['name']}", container["name"]
        return
    images = {container["name"]: container.get("image", "") for container in _containers(new)}
    for name, status in _statuses(new).items():
        yield from _list_changes(name, images.get(name, ""), before.get(name, {}), status)
    yield from _list_resizes(old, new)


def _list_resizes(old: Object, new: Object) -> Iterator[PodEvent]:
    """A resize that waits or is impossible, starts, or is complete, by the conditions of the pod."""
    status, former = fields.status(new), fields.status(old)
    pending, before = find_condition(status, PENDING), find_condition(former, PENDING)
    if pending is not None and (before is None or _reason(pending) != _reason(before)):
        reason, message = _reason(pending)
        yield "Warning", f"Resize{reason}", _resize_note(f"Pod resize {reason}", new, pending, message), ""
    runs, ran = find_condition(status, IN_PROGRESS), find_condition(former, IN_PROGRESS)
    if runs is not None and (ran is None or _generation(runs) != _generation(ran)):
        yield "Normal", "ResizeStarted", _resize_note("Pod resize started", new, runs), ""
    elif runs is None and ran is not None and pending is None:
        yield "Normal", "ResizeCompleted", _resize_note("Pod resize completed", new, ran), ""


def _reason(condition: Mapping[str, Any]) -> tuple[str, str]:
    return condition.get("reason") or "", condition.get("message") or ""


def _generation(condition: Mapping[str, Any]) -> int:
    return condition.get("observedGeneration") or 0


def _resize_note(text: str, pod: Object, condition: Mapping[str, Any], error: str = "") -> str:
    """A note with the resources of all containers in JSON."""
    summary: dict[str, Any] = {
        listed: [{"name": each["name"], "resources": each.get("resources") or {}} for each in pod["spec"][listed]]
        for listed in ("initContainers", "containers")
        if pod["spec"].get(listed)
    }
    summary["generation"] = _generation(condition)
    if error:
        summary["error"] = error
    return f"{text}: {orjson.dumps(summary).decode()}"


def _list_changes(name: str, image: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[PodEvent]:
    state, last = _state(new), _state(old)
    # A container may start and end between two status updates.
    started = ("running" in state or "terminated" in state) and not ("running" in last or "terminated" in last)
    restarted = int(new.get("restartCount") or 0) > int(old.get("restartCount") or 0)
    if started or restarted:
        yield "Normal", "Pulled", f'Container image "{image}" already present on machine', name
        yield "Normal", "Created", f"Created container {name}", name
        yield "Normal", "Started", f"Started container {name}", name
    reason = (state.get("waiting") or {}).get("reason", "")
    if reason == (last.get("waiting") or {}).get("reason", ""):
        return
    if reason == "CrashLoopBackOff":
        yield "Warning", "BackOff", "Back-off restarting failed container", name
    elif reason not in ("", "ContainerCreating", "PodInitializing"):
        yield "Warning", "Failed", f"Error: {reason}", name


def _containers(pod: Object) -> list[Mapping[str, Any]]:
    """The init containers of a pod, then its containers."""
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


def _statuses(pod: Object) -> dict[str, Mapping[str, Any]]:
    status = fields.status(pod)
    return {each["name"]: each for member in _MEMBERS for each in status.get(member) or ()}


def _state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    return status.get("state") or {}


class PodEvents:
    """Records Events of simulated pods: add `change` as a listener of pods. `is_simulated` is asked with a node's
    name."""

    def __init__(self, recorder: IEventRecorder, is_simulated: Callable[[str], bool]) -> None:
        self._recorder = recorder
        self._is_simulated = is_simulated

    def change(self, event: str, old: Object | None, new: Object | None) -> None:
        """Record the events of a changed pod; nothing for an added one."""
        if old is None or new is None or not self._is_simulated(new["spec"].get("nodeName") or ""):
            return
        if old["metadata"].get("uid") != new["metadata"].get("uid"):
            return
        initial = {each["name"] for each in new["spec"].get("initContainers") or ()}
        for type_, reason, note, container in islice(list_events(old, new), _MOST_RECORDED):
            subject = {**new, "apiVersion": "v1", "kind": "Pod"}
            if container:
                member = "initContainers" if container in initial else "containers"
                subject["fieldPath"] = f"spec.{member}{{{container}}}"
            self._recorder.event(subject, type_, reason, note + _NOTE_SUFFIX)
