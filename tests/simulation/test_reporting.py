"""What simulated nodes of later releases report of their pods."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.kinds.times import timestamp
from orchd.simulation.behaviour import pod_behaviour
from orchd.simulation.pods import Step, advance, report_step
from orchd.simulation.reporting import report_of
from orchd.simulation.resizes import is_deferred
from tests.simulation.test_simulated_pods import NOW, SETTINGS

NODE = {"status": {"allocatable": {"cpu": "2", "memory": "1Gi"}}}
MOUNTS: list[dict[str, Any]] = [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w", "readOnly": True}]


class Reported:
    """A pod of one container on a node of a release, and the steps that it takes."""

    def __init__(self, release: Release = NEWEST, **container: Any) -> None:
        self._release = release
        self.object: dict[str, Any] = {
            "metadata": {"name": "p", "namespace": "a", "uid": "u", "generation": 1},
            "spec": {"containers": [{"name": "c", "image": "x", **container}], "restartPolicy": "Never"},
            "status": {"phase": "Pending"},
        }
        self._now = NOW
        self.others: list[dict[str, Any]] = []
        self.step()

    def step(self, seconds: float = 0) -> Step:
        self._now += seconds
        behaviour, report = pod_behaviour(self.object, SETTINGS), report_of(self._release, NODE, lambda: self.others)
        step = advance(self.object, behaviour, "h", ["10.1.0.9"], self._now)
        step = report_step(self.object, step, report, self._now)
        if step.status is not None:
            self.object = {**self.object, "status": step.status}
        return step

    def resize(self, **amounts: str) -> None:
        metadata, spec = self.object["metadata"], self.object["spec"]
        container = {**spec["containers"][0], "resources": {"requests": amounts}}
        self.object = {
            **self.object,
            "metadata": {**metadata, "generation": metadata["generation"] + 1},
            "spec": {**spec, "containers": [container]},
        }
        self.step(0.2)

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.object["status"]
        return status

    @property
    def container(self) -> dict[str, Any]:
        one: dict[str, Any] = self.status["containerStatuses"][0]
        return one

    def condition(self, type_: str) -> dict[str, Any] | None:
        return next((c for c in self.status["conditions"] if c["type"] == type_), None)


def test_reports_of_releases() -> None:
    """Later releases report generations, addresses of the host, mounts and resources; the specification's does not."""
    resources = {"requests": {"cpu": "1"}}
    before, after = (Reported(release, resources=resources, volumeMounts=MOUNTS) for release in (SPECIFICATION, NEWEST))
    later = {"observedGeneration", "hostIPs"}
    assert later.isdisjoint(before.status) and after.status["observedGeneration"] == 1
    assert after.status["hostIPs"] == [{"ip": "h"}]
    assert {"resources", "volumeMounts"}.isdisjoint(before.container)
    assert after.container["resources"] == resources
    assert after.container["volumeMounts"] == [MOUNTS[0], {**MOUNTS[1], "recursiveReadOnly": "Disabled"}]
    types = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
    assert [c["type"] for c in before.status["conditions"]] == types
    assert [c["type"] for c in after.status["conditions"]] == ["PodReadyToStartContainers", *types]
    assert {c["observedGeneration"] for c in after.status["conditions"]} == {1}


@pytest.mark.parametrize("release", [SPECIFICATION, NEWEST])
def test_reports_are_written_once(release: Release) -> None:
    """A pod that does not change is not written again, neither while it runs nor after its end."""
    pod = Reported(release, resources={"requests": {"cpu": "1"}}, volumeMounts=MOUNTS)
    assert pod.step(1).status is None
    pod.step(5)
    assert pod.status["phase"] == "Succeeded"
    assert pod.step(1).status is None


def test_ended_pods_are_not_ready_to_start() -> None:
    """The sandbox of a pod is gone after its end."""
    pod = Reported()
    pod.step(5)
    condition = pod.condition("PodReadyToStartContainers")
    assert condition is not None and condition["status"] == "False"


