"""The steps of a simulated pod, by its annotations and the time."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.simulated import PREFIX
from orchd.kinds.times import timestamp
from orchd.simulation.behaviour import AnnotationError, pod_behaviour
from orchd.simulation.pods import Step, advance, report_nothing, report_step
from orchd.simulation.settings import SimulationSettings

NOW = 1_800_000_000.0
SETTINGS = SimulationSettings(nodes=1)


class SimulatedPod:
    """A pod with one container, and the time since its creation."""

    def __init__(self, spec: dict[str, Any] | None = None, **notes: str) -> None:
        metadata = {"name": "p", "namespace": "a", "uid": "u"}
        annotations = {PREFIX + name.replace("_", "-"): value for name, value in notes.items()}
        self.object: dict[str, Any] = {
            "metadata": {**metadata, "annotations": annotations},
            "spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Always", **(spec or {})},
            "status": {"phase": "Pending"},
        }
        self.now = NOW

    def step(self, seconds: float = 0.0) -> Step:
        """Advance the time and take the step that is due then."""
        self.now += seconds
        done = advance(self.object, pod_behaviour(self.object, SETTINGS), "h", ["10.1.0.9"], self.now)
        done = report_step(self.object, done, report_nothing, self.now)
        if done.status is not None:
            self.object = {**self.object, "status": done.status}
        return done

    @property
    def container(self) -> dict[str, Any]:
        status: dict[str, Any] = self.object["status"]["containerStatuses"][0]
        return status

    @property
    def ready(self) -> str:
        [status] = [c["status"] for c in self.object["status"]["conditions"] if c["type"] == "Ready"]
        return str(status)

    def look(self) -> tuple[str, str, str, int]:
        """Phase, state of the container, readiness, restarts."""
        return (
            self.object["status"]["phase"],
            next(iter(self.container["state"])),
            self.ready,
            self.container["restartCount"],
        )

    def delete(self, grace: int, **metadata: Any) -> None:
        gone = {"deletionTimestamp": timestamp(self.now + grace), "deletionGracePeriodSeconds": grace, **metadata}
        self.object = {**self.object, "metadata": {**self.object["metadata"], **gone}}


def test_plain_pod_runs_after_one_step() -> None:
    """A plain pod runs, is ready and has an address after one step, and has no further steps."""
    pod = SimulatedPod()
    assert pod.step().due is None
    assert pod.look() == ("Running", "running", "True", 0)
    assert pod.object["status"]["podIPs"] == [{"ip": "10.1.0.9"}]
    assert pod.step(1000) == Step()


def test_host_network_pod_has_the_nodes_address() -> None:
    """A pod of the host's network has the node's address."""
    pod = SimulatedPod({"hostNetwork": True})
    pod.step()
    assert pod.object["status"]["podIP"] == "h"


def test_start_and_ready_delays() -> None:
    """Containers wait for the start delay, and then for the readiness delay."""
    pod = SimulatedPod(start_delay="5s", ready_delay="3s")
    assert pod.step().due == NOW + 5
    assert pod.look() == ("Pending", "waiting", "False", 0)
    assert pod.step(5).due == NOW + 8
    assert pod.look() == ("Running", "running", "False", 0)
    assert pod.step(3).due is None
    assert pod.look() == ("Running", "running", "True", 0)


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [
        ("Never", "0", "Succeeded"),
        ("Never", "3", "Failed"),
        ("OnFailure", "0", "Succeeded"),
        ("OnFailure", "3", "Running"),
        ("Always", "3", "Running"),
    ],
)
def test_containers_end_after_their_duration(policy: str, code: str, phase: str) -> None:
    """Containers end after their duration; the restart policy decides whether they restart."""
    pod = SimulatedPod({"restartPolicy": policy}, run_duration="2s", exit_code=code)
    assert pod.step().due == NOW + 2
    pod.step(2)
    assert pod.object["status"]["phase"] == phase
    assert pod.container["restartCount"] == (1 if phase == "Running" else 0)


@pytest.mark.parametrize(
    ("command", "notes", "seconds", "code"),
    [
        (["false"], {}, 5, 1),
        (["sh", "-c", "sleep 30; exit 4"], {}, 30, 4),
        (["sh", "-c", "sleep 30; exit 4"], {"run_duration": "2s"}, 2, 4),
        (["sh", "-c", "sleep 30; exit 4"], {"exit_code": "6"}, 5, 6),
    ],
)
def test_commands_end_with_their_code_unless_annotated(
    command: list[str], notes: dict[str, str], seconds: float, code: int
) -> None:
    container = {"name": "c", "image": "x", "command": command}
    pod = SimulatedPod({"restartPolicy": "Never", "containers": [container]}, **notes)
    assert pod.step().due == NOW + seconds
    pod.step(seconds)
    assert pod.container["state"]["terminated"]["exitCode"] == code


def test_failing_commands_restart_containers() -> None:
    container = {"name": "c", "image": "x", "command": ["sh", "-c", "sleep 20; exit 1"]}
    pod = SimulatedPod({"containers": [container]})
    assert pod.step().due == NOW + 20
    assert pod.step(20).due == NOW + 40
    assert pod.look() == ("Running", "running", "True", 1)
    pod.step(20)
    assert pod.container["state"]["waiting"]["reason"] == "CrashLoopBackOff"


def _probing(name: str, probe: dict[str, Any], **notes: str) -> SimulatedPod:
    return SimulatedPod({"containers": [{"name": "c", "image": "x", name: probe}]}, **notes)


@pytest.mark.parametrize("notes", [{}, {"failing_probes": "readiness"}])
def test_a_readiness_probe_that_fails_keeps_a_pod_unready(notes: dict[str, str]) -> None:
    probe = {"httpGet": {}} if notes else {"exec": {"command": ["/bin/false"]}}
    pod = _probing("readinessProbe", probe, **notes)
    assert pod.step().due is None
    pod.step(1000)
    assert pod.look() == ("Running", "running", "False", 0)


@pytest.mark.parametrize("name", ["liveness", "startup"])
def test_probes_that_fail_restart_containers(name: str) -> None:
    probe = {"initialDelaySeconds": 4, "periodSeconds": 2, "failureThreshold": 4}
    pod = _probing(f"{name}Probe", probe, failing_probes=name)
    assert pod.step().due == NOW + 10
    assert pod.container["started"] == (name == "liveness")
    pod.step(10)
    assert pod.container["restartCount"] == 1
    assert pod.container["lastState"]["terminated"]["exitCode"] == 137


def test_ephemeral_containers_run_while_the_pod_does() -> None:
    pod = SimulatedPod({"restartPolicy": "Never"}, run_duration="9s")
    pod.step()
    pod.object["spec"]["ephemeralContainers"] = [{"name": "e", "image": "y"}]
    pod.step(1)
    assert [next(iter(c["state"])) for c in pod.object["status"]["ephemeralContainerStatuses"]] == ["running"]
    assert pod.step(1) == Step(due=NOW + 9)
    pod.step(7)
    assert pod.object["status"]["phase"] == "Succeeded"
    assert [next(iter(c["state"])) for c in pod.object["status"]["ephemeralContainerStatuses"]] == ["terminated"]


def test_restarts_back_off() -> None:
    """A container that ends repeatedly is restarted with increasing backoff."""
    pod = SimulatedPod(run_duration="1s", exit_code="1")
    pod.step()
    pod.step(1)
    assert pod.look()[1:] == ("running", "True", 1)
    assert pod.step(1).due == NOW + 12
    assert pod.container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    pod.step(10)
    assert pod.look() == ("Running", "running", "True", 2)
    assert pod.step(1).due == NOW + 33
    assert pod.container["lastState"]["terminated"]["exitCode"] == 1


def test_restart_on_request() -> None:
    """Raising the annotation restarts the containers up to that count."""
    pod = SimulatedPod()
    pod.step()
    metadata = {**pod.object["metadata"], "annotations": {PREFIX + "restarts": "2"}}
    pod.object = {**pod.object, "metadata": metadata}
    pod.step(5)
    assert pod.look() == ("Running", "running", "True", 2)
    assert pod.step(1) == Step()


def test_failing_pod_waits_with_its_reason() -> None:
    """A pod that is configured to fail stays waiting with the given reason."""
    pod = SimulatedPod(start_failure="ImagePullBackOff")
    assert pod.step().due is None
    assert pod.container["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert pod.look()[0] == "Pending"


def test_init_containers_complete_first() -> None:
    """Init containers complete before the containers run."""
    pod = SimulatedPod({"initContainers": [{"name": "i", "image": "y"}]}, start_delay="1s")
    pod.step()
    assert pod.container["state"]["waiting"]["reason"] == "PodInitializing"
    assert pod.object["status"]["conditions"][0]["status"] == "False"
    pod.step(1)
    [init] = pod.object["status"]["initContainerStatuses"]
    assert init["state"]["terminated"]["exitCode"] == 0 and init["ready"]
    assert pod.object["status"]["conditions"][0]["status"] == "True"


def test_active_deadline_fails_the_pod() -> None:
    """A pod fails when it exceeds its active deadline."""
    pod = SimulatedPod({"activeDeadlineSeconds": 7})
    assert pod.step().due == NOW + 7
    pod.step(7)
    assert (pod.object["status"]["phase"], pod.object["status"]["reason"]) == ("Failed", "DeadlineExceeded")
    assert pod.object["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
    assert pod.ready == "False"


def test_readiness_gates() -> None:
    """A pod with a readiness gate is ready only when the gate's condition is true."""
    pod = SimulatedPod({"readinessGates": [{"conditionType": "example.org/in"}]})
    pod.step()
    assert pod.ready == "False"
    status = pod.object["status"]
    gate = {"type": "example.org/in", "status": "Unknown"}
    pod.object = {**pod.object, "status": {**status, "conditions": [*status["conditions"], gate]}}
    pod.step()
    messages = [c.get("message") for c in pod.object["status"]["conditions"] if c["type"] == "Ready"]
    assert messages == ['the status of pod readiness gate "example.org/in" is not "True", but Unknown']
    gate = {"type": "example.org/in", "status": "True"}
    pod.object = {**pod.object, "status": {**status, "conditions": [*status["conditions"], gate]}}
    pod.step()
    assert pod.ready == "True"
    assert gate in pod.object["status"]["conditions"]


