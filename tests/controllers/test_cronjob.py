"""Cron schedules, and the jobs that they create."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CRON_JOBS, JOBS
from tests.controllers.cluster_support import Cluster, template
from tests.kinds.test_cron import ODD_SCHEDULES

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("cronjob", "job")

EVENTS = ResourceRef("", "v1", "events")


def cron(**spec: Any) -> dict[str, Any]:
    job = {"spec": {"template": template({}, restartPolicy="Never")}}
    return {"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": job, **spec}}


def test_each_scheduled_time_creates_one_job(cluster: Cluster) -> None:
    """Each scheduled time creates one job; finished ones are kept up to the limit."""
    cluster.create(CRON_JOBS, cron(successfulJobsHistoryLimit=1))
    cluster.settle(61)
    assert len(cluster.names(JOBS)) == 1
    cron_job = cluster.get(CRON_JOBS, "c")
    assert cron_job is not None and len(cron_job["status"]["active"]) == 1 and cron_job["status"]["lastScheduleTime"]
    for _ in range(2):
        cluster.make_ready(phase="Succeeded")
        cluster.settle(60)
    cron_job = cluster.get(CRON_JOBS, "c")
    assert cron_job is not None and cron_job["status"]["lastSuccessfulTime"]
    ended = [j for j in cluster.items(JOBS) if j["status"].get("completionTime")]
    assert (len(ended), len(cluster.names(JOBS))) == (1, 2)


@pytest.mark.parametrize(("policy", "jobs"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_concurrency_policies(cluster: Cluster, policy: str, jobs: int) -> None:
    """The policy decides whether a job is created, skipped or replaced while an earlier one runs."""
    cluster.create(CRON_JOBS, cron(concurrencyPolicy=policy))
    for _ in range(3):
        cluster.settle(60)
    first = cluster.names(JOBS)
    assert len(first) == jobs
    cluster.settle(60)
    assert (cluster.names(JOBS) == first) is (policy == "Forbid")


def test_suspended_cron_job_creates_nothing(cluster: Cluster) -> None:
    """A suspended cron job creates no jobs."""
    cluster.create(CRON_JOBS, cron(suspend=True))
    cluster.settle(130)
    assert cluster.names(JOBS) == []


def test_jobs_created_by_others_are_not_active(cluster: Cluster) -> None:
    """A job owned by the cron job but not created by it is not listed as active."""
    cron_job = cluster.create(CRON_JOBS, cron(concurrencyPolicy="Forbid", schedule="0 0 1 1 *"))
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "c",
        "uid": cron_job["metadata"]["uid"],
        "controller": True,
    }
    job = {
        "metadata": {"name": "manual", "ownerReferences": [owner]},
        "spec": {"template": template({}, restartPolicy="Never")},
    }
    cluster.create(JOBS, job)
    cluster.settle(2)
    current = cluster.get(CRON_JOBS, "c")
    assert current is not None and "active" not in (current.get("status") or {})


@pytest.mark.parametrize(
    ("schedule", "reason", "message"),
    [
        (
            "59 23 31 2 *",
            "InvalidSchedule",
            "invalid schedule: 59 23 31 2 * : time difference between two schedules less than 1 second",
        ),
        (
            "TZ=UTC 0 0 1 1 *",
            "UnsupportedSchedule",
            'CRON_TZ or TZ used in schedule "TZ=UTC 0 0 1 1 *" is not officially supported',
        ),
    ],
)
def test_odd_schedules_are_recorded(cluster: Cluster, schedule: str, reason: str, message: str) -> None:
    """A date that no year has, and a time zone in the schedule, are recorded once, and create no job."""
    cluster.create(CRON_JOBS, cron(schedule=schedule))
    cluster.settle(3)
    events = [(event["reason"], event["message"].split(", see")[0]) for event in cluster.items(EVENTS)]
    assert (events, cluster.names(JOBS)) == ([(reason, message)], [])


def test_schedules_that_validation_accepts_are_parsed(cluster: Cluster) -> None:
    """The controller reports none of the schedules that validation accepts as unparseable."""
    accepted = [schedule for schedule, message in ODD_SCHEDULES.items() if not message]
    for number, schedule in enumerate(accepted):
        cluster.create(CRON_JOBS, {**cron(schedule=schedule), "metadata": {"name": f"c{number}"}})
    cluster.settle(61)
    assert "UnparseableSchedule" not in {event["reason"] for event in cluster.items(EVENTS)}
    active = {c["spec"]["schedule"] for c in cluster.items(CRON_JOBS) if c.get("status", {}).get("lastScheduleTime")}
    assert {"* * * * *", "@every 0"} <= active


def warnings(cluster: Cluster) -> list[str]:
    return [e["message"] for e in cluster.items(EVENTS) if e["reason"] == "TooManyMissedTimes"]


@pytest.mark.parametrize(("minutes", "warned"), [(100, False), (101, True)])
def test_only_the_last_missed_time_counts(cluster: Cluster, minutes: int, warned: bool) -> None:
    """After a long pause only the last time creates a job; more than a hundred missed ones cause a warning."""
    cluster.create(CRON_JOBS, cron(suspend=True))
    cluster.settle()
    # The time of the tests is a whole minute.
    cluster.passed += minutes * 60
    cluster.patch(CRON_JOBS, "c", {"spec": {"suspend": False}})
    assert len(cluster.names(JOBS)) == 1
    assert [text.split(".")[0] for text in warnings(cluster)] == (
        [f"too many missed start times: {minutes}"] if warned else []
    )


def test_times_past_the_starting_deadline_are_skipped(cluster: Cluster) -> None:
    """Times before the starting deadline are ignored, also in warnings."""
    cluster.create(CRON_JOBS, cron(suspend=True, startingDeadlineSeconds=150))
    cluster.settle()
    cluster.passed += 200 * 60
    cluster.patch(CRON_JOBS, "c", {"spec": {"suspend": False}})
    assert len(cluster.names(JOBS)) == 1 and warnings(cluster) == []


def test_deleted_job_is_not_recreated_for_the_same_time(cluster: Cluster) -> None:
    """A deleted job is not created again for the same time."""
    cluster.create(CRON_JOBS, cron())
    cluster.settle(61)
    (first,) = cluster.names(JOBS)
    cluster.delete(JOBS, first, propagationPolicy="Background")
    cluster.settle(20)
    cluster.patch(CRON_JOBS, "c", {"metadata": {"labels": {"a": "b"}}})
    assert cluster.names(JOBS) == []


@pytest.mark.parametrize(("deadline", "jobs"), [(10, 0), (100, 1), (None, 1)])
def test_start_that_was_missed_for_too_long(cluster: Cluster, deadline: int | None, jobs: int) -> None:
    """A job that could not start in time is started later, up to the deadline."""
    limit = {} if deadline is None else {"startingDeadlineSeconds": deadline}
    cluster.create(CRON_JOBS, cron(schedule="0 * * * *", suspend=True, **limit))
    # The times of the cluster begin at a full hour.
    while cluster.passed < 3600 + 30:
        cluster.settle(300 if cluster.passed < 3000 else 30)
    cluster.patch(CRON_JOBS, "c", {"spec": {"suspend": False}})
    cluster.settle(5)
    assert len(cluster.names(JOBS)) == jobs
