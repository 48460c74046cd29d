"""Events about simulated pods and their containers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from orchd.simulation.pod_events import PodEvents, list_events
from tests.kinds.test_body_bounds import lines

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


def resized(*conditions: dict[str, Any]) -> dict[str, Any]:
    """A running pod that asks for resources, with conditions."""
    base = pod(RUNNING)
    spec = {**base["spec"], "initContainers": [{"name": "i"}]}
    spec["containers"] = [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "2"}}}]
    return {**base, "spec": spec, "status": {**base["status"], "conditions": list(conditions)}}


RESOURCES = (
    '"initContainers":[{"name":"i","resources":{}}],"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]'
)
BEGUN = {"type": "PodResizeInProgress", "status": "True", "observedGeneration": 2}
BEGUN_AGAIN = {**BEGUN, "observedGeneration": 3}
IMPOSSIBLE = {
    "type": "PodResizePending", "status": "True", "observedGeneration": 2, "reason": "Infeasible", "message": "too much"
}  # fmt: skip
DEFERRED = {**IMPOSSIBLE, "reason": "Deferred", "message": "no room"}
START, AGAIN = (
    ("Normal:ResizeStarted", f'Pod resize started: {{{RESOURCES},"generation":{generation}}}') for generation in (2, 3)
)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (resized(), resized(BEGUN), [START]),
        (resized(BEGUN), resized(BEGUN), []),
        (resized(BEGUN), resized(BEGUN_AGAIN), [AGAIN]),
        (
            resized(BEGUN),
            resized(),
            [("Normal:ResizeCompleted", f'Pod resize completed: {{{RESOURCES},"generation":2}}')],
        ),
        (
            resized(),
            resized(IMPOSSIBLE),
            [("Warning:ResizeInfeasible", f'Pod resize Infeasible: {{{RESOURCES},"generation":2,"error":"too much"}}')],
        ),
        (
            resized(IMPOSSIBLE),
            resized(DEFERRED),
            [("Warning:ResizeDeferred", f'Pod resize Deferred: {{{RESOURCES},"generation":2,"error":"no room"}}')],
        ),
        (resized(DEFERRED), resized(DEFERRED), []),
        (resized(DEFERRED), resized(BEGUN), [START]),
        (resized(BEGUN), resized(DEFERRED), "Warning:ResizeDeferred"),
    ],
)
def test_resizes_are_recorded(old: dict[str, Any], new: dict[str, Any], expected: list[tuple[str, str]] | str) -> None:
    """A resize is recorded when it starts, is complete, or has another reason to wait, with the resources in JSON."""
    events = [(f"{type_}:{reason}", note) for type_, reason, note, container in list_events(old, new) if not container]
    assert ([reason for reason, _ in events] == [expected]) if isinstance(expected, str) else events == expected


class Recorder:
    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def event(self, regarding: Any, type: str, reason: str, note: str, **more: Any) -> None:
        self.notes.append((regarding.get("fieldPath", ""), note))


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


@pytest.mark.parametrize("member", ["initContainers", "containers"])
def test_work_on_thousands_of_containers_is_linear(member: str) -> None:
    """The containers of a pod that starts, changes or ends are not compared with each other, and not all of their
    Events are recorded."""
    recorded = [0]

    class Recorder:
        def event(self, *event: object) -> None:
            recorded[0] += 1

    events = PodEvents(cast("Any", Recorder()), lambda node: True)

    def work(count: int) -> int:
        containers = [{"name": f"c{number}"} for number in range(count)]
        spec = {"nodeName": "n", "containers": [], member: containers}
        running = [{"name": f"c{number}", "state": RUNNING} for number in range(count)]
        new = {"metadata": {"name": "p"}, "spec": spec, "status": {f"{member[:-1]}Statuses": running}}
        gone = {**new, "metadata": {"name": "p", "deletionTimestamp": "now"}}
        return lines(lambda: events.change("MODIFIED", {**new, "status": {}}, new)) + lines(
            lambda: events.change("MODIFIED", new, gone)
        )

    assert work(2000) - work(1000) < 20_000
    assert 50 < recorded[0] <= 400
