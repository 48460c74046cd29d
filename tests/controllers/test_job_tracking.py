"""Jobs behind feature gates: pods that are counted with a finalizer, ready pods, suspension and indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.controllers.indexes import IndexSet
from orchd.controllers.job_tracking import FinalizerTracking, count_released, counted, tally
from orchd.controllers.objects import JOBS, PODS
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.testing.doubles.results import result_of
from tests.controllers.cluster_support import Cluster, template
from tests.controllers.recording_support import CONFLICT, FORBIDDEN, MISSING, RecordingClient

FINALIZER = ORCH("batch.{long}.io/job-tracking")
INDEX = ORCH("batch.{long}.io/job-completion-index")

Start = Callable[[str], Cluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a cluster with the job controller, the garbage collector and the given feature gates."""
    running: list[Cluster] = []

    def make(gates: str) -> Cluster:
        running.append(
            Cluster(tmp_path / str(len(running)), ("job", "garbagecollector"), (f"--feature-gates={gates}",))
        )
        running[-1].namespace()
        return running[-1]

    yield make
    for each in running:
        each.stop()


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {**spec, "template": template({}, restartPolicy="Never")}}


def status(cluster: Cluster) -> dict[str, Any]:
    job = cluster.get(JOBS, "j")
    assert job is not None
    return dict(job["status"])


def finalizers(cluster: Cluster) -> list[Any]:
    return [pod["metadata"].get("finalizers") for pod in cluster.items(PODS)]


def test_pods_of_tracked_jobs_have_a_finalizer_until_they_are_counted(start: Start) -> None:
    """With the gate on a job gets the annotation, its pods the finalizer, and finished pods lose it when they are
    counted."""
    cluster = start("JobTrackingWithFinalizers=true")
    stored_job = cluster.create(JOBS, job(parallelism=2, completions=3))
    assert stored_job["metadata"]["annotations"] == {FINALIZER: ""}
    cluster.settle()
    assert finalizers(cluster) == [[FINALIZER], [FINALIZER]]
    assert status(cluster)["uncountedTerminatedPods"] == {} and status(cluster)["active"] == 2
    cluster.make_ready(phase="Succeeded")
    cluster.settle()
    assert sorted(finalizers(cluster), key=str) == [None, None, [FINALIZER]]
    assert status(cluster)["succeeded"] == 2
    cluster.make_ready(phase="Succeeded")
    cluster.settle()
    found = status(cluster)
    assert found["succeeded"] == 3 and found["uncountedTerminatedPods"] == {} and finalizers(cluster) == [None] * 3
    assert [each["type"] for each in found["conditions"]] == ["Complete"] and found["completionTime"]


def test_deleted_pods_of_tracked_jobs_count_as_failed(start: Start) -> None:
    """A pod that somebody deletes stays until it is counted as failed, and is not counted twice after it is gone."""
    cluster = start("JobTrackingWithFinalizers=true")
    cluster.create(JOBS, job())
    cluster.settle()
    (name,) = cluster.names(PODS)
    cluster.delete(PODS, name, gracePeriodSeconds=0)
    cluster.settle(30)
    assert name not in cluster.names(PODS) and status(cluster)["failed"] == 1 and status(cluster)["active"] == 1


def test_succeeded_pods_of_tracked_jobs_stay_counted_after_deletion(start: Start) -> None:
    """The count does not depend on pods that remain."""
    cluster = start("JobTrackingWithFinalizers=true")
    cluster.create(JOBS, job(completions=2, parallelism=1))
    cluster.settle()
    cluster.make_ready(phase="Succeeded")
    for pod in cluster.items(PODS):
        if pod["status"]["phase"] == "Succeeded":
            cluster.delete(PODS, pod["metadata"]["name"], gracePeriodSeconds=0)
    cluster.settle()
    assert status(cluster)["succeeded"] == 1 and len(cluster.names(PODS)) == 1
    cluster.make_ready(phase="Succeeded")
    cluster.settle()
    assert [each["type"] for each in status(cluster)["conditions"]] == ["Complete"]


def test_indexes_of_tracked_jobs_are_counted_once(start: Start) -> None:
    """Succeeded pods of an indexed job are recorded by index only."""
    cluster = start("JobTrackingWithFinalizers=true")
    cluster.create(JOBS, job(completions=3, parallelism=3, completionMode="Indexed"))
    cluster.settle()
    cluster.make_ready(phase="Succeeded")
    cluster.settle()
    found = status(cluster)
    assert (found["succeeded"], found["completedIndexes"], found["uncountedTerminatedPods"]) == (3, "0-2", {})
    assert finalizers(cluster) == [None] * 3


def test_failed_tracked_jobs_release_their_pods(start: Start) -> None:
    """A job that fails deletes its active pods, counts them as failed and then ends."""
    cluster = start("JobTrackingWithFinalizers=true")
    cluster.create(JOBS, job(parallelism=2, activeDeadlineSeconds=5))
    cluster.settle()
    cluster.settle(20)
    found = status(cluster)
    assert [each["reason"] for each in found["conditions"]] == ["DeadlineExceeded"]
    assert found["failed"] == 2 and not any(finalizers(cluster))


def test_pods_of_deleted_tracked_jobs_go(start: Start) -> None:
    """Pods of a job that is gone lose the finalizer when they are deleted."""
    cluster = start("JobTrackingWithFinalizers=true")
    cluster.create(JOBS, job(parallelism=2))
    cluster.settle()
    cluster.delete(JOBS, "j", propagationPolicy="Background")
    cluster.settle(30)
    assert cluster.names(PODS) == []


