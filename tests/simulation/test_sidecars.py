"""Init containers, sidecars, probes and restart rules of simulated pods."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.simulation.pods import Step
from tests.simulation.test_simulated_pods import NOW, SimulatedPod

EXEC: dict[str, Any] = {"exec": {"command": ["x"]}}


def container(name: str = "c", **members: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", **members}


def sidecar(name: str = "s", **members: Any) -> dict[str, Any]:
    return container(name, restartPolicy="Always", **members)


def states(pod: SimulatedPod) -> list[str]:
    """The states of the init containers, then those of the containers."""
    status = pod.object["status"]
    return [next(iter(c["state"])) for c in (*status.get("initContainerStatuses", ()), *status["containerStatuses"])]


def condition(pod: SimulatedPod, type_: str) -> dict[str, Any]:
    [one] = [c for c in pod.object["status"]["conditions"] if c["type"] == type_]
    return dict(one)


def test_init_containers_run_in_order() -> None:
    """A sidecar delays what follows it until it has started, and stays beside the containers."""
    started = sidecar(startupProbe={**EXEC, "initialDelaySeconds": 4})
    pod = SimulatedPod({"initContainers": [container("a"), started, container("b")]})
    assert pod.step().due == NOW + 4
    assert states(pod) == ["terminated", "running", "waiting", "waiting"]
    assert pod.object["status"]["phase"] == "Pending"
    assert condition(pod, "Initialized")["message"] == "containers with incomplete status: [s b]"
    assert condition(pod, "Ready")["message"] == "containers with unready status: [s c]"
    assert pod.object["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert pod.step(4).due is None
    assert states(pod) == ["terminated", "running", "terminated", "running"]
    assert (condition(pod, "Initialized")["status"], pod.ready) == ("True", "True")
    assert pod.step(1000) == Step()


def test_an_init_container_that_fails_fails_a_pod_that_never_restarts() -> None:
    failing = [container("a", command=["true"]), container("b", command=["false"]), container("d")]
    pod = SimulatedPod({"restartPolicy": "Never", "initContainers": failing})
    assert pod.step().due is None
    assert (states(pod), pod.object["status"]["phase"]) == (
        ["terminated", "terminated", "waiting", "waiting"],
        "Failed",
    )
    assert condition(pod, "Initialized")["message"] == "containers with incomplete status: [b d]"


def test_an_init_container_that_fails_is_restarted() -> None:
    """Until it succeeds, with backoff; the containers wait."""
    script = "if [ -f x ]; then exit 0; else touch x; exit 1; fi"
    once, never = container("a", command=["sh", "-c", script]), container("b", command=["false"])
    pod = SimulatedPod({"initContainers": [once, never]})
    assert pod.step().due == NOW + 1
    assert (states(pod), pod.object["status"]["phase"]) == (["running", "waiting", "waiting"], "Pending")
    pod.step(1)
    assert states(pod) == ["terminated", "running", "waiting"]
    assert pod.step(1).due == NOW + 12
    failing = pod.object["status"]["initContainerStatuses"][1]
    assert failing["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert (failing["restartCount"], failing["lastState"]["terminated"]["exitCode"]) == (1, 1)
    assert condition(pod, "Initialized")["status"] == "False"


def test_a_pod_is_ready_with_its_sidecars() -> None:
    """A sidecar that is not ready keeps the pod from being ready; its containers run."""
    pod = SimulatedPod({"initContainers": [sidecar(readinessProbe={**EXEC, "initialDelaySeconds": 7})]})
    assert pod.step().due == NOW + 7
    assert (pod.container["ready"], pod.ready) == (True, "False")
    assert condition(pod, "ContainersReady")["message"] == "containers with unready status: [s]"
    pod.step(7)
    assert pod.ready == "True"


def test_sidecars_end_after_the_containers() -> None:
    """The phase of a pod is that of its containers; when they have ended, its sidecars end."""
    pod = SimulatedPod({"restartPolicy": "Never", "initContainers": [sidecar()]}, run_duration="5s")
    pod.step()
    assert states(pod) == ["running", "running"]
    assert pod.step(5).due is None
    assert (states(pod), pod.object["status"]["phase"]) == (["terminated", "terminated"], "Succeeded")
    ended = pod.object["status"]["initContainerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")


def test_a_pod_that_cannot_start_runs_no_sidecars() -> None:
    """With a start failure nothing of a pod runs, and before its start delay neither."""
    failing = SimulatedPod({"initContainers": [sidecar()]}, start_failure="ImagePullBackOff")
    failing.step()
    assert states(failing) == ["waiting", "waiting"]
    late = SimulatedPod({"initContainers": [sidecar()]}, start_delay="3s")
    late.step()
    assert states(late) == ["waiting", "waiting"]
    late.step(3)
    assert states(late) == ["running", "running"]


def test_deleted_pods_with_finalizers_end_their_sidecars() -> None:
    """Sidecars of a pod that only finalizers keep have ended."""
    pod = SimulatedPod({"initContainers": [sidecar()]})
    pod.step()
    pod.delete(0, finalizers=["a/b"])
    pod.step()
    assert states(pod) == ["terminated", "terminated"]


@pytest.mark.parametrize(
    ("probes", "started", "ready"),
    [
        ({}, 0, 0),
        ({"startupProbe": {**EXEC, "initialDelaySeconds": 3}}, 3, 3),
        ({"readinessProbe": {**EXEC, "initialDelaySeconds": 3}}, 0, 3),
        ({"readinessProbe": {**EXEC, "successThreshold": 3, "periodSeconds": 2}}, 0, 4),
        ({"readinessProbe": {**EXEC, "successThreshold": 2}}, 0, 10),
        (
            {"startupProbe": {**EXEC, "initialDelaySeconds": 5}, "readinessProbe": {**EXEC, "initialDelaySeconds": 2}},
            5,
            5,
        ),
        ({"livenessProbe": {**EXEC, "initialDelaySeconds": 9}}, 0, 0),
    ],
)
def test_probes_succeed_as_early_as_they_can(probes: Any, started: int, ready: int) -> None:
    """A container is started and ready when its probes can first have succeeded, counted from its start."""
    pod = SimulatedPod({"containers": [container(**probes)]})
    for second in range(12):
        pod.step(1 if second else 0)
        assert (pod.container["started"], pod.container["ready"]) == (second >= started, second >= ready)


def test_a_readiness_annotation_and_a_probe() -> None:
    """The later of the annotation's delay and the probe's counts, and never is never."""
    probe: dict[str, Any] = {"readinessProbe": {**EXEC, "initialDelaySeconds": 4}}
    for delay, due in (("2s", NOW + 4), ("6s", NOW + 6), ("never", None)):
        pod = SimulatedPod({"containers": [container(**probe)]}, ready_delay=delay)
        assert pod.step().due == due


@pytest.mark.parametrize(
    ("policy", "own", "code", "phase"),
    [
        ("Always", {"restartPolicy": "Never"}, 1, "Failed"),
        ("Always", {"restartPolicy": "Never"}, 0, "Succeeded"),
        ("Never", {"restartPolicy": "OnFailure"}, 1, "Running"),
        ("Never", {"restartPolicy": "OnFailure"}, 0, "Succeeded"),
        (
            "Never",
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [7]}}]},
            7,
            "Running",
        ),
        (
            "Never",
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [7]}}]},
            8,
            "Failed",
        ),
        (
            "Never",
            {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [7]}}]},
            8,
            "Running",
        ),
    ],
)
def test_containers_restart_by_their_own_rules(policy: str, own: Any, code: int, phase: str) -> None:
    """The policy and the rules of a container come before the policy of its pod."""
    pod = SimulatedPod(
        {"restartPolicy": policy, "containers": [container(**own)]}, run_duration="5s", exit_code=str(code)
    )
    pod.step()
    pod.step(5)
    assert pod.object["status"]["phase"] == phase