def test_resizes() -> None:
    """Resources that fit are those of the container a second later; others stay pending, with the reason, until they
    fit."""
    pod = Reported(resources={"requests": {"cpu": "1"}})
    pod.resize(cpu="1500m")
    progress = pod.condition("PodResizeInProgress")
    assert progress is not None and (progress["status"], progress["observedGeneration"]) == ("True", 2)
    assert pod.container["resources"] == {"requests": {"cpu": "1"}}
    assert pod.container["allocatedResources"] == {"cpu": "1500m"}
    pod.step(1)
    assert pod.condition("PodResizeInProgress") is None
    assert (pod.container["resources"], pod.status["observedGeneration"]) == ({"requests": {"cpu": "1500m"}}, 2)
    pod.resize(cpu="3")
    condition = pod.condition("PodResizePending")
    assert condition is not None and (condition["reason"], condition["observedGeneration"]) == ("Infeasible", 3)
    assert condition["message"] == "Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000"
    assert pod.container["resources"] == {"requests": {"cpu": "1500m"}}
    assert pod.container["allocatedResources"] == {"cpu": "1500m"}
    assert pod.step(0.5).status is None
    pod.resize(cpu="2")
    pod.step(1)
    assert pod.condition("PodResizePending") is None and pod.container["resources"] == {"requests": {"cpu": "2"}}
    pod.resize(memory="2Gi")
    condition = pod.condition("PodResizePending")
    message = "Node didn't have enough capacity: memory, requested: 2147483648, capacity: 1073741824"
    assert condition is not None and condition["message"] == message


def test_resizes_wait_for_room() -> None:
    """A resize for which other pods leave no room is deferred, and granted when they have ended. What these pods were
    granted counts, not what they ask for."""
    pod = Reported(resources={"requests": {"cpu": "1"}})
    had = [{"name": "d", "resources": {"requests": {"cpu": "900m"}}}]
    other = {
        "metadata": {"uid": "o"},
        "spec": {
            "containers": [{"name": "d", "resources": {"requests": {"cpu": "2"}}}],
            "initContainers": [
                {"name": "i", "resources": {"requests": {"cpu": "800m"}}},
                {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
            ],
            "overhead": {"cpu": "10m"},
        },
        "status": {"phase": "Running", "containerStatuses": had},
    }
    pod.others = [pod.object, other]
    pod.resize(cpu="990m")
    assert pod.condition("PodResizePending") is None
    pod.resize(cpu="991m")
    condition = pod.condition("PodResizePending")
    assert condition is not None and condition["reason"] == "Deferred" and is_deferred(pod.object)
    message = "Node didn't have enough resource: cpu, requested: 991, used: 1010, capacity: 2000"
    assert condition["message"] == message
    assert pod.container["resources"] == {"requests": {"cpu": "1"}}
    pod.others = [{**other, "status": {"phase": "Succeeded"}}]
    pod.step(0.2)
    assert pod.condition("PodResizePending") is None and pod.condition("PodResizeInProgress") is not None
    pod.step(1)
    assert pod.container["resources"] == {"requests": {"cpu": "991m"}}


@pytest.mark.parametrize(("release", "reason"), [(SPECIFICATION, "ContainersNotReady"), (NEWEST, "PodFailed")])
def test_conditions_of_failed_pods(release: Release, reason: str) -> None:
    """Later releases say that a failed pod has failed, earlier ones which of its containers are not ready."""
    pod = Reported(release, command=["false"])
    pod.step(5)
    assert pod.status["phase"] == "Failed"
    for type_ in ("Ready", "ContainersReady"):
        condition = pod.condition(type_)
        assert condition is not None and (condition["status"], condition["reason"]) == ("False", reason)
        assert ("message" in condition) == (release == SPECIFICATION)


def test_a_resize_may_restart_a_container() -> None:
    """A container restarts for a resource whose policy says so, and not for others."""
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    pod = Reported(resources={"requests": {"cpu": "1"}}, resizePolicy=policy)
    pod.resize(cpu="500m")
    pod.step(1)
    assert pod.container["restartCount"] == 0
    pod.resize(cpu="500m", memory="1Mi")
    pod.step(1)
    assert pod.container["restartCount"] == 1 and "terminated" in pod.container["lastState"]


@pytest.mark.parametrize(("release", "phase"), [(SPECIFICATION, "Running"), (NEWEST, "Succeeded")])
def test_deleted_pods_get_a_final_phase(release: Release, phase: str) -> None:
    """The phase of a deleted pod that a finalizer keeps is final when its containers have ended; earlier releases leave
    it."""
    pod = Reported(release)
    gone = {"deletionTimestamp": timestamp(NOW + 1), "deletionGracePeriodSeconds": 0, "finalizers": ["example.com/x"]}
    pod.object = {**pod.object, "metadata": {**pod.object["metadata"], **gone}}
    pod.step(1)
    assert "terminated" in pod.object["status"]["containerStatuses"][0]["state"]
    assert pod.object["status"]["phase"] == phase
    assert pod.step(1).status is None
