"""Events about the containers of simulated pods."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.simulation.pod_events import PodEvents, list_events

RUNNING: dict[str, Any] = {"running": {}}
ENDED: dict[str, Any] = {"terminated": {}}
WAITING = {"waiting": {"reason": "ContainerCreating"}}
CRASHED = {"waiting": {"reason": "CrashLoopBackOff"}}
PULLED, CREATED, STARTED = (
    (f"Normal:{reason}", note)
    for reason, note in (
        ("Pulled", 'Container image "x:1" already present on machine'), ("Created", "Created container c"), ("Started", "Started container c"),
    )
)  # fmt: skip


def pod(
    state: Any = None, *, restarts: int = 0, deleting: bool = False, node: str = "n", uid: str = "u"
) -> dict[str, Any]:
    metadata = {"namespace": "a", "name": "p", "uid": uid, **({"deletionTimestamp": "now"} if deleting else {})}
    statuses = [] if state is None else [{"name": "c", "state": state, "restartCount": restarts}]
    return {
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x:1"}]},
        "status": {"containerStatuses": statuses},
    }


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (pod(), pod(WAITING), []),
        (pod(WAITING), pod(RUNNING), [PULLED, CREATED, STARTED]),
        (pod(), pod(ENDED), [PULLED, CREATED, STARTED]),
        (pod(RUNNING), pod(RUNNING), []),
        (pod(RUNNING), pod(ENDED), []),
        (pod(RUNNING), pod(RUNNING, restarts=1), [PULLED, CREATED, STARTED]),
        (pod(RUNNING), pod(CRASHED), [("Warning:BackOff", "Back-off restarting failed container")]),
        (pod(CRASHED), pod(CRASHED), []),
        (
            pod(WAITING),
            pod({"waiting": {"reason": "ImagePullBackOff"}}),
            [("Warning:Failed", "Error: ImagePullBackOff")],
        ),
        (pod(RUNNING), pod(RUNNING, deleting=True), [("Normal:Killing", "Stopping container c")]),
        (pod(WAITING), pod(WAITING, deleting=True), []),
        (pod(RUNNING, deleting=True), pod(RUNNING, deleting=True), []),
    ],
)
def test_container_changes_are_recorded_once(
    old: dict[str, Any], new: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    """A change of a container is recorded once, with the kubelet's reasons and messages."""
    assert [(f"{type_}:{reason}", note) for type_, reason, note, _ in list_events(old, new)] == expected


class Recorder:
    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def event(self, regarding: Any, type: str, reason: str, note: str, **more: Any) -> None:
        self.notes.append((regarding["fieldPath"], note))


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        (pod(WAITING), pod(RUNNING), 3),
        (None, pod(RUNNING), 0),
        (pod(RUNNING), None, 0),
        (pod(WAITING, node="real"), pod(RUNNING, node="real"), 0),
        (pod(WAITING), pod(RUNNING, uid="another"), 0),
    ],
)
def test_only_simulated_pods_are_recorded(old: Any, new: Any, count: int) -> None:
    """Only changes of pods on simulated nodes are recorded, and are marked as simulated."""
    recorder: Any = Recorder()
    PodEvents(recorder, lambda node: node == "n").change("", old, new)
    assert len(recorder.notes) == count
    assert all(path == "spec.containers{c}" and note.endswith(" (simulated)") for path, note in recorder.notes)


def test_events_of_init_containers() -> None:
    """Init containers and sidecars have Events, too, which name their list."""
    recorder: Any = Recorder()
    before, after = pod(WAITING), pod(WAITING)
    for each, state in ((before, WAITING), (after, RUNNING)):
        each["spec"]["initContainers"] = [{"name": "s", "image": "x:1", "restartPolicy": "Always"}]
        each["status"]["initContainerStatuses"] = [{"name": "s", "state": state, "restartCount": 0}]
    PodEvents(recorder, lambda node: True).change("", before, after)
    assert [path for path, _ in recorder.notes] == ["spec.initContainers{s}"] * 3
