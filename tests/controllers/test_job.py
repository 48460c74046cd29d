"""Jobs, and the deletion of finished ones."""

from __future__ import annotations

from typing import Any

from orchd.controllers.job import JobController
from orchd.controllers.objects import JOBS, PODS
from orchd.dialect import ORCH
from tests.controllers.cluster_support import Cluster, template
from tests.controllers.lagging_support import StartLagging

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("job", "ttl-after-finished", "garbagecollector")


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {**spec, "template": template({}, restartPolicy="Never")}}


def status(cluster: Cluster) -> dict[str, Any]:
    job = cluster.get(JOBS, "j")
    assert job is not None
    return dict(job["status"])


def reasons(cluster: Cluster) -> list[tuple[str, str]]:
    return [(c["type"], c.get("reason", "")) for c in status(cluster).get("conditions", ())]


def test_parallelism_and_completions_limit_pods(cluster: Cluster) -> None:
    """A job has at most `parallelism` pods at once, and ends after `completions` successes."""
    cluster.create(JOBS, job(parallelism=2, completions=3))
    cluster.settle()
    assert len(cluster.names(PODS)) == 2 == status(cluster)["active"]
    cluster.make_ready(phase="Succeeded")
    assert (status(cluster)["active"], status(cluster)["succeeded"]) == (1, 2)
    cluster.make_ready(phase="Succeeded")
    assert reasons(cluster) == [("Complete", "")]
    assert status(cluster)["succeeded"] == 3
    assert status(cluster)["completionTime"] and "active" not in status(cluster)


def test_failed_pods_are_replaced_up_to_the_backoff_limit(cluster: Cluster) -> None:
    """Failed pods are replaced with increasing backoff, up to the limit."""
    cluster.create(JOBS, job(backoffLimit=1))
    cluster.settle()
    cluster.make_ready(phase="Failed")
    assert (status(cluster)["failed"], status(cluster)["active"]) == (1, 1)
    cluster.make_ready(phase="Failed")
    assert reasons(cluster) == []
    cluster.settle(30)
    assert reasons(cluster) == [("Failed", "BackoffLimitExceeded")]
    assert len(cluster.names(PODS)) == 2