@pytest.mark.parametrize(
    ("grace", "delay", "seconds"), [(30, "0s", 0), (30, "4s", 4), (30, "never", None), (2, "9s", 2), (0, "9s", 0)]
)
def test_deletion_delay_is_limited_by_the_grace_period(grace: int, delay: str, seconds: int | None) -> None:
    """A deleted pod ends after its delay, at the latest after its grace period."""
    pod = SimulatedPod(termination_delay=delay)
    if seconds is None:
        with pytest.raises(AnnotationError):
            pod.step()
        return
    pod.step()
    pod.delete(grace)
    step = pod.step()
    if seconds:
        assert not step.remove and step.due == NOW + seconds
        step = pod.step(seconds)
    assert step.remove


def test_containers_end_before_finalizers_are_removed() -> None:
    """Containers of a deleted pod end before its finalizers are removed."""
    pod = SimulatedPod()
    pod.step()
    pod.delete(30, finalizers=["x/y"])
    assert not pod.step().remove
    assert "terminated" in pod.container["state"]
    assert pod.step().remove
    pod.delete(0, finalizers=["x/y"])
    assert pod.step() == Step()


@pytest.mark.parametrize(
    "notes",
    [
        {"start_delay": "soon"},
        {"exit_code": "-1"},
        {"exit_code": "256"},
        {"restarts": "x"},
        {"run_duration": "-1s"},
        {"failing_probes": "x"},
    ],
)
def test_invalid_annotation_values_are_named(notes: dict[str, Any]) -> None:
    """The error names the annotation."""
    pod = SimulatedPod(**notes)
    with pytest.raises(AnnotationError, match=next(iter(notes)).replace("_", "-")):
        pod_behaviour(pod.object, SETTINGS)


