"""Jobs of release 1.35: two stages of their end, policies, and indexes of their own back-off."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.job_staged import StagedJobController
from orchd.controllers.objects import JOBS, PODS
from orchd.dialect import ORCH
from orchd.kinds.release import NEWEST
from orchd.testing.doubles.results import result_of
from tests.controllers.cluster_support import Cluster, template
from tests.controllers.unit_support import ControllerBench

RUNNING_CONTROLLERS = ("job", "garbagecollector")
SERVER_FLAGS = ("--emulated-version=1.35",)
EVENTS = ResourceRef("", "v1", "events")
_INDEX = ORCH("batch.{long}.io/job-completion-index")


def _job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {**spec, "template": template({}, restartPolicy="Never")}}


def _status(cluster: Cluster) -> dict[str, Any]:
    job = cluster.get(JOBS, "j")
    assert job is not None
    return dict(job["status"])


def _conditions(cluster: Cluster) -> list[tuple[str, str]]:
    return [(c["type"], c.get("reason", "")) for c in _status(cluster).get("conditions", ())]


def _end(cluster: Cluster, phase: str, index: str = "", code: int = 0) -> None:
    """End the active pods of an index ("": all)."""
    for pod in cluster.items(PODS):
        own = pod["metadata"].get("annotations", {}).get(_INDEX, "")
        if pod["status"].get("phase") in ("Succeeded", "Failed") or index not in ("", own):
            continue
        ended = {"name": "c", "state": {"terminated": {"exitCode": code}}, "image": "x", "imageID": "x", "ready": False}
        ended["restartCount"] = 0
        change = {"status": {"phase": phase, "containerStatuses": [ended]}}
        cluster.patch(PODS, pod["metadata"]["name"], change, subresource="status")
    cluster.settle(3)


def test_successful_job_ends_in_two_stages(cluster: Cluster) -> None:
    """The interim condition comes first, and both say why; counts of ready and terminating pods are always there."""
    cluster.create(JOBS, _job(completions=2, parallelism=2))
    cluster.settle(2)
    assert {k: _status(cluster)[k] for k in ("active", "ready", "terminating")} == {
        "active": 2,
        "ready": 0,
        "terminating": 0,
    }
    _end(cluster, "Succeeded")
    assert _conditions(cluster) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    assert _status(cluster)["succeeded"] == 2
    assert not any(pod["metadata"].get("finalizers") for pod in cluster.items(PODS))


def test_failed_job_waits_for_its_terminating_pods(cluster: Cluster) -> None:
    """Failed follows FailureTarget when no pod is being deleted any more."""
    held = _job(parallelism=2, backoffLimit=0)
    held["spec"]["template"]["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(JOBS, held)
    cluster.settle(2)
    first, second = cluster.names(PODS)
    cluster.patch(PODS, first, {"status": {"phase": "Failed"}}, subresource="status")
    cluster.settle(3)
    assert _conditions(cluster) == [("FailureTarget", "BackoffLimitExceeded")]
    assert _status(cluster)["terminating"] == 1
    cluster.patch(PODS, second, {"metadata": {"finalizers": None}})
    cluster.settle(3)
    assert _conditions(cluster)[1:] == [("Failed", "BackoffLimitExceeded")]
    assert (_status(cluster)["terminating"], _status(cluster)["failed"]) == (0, 2)


def test_failure_policy_ignores_and_fails(cluster: Cluster) -> None:
    """An ignored failure is replaced without being counted; another rule fails the job at once."""
    rules = [
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [4]}},
    ]
    cluster.create(JOBS, _job(backoffLimit=6, podFailurePolicy={"rules": rules}))
    cluster.settle(2)
    _end(cluster, "Failed", code=3)
    cluster.settle(15)
    assert ("failed" in _status(cluster), len(cluster.names(PODS))) == (False, 2)
    _end(cluster, "Failed", code=4)
    assert _conditions(cluster) == [("FailureTarget", "PodFailurePolicy"), ("Failed", "PodFailurePolicy")]


def test_success_policy_ends_a_job_early(cluster: Cluster) -> None:
    """The rest of the pods is deleted when the indexes of a rule are complete."""
    policy = {"rules": [{"succeededIndexes": "1"}]}
    cluster.create(
        JOBS, _job(completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy, backoffLimit=6)
    )
    cluster.settle(2)
    assert sorted(pod["metadata"]["labels"][_INDEX] for pod in cluster.items(PODS)) == ["0", "1", "2"]
    _end(cluster, "Succeeded", index="1")
    assert _conditions(cluster) == [("SuccessCriteriaMet", "SuccessPolicy"), ("Complete", "SuccessPolicy")]
    assert (_status(cluster)["completedIndexes"], len(cluster.names(PODS))) == ("1", 1)


def test_index_fails_by_itself(cluster: Cluster) -> None:
    """An index has its own back-off and limit; the job fails when all indexes are done."""
    cluster.create(JOBS, _job(completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=1))
    cluster.settle(2)
    _end(cluster, "Failed", index="0", code=1)
    assert "failedIndexes" not in _status(cluster) or _status(cluster)["failedIndexes"] == ""
    cluster.settle(15)
    counts = ORCH("batch.{long}.io/job-index-failure-count")
    running = [p for p in cluster.items(PODS) if p["status"].get("phase") == "Pending"]
    assert sorted(p["metadata"]["annotations"][counts] for p in running) == ["0", "1"]
    _end(cluster, "Failed", index="0", code=1)
    assert (_status(cluster)["failedIndexes"], _conditions(cluster)) == ("0", [])
    _end(cluster, "Succeeded", index="1")
    assert _conditions(cluster) == [("FailureTarget", "FailedIndexes"), ("Failed", "FailedIndexes")]


def test_job_of_another_manager_is_left_alone(cluster: Cluster) -> None:
    """A job that names another controller gets no pods."""
    cluster.create(JOBS, _job(managedBy="example.com/other"))
    cluster.settle(3)
    assert (cluster.names(PODS), _status(cluster)) == ([], {})


def test_job_fails_with_too_many_failed_indexes(cluster: Cluster) -> None:
    """The first failed index above the limit ends the job, and the pods of the others go."""
    limits = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}
    cluster.create(JOBS, _job(completions=4, parallelism=4, completionMode="Indexed", **limits))
    cluster.settle(2)
    _end(cluster, "Failed", index="0", code=1)
    assert _conditions(cluster) == [] and _status(cluster)["failedIndexes"] == "0"
    _end(cluster, "Failed", index="2", code=1)
    assert _conditions(cluster) == [
        ("FailureTarget", "MaxFailedIndexesExceeded"),
        ("Failed", "MaxFailedIndexesExceeded"),
    ]
    message = _status(cluster)["conditions"][1]["message"]
    assert message == "Job has exceeded the specified maximal number of failed indexes"
    assert not [pod for pod in cluster.items(PODS) if pod["status"].get("phase") != "Failed"]


def test_suspended_job(cluster: Cluster) -> None:
    """The pods of a suspended job are deleted; when it is resumed, it has new ones and begins its time anew."""
    cluster.create(JOBS, _job(completions=2, parallelism=2))
    cluster.settle(2)
    begun = _status(cluster)["startTime"]
    cluster.patch(JOBS, "j", {"spec": {"suspend": True}})
    cluster.settle(3)
    assert _conditions(cluster) == [("Suspended", "JobSuspended")] and not cluster.names(PODS)
    assert "active" not in _status(cluster)
    cluster.settle(10)
    cluster.patch(JOBS, "j", {"spec": {"suspend": False}})
    cluster.settle(3)
    assert _conditions(cluster) == [("Suspended", "JobResumed")] and len(cluster.names(PODS)) == 2
    assert _status(cluster)["conditions"][0]["status"] == "False" and _status(cluster)["startTime"] > begun
    reasons = [event["reason"] for event in cluster.items(EVENTS)]
    assert [reason for reason in reasons if reason in ("Suspended", "Resumed")] == ["Suspended", "Resumed"]


@pytest.mark.parametrize(
    ("limit", "before", "after"),
    [
        (None, {"succeeded": 2, "completedIndexes": "0"}, {"succeeded": 1, "completedIndexes": "0"}),
        (None, {"succeeded": 1, "completedIndexes": "0,2"}, {"succeeded": 2, "completedIndexes": "0,2"}),
        (1, {"completedIndexes": "1"}, {"succeeded": 1, "completedIndexes": "1", "failedIndexes": ""}),
        (1, {"failedIndexes": "0,2"}, {"failedIndexes": "0,2"}),
    ],
)
def test_indexes_are_counted_once(limit: int | None, before: dict[str, Any], after: dict[str, Any]) -> None:
    """The number of succeeded pods is that of completed indexes; failed indexes are there with a limit for each."""
    bench = ControllerBench(StagedJobController, release=NEWEST)
    spec = {
        "completions": 9,
        "parallelism": 1,
        "completionMode": "Indexed",
        "backoffLimit": 6,
        "backoffLimitPerIndex": limit,
    }
    job = _job(**{key: value for key, value in spec.items() if value is not None})
    metadata = {"name": "j", "namespace": "a", "uid": "j", "creationTimestamp": "2026-01-01T00:00:00Z"}
    bench.informers.put(JOBS, {**job, "metadata": metadata, "status": {"startTime": "2026-01-01T00:00:00Z", **before}})
    bench.client.objects["j"] = bench.informers.informer(JOBS).get("a", "j")
    result_of(bench.controller.reconcile(("a", "j")))
    statuses = [body["status"] for (_, what, _), body in zip(bench.client.calls, bench.client.bodies, strict=True)
                if what == "jobs/status"]  # fmt: skip
    keys = ("succeeded", "completedIndexes", "failedIndexes")
    assert {key: statuses[-1][key] for key in keys if key in statuses[-1]} == after