def test_each_index_counts_once(cluster: Cluster) -> None:
    """Each pod of an indexed job has one index; an index counts once."""
    cluster.create(JOBS, job(completions=3, parallelism=3, completionMode="Indexed"))
    cluster.settle()
    key = ORCH("batch.{long}.io/job-completion-index")
    assert sorted(p["metadata"]["annotations"][key] for p in cluster.items(PODS)) == ["0", "1", "2"]
    assert all(p["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX" for p in cluster.items(PODS))
    cluster.make_ready(phase="Succeeded")
    assert status(cluster)["completedIndexes"] == "0-2"
    assert reasons(cluster) == [("Complete", "")]


def test_pods_with_a_duplicate_or_missing_index_are_deleted_first(cluster: Cluster) -> None:
    """Pods of an indexed job with a duplicate index, or without one, are deleted first."""
    key = ORCH("batch.{long}.io/job-completion-index")
    cluster.create(JOBS, job(parallelism=2, completions=2, completionMode="Indexed"))
    cluster.settle()
    names = {p["metadata"]["annotations"][key]: p["metadata"]["name"] for p in cluster.items(PODS)}
    assert sorted(names) == ["0", "1"]
    cluster.patch(PODS, names["1"], {"metadata": {"annotations": {key: "0"}}})
    cluster.settle()
    left = [
        p["metadata"]["annotations"][key] for p in cluster.items(PODS) if not p["metadata"].get("deletionTimestamp")
    ]
    assert sorted(left) == ["0", "1"]


def test_suspended_job_has_no_pods(cluster: Cluster) -> None:
    """A suspended job has no pods and the condition Suspended; when resumed, its start time is reset."""
    cluster.create(JOBS, job(suspend=True))
    cluster.settle()
    assert cluster.names(PODS) == []
    assert reasons(cluster) == [("Suspended", "JobSuspended")]
    assert "startTime" not in status(cluster)
    cluster.patch(JOBS, "j", {"spec": {"suspend": False}})
    assert len(cluster.names(PODS)) == 1
    assert reasons(cluster) == [("Suspended", "JobResumed")]


def test_finished_job_is_deleted_after_its_ttl(cluster: Cluster) -> None:
    """A job with ttlSecondsAfterFinished is deleted after that time, with its pods."""
    cluster.create(JOBS, job(ttlSecondsAfterFinished=0))
    cluster.settle()
    assert cluster.get(JOBS, "j") is not None
    cluster.make_ready(phase="Succeeded")
    cluster.settle()
    assert cluster.get(JOBS, "j") is None
    assert cluster.names(PODS) == []


def test_a_range_of_completed_indexes_is_an_interval(cluster: Cluster) -> None:
    """The completed indexes of a job are neither expanded nor searched one by one: the next pod has the first free
    index."""
    cluster.create(JOBS, job(completions=2_000_000_000, parallelism=2, completionMode="Indexed"))
    cluster.settle()
    cluster.patch(JOBS, "j", {"status": {"completedIndexes": "0-1900000000"}}, subresource="status")
    cluster.settle(30)
    key = ORCH("batch.{long}.io/job-completion-index")
    active = [
        p["metadata"]["annotations"][key] for p in cluster.items(PODS) if not p["metadata"].get("deletionTimestamp")
    ]
    assert sorted(active) == ["1900000001", "1900000002"]
    assert status(cluster)["succeeded"] == 1_900_000_001


def test_failed_pod_backoff_doubles_until_a_success(cluster: Cluster) -> None:
    """The first failed pod is replaced at once, the next after 10 seconds, then 20, until a pod succeeds."""
    cluster.create(JOBS, job(completions=2, parallelism=2))
    cluster.settle()

    def fail() -> str:
        name: str = next(p["metadata"]["name"] for p in cluster.items(PODS) if p["status"].get("phase") == "Pending")
        cluster.patch(PODS, name, {"status": {"phase": "Failed"}}, subresource="status")
        return name

    for pause in (0, 10, 20):
        before = len(cluster.names(PODS))
        fail()
        cluster.settle(max(0, pause - 2))
        assert len(cluster.names(PODS)) == before + (not pause)
        cluster.settle(3)
        assert len(cluster.names(PODS)) == before + 1
        # The pass that the failure caused.
        cluster.settle(50)
    first = next(p["metadata"]["name"] for p in cluster.items(PODS) if p["status"].get("phase") == "Pending")
    cluster.patch(PODS, first, {"status": {"phase": "Succeeded"}}, subresource="status")
    cluster.settle(1)
    before = len(cluster.names(PODS))
    fail()
    cluster.settle(1)
    assert len(cluster.names(PODS)) == before + 1


def test_completed_index_survives_its_pod(cluster: Cluster) -> None:
    """A completed index stays complete when its pod is deleted; the last index of a range counts."""
    cluster.create(JOBS, job(completions=4, parallelism=3, completionMode="Indexed"))
    cluster.settle()
    cluster.make_ready(phase="Succeeded")
    assert (status(cluster)["completedIndexes"], status(cluster)["succeeded"]) == ("0-2", 3)
    for pod in cluster.items(PODS):
        if pod["status"].get("phase") == "Succeeded":
            cluster.delete(PODS, pod["metadata"]["name"])
    cluster.settle(15)
    assert (status(cluster)["completedIndexes"], status(cluster)["succeeded"]) == ("0-2", 3)
    key = ORCH("batch.{long}.io/job-completion-index")
    assert [p["metadata"]["annotations"][key] for p in cluster.items(PODS)] == ["3"]


def test_first_success_ends_a_job_without_completions(cluster: Cluster) -> None:
    """After the first success no pods are created, and running ones are waited for."""
    cluster.create(JOBS, job(parallelism=3))
    cluster.settle()
    first, second, third = cluster.names(PODS)
    cluster.patch(PODS, first, {"status": {"phase": "Succeeded"}}, subresource="status")
    cluster.patch(PODS, second, {"status": {"phase": "Running"}}, subresource="status")
    cluster.delete(PODS, third, gracePeriodSeconds=0)
    cluster.settle(15)
    assert cluster.names(PODS) == [first, second] and reasons(cluster) == []
    cluster.patch(PODS, second, {"status": {"phase": "Succeeded"}}, subresource="status")
    cluster.settle(1)
    assert reasons(cluster) == [("Complete", "")]


def test_container_restarts_count_towards_the_backoff_limit(cluster: Cluster) -> None:
    """With the restart policy OnFailure a job fails when container restarts reach the limit."""
    spec = {"backoffLimit": 2, "template": template({}, restartPolicy="OnFailure")}
    cluster.create(JOBS, {"metadata": {"name": "j"}, "spec": spec})
    cluster.settle()
    (name,) = cluster.names(PODS)
    for restarts, expected in ((1, []), (2, [("Failed", "BackoffLimitExceeded")])):
        container = {"name": "c", "image": "x", "imageID": "", "ready": True, "restartCount": restarts}
        cluster.patch(
            PODS, name, {"status": {"phase": "Running", "containerStatuses": [container]}}, subresource="status"
        )
        cluster.settle()
        assert reasons(cluster) == expected


def test_deadline_does_not_run_while_a_job_is_suspended(cluster: Cluster) -> None:
    """Time in suspension does not count towards activeDeadlineSeconds."""
    cluster.create(JOBS, job(activeDeadlineSeconds=10))
    cluster.settle()
    cluster.patch(JOBS, "j", {"spec": {"suspend": True}})
    cluster.settle(30)
    cluster.patch(JOBS, "j", {"metadata": {"labels": {"touched": "yes"}}})
    assert reasons(cluster) == [("Suspended", "JobSuspended")]


def test_one_success_completes_a_job_without_completions(cluster: Cluster) -> None:
    cluster.create(JOBS, job(parallelism=1))
    cluster.settle()
    cluster.make_ready(phase="Succeeded")
    cluster.settle(1)
    assert reasons(cluster) == [("Complete", "")]


def test_conditions_are_announced_once(start_lagging: StartLagging) -> None:
    """A condition that stays as it is while the status changes has no further Event."""
    cluster = start_lagging(JobController)
    cluster.create(JOBS, job(suspend=True))
    for ready in (5, 6):
        cluster.patch(JOBS, "j", {"status": {"active": ready}}, "status")
        cluster.settle(5)
    assert [reason for reason, _ in cluster.recorder.notes] == ["Suspended"]
    cluster.patch(JOBS, "j", {"spec": {"suspend": False}})
    cluster.settle(5)
    assert [reason for reason, _ in cluster.recorder.notes if reason != "SuccessfulCreate"] == ["Suspended", "Resumed"]