def test_invalid_annotation_is_the_pods_waiting_reason() -> None:
    """A pod with an invalid annotation does not start, and its waiting reason names it."""
    step = advance(SimulatedPod().object, "annotation x: bad", "h", [], NOW)
    assert step.status is not None
    [container] = step.status["containerStatuses"]
    assert container["state"]["waiting"] == {"reason": "CreateContainerConfigError", "message": "annotation x: bad"}


@pytest.mark.parametrize("value", ["/tmp", "..", "a/../b", None])
def test_subpaths_outside_of_the_volume_keep_a_container_from_being_created(value: str | None) -> None:
    """The container waits until the variable that its `subPathExpr` names has a relative path."""
    mounts = [{"name": "v", "mountPath": "/v", "subPathExpr": "$(SUB)" if value else "$(SUB)/x"}]
    env = [{"name": "SUB", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['sub']"}}}]
    pod = SimulatedPod({"containers": [{"name": "c", "image": "x", "env": env, "volumeMounts": mounts}]})
    metadata = pod.object["metadata"]
    pod.object = {**pod.object, "metadata": {**metadata, "annotations": {"sub": value} if value else {}}}
    pod.step()
    assert pod.container["state"]["waiting"]["reason"] == "CreateContainerConfigError"
    assert "subPathExpr" in pod.container["state"]["waiting"]["message"]
    mounts[0]["subPathExpr"] = "$(SUB)"
    pod.object = {**pod.object, "metadata": {**metadata, "annotations": {"sub": "a..b/c"}}}
    pod.step()
    assert pod.look() == ("Running", "running", "True", 0)