def test_jobs_are_not_tracked_while_the_gate_is_off(start: Start) -> None:
    """With the gate off a new job has no annotation, its pods have no finalizer and status lists no pods."""
    cluster = start("JobTrackingWithFinalizers=false")
    given = {**job(), "metadata": {"name": "j", "annotations": {FINALIZER: "", "k": "v"}}}
    assert cluster.create(JOBS, given)["metadata"]["annotations"] == {"k": "v"}
    cluster.settle()
    assert finalizers(cluster) == [None] and "uncountedTerminatedPods" not in status(cluster)


@pytest.mark.parametrize(("on", "expected"), [("true", [0, 2]), ("false", [None, None])])
def test_ready_pods_are_counted_behind_their_gate(start: Start, on: str, expected: list[int | None]) -> None:
    """status.ready is the number of ready pods with the gate on, and absent with it off."""
    cluster = start(f"JobReadyPods={on}")
    cluster.create(JOBS, job(parallelism=2))
    cluster.settle(2)
    seen = [status(cluster).get("ready")]
    cluster.make_ready()
    cluster.settle(2)
    assert [*seen, status(cluster).get("ready")] == expected


def test_indexed_jobs_are_skipped_while_their_gate_is_off(start: Start) -> None:
    """A job keeps no completion mode with the gate off, so that its pods have no index."""
    cluster = start("IndexedJob=false")
    stored_job = cluster.create(JOBS, job(completions=2, parallelism=2, completionMode="Indexed"))
    assert "completionMode" not in stored_job["spec"]
    cluster.settle()
    assert [(pod["metadata"].get("annotations") or {}).get(INDEX) for pod in cluster.items(PODS)] == [None, None]


def test_suspension_is_ignored_while_its_gate_is_off(start: Start) -> None:
    """A job cannot be suspended with the gate off, neither when it is created nor later."""
    cluster = start("SuspendJob=false")
    assert "suspend" not in cluster.create(JOBS, job(suspend=True))["spec"]
    cluster.settle()
    cluster.patch(JOBS, "j", {"spec": {"suspend": True}})
    assert len(cluster.names(PODS)) == 1 and "conditions" not in status(cluster)


def pod(uid: str, phase: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid, **metadata}, "status": {"phase": phase}}


def test_counts_include_pods_that_the_status_lists() -> None:
    """A pod counts once: by the counters, by the list of the status, or by itself."""
    current = {"succeeded": 1, "failed": 2, "uncountedTerminatedPods": {"succeeded": ["a"], "failed": ["b"]}}
    pods = [
        pod("a", "Succeeded"),
        pod("b", "Failed"),
        pod("c", "Succeeded"),
        pod("d", "Running", deletionTimestamp="x"),
        pod("e", "Running"),
    ]
    assert counted({"status": current}, pods) == (3, 4)


def test_status_lists_at_most_five_hundred_pods() -> None:
    """One pass counts 500 pods; the others keep their finalizer until a later one."""
    pods = [pod(str(i), "Succeeded") for i in range(600)]
    counts = tally({"metadata": {}, "status": {}}, pods, None, IndexSet(), ends=False)
    assert len(counts.uncounted["succeeded"]) == len(counts.released) == 500


def test_released_pods_move_to_the_counters() -> None:
    """Uids without a pod that has the finalizer are added to the counters and leave the list."""
    fresh: dict[str, Any] = {"failed": 1, "uncountedTerminatedPods": {"succeeded": ["a", "b"], "failed": ["c"]}}
    count_released(fresh, {"b"})
    assert fresh == {"succeeded": 1, "failed": 2, "uncountedTerminatedPods": {"succeeded": ["b"]}}


class _SecondFails(RecordingClient):
    async def patch(self, ref: Any, namespace: str, name: str, patch: Any, **more: Any) -> Any:
        body = await super().patch(ref, namespace, name, patch, **more)
        if name == "q":
            raise FORBIDDEN
        return body


def test_pods_that_cannot_be_released() -> None:
    """The others are released all the same; the failed one is pending again, and the failure is told."""
    client: Any = _SecondFails()
    tracking, key = FinalizerTracking(client, FINALIZER), ("a", "j")
    pods = [{"metadata": {"namespace": "a", "name": each, "uid": each, "finalizers": [FINALIZER]}} for each in "pqr"]
    released, problem = result_of(tracking.release(key, pods))
    assert released == {"p", "r"} and problem is not None and problem.value is FORBIDDEN
    assert [each["metadata"]["name"] for each in tracking.pending(key, pods)] == ["q"]
    assert client.bodies[0] == {"metadata": {"uid": "p", "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
    assert result_of(tracking.release(key, pods[:1])) == ({"p"}, None)
    tracking.forget(key)
    assert tracking.pending(key, pods) == pods
    with pytest.raises(ApiError):
        result_of(tracking.release(None, pods))


@pytest.mark.parametrize("error", [MISSING, CONFLICT])
def test_pods_that_are_gone_need_no_release(error: ApiError) -> None:
    """Nor do those of which another one has the name now."""
    client: Any = RecordingClient(patch=error)
    pod = {"metadata": {"namespace": "a", "name": "p", "uid": "p", "finalizers": [FINALIZER]}}
    assert result_of(FinalizerTracking(client, FINALIZER).release(("a", "j"), [pod])) == ({"p"}, None)
