"""Single passes of the cron job controller over jobs that its informer has."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.cronjob.controller import CronJobController
from orchd.controllers.objects import CRON_JOBS, JOBS
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.recording_support import EXISTS, FORBIDDEN, MISSING, recording_client
from tests.controllers.unit_support import ControllerBench

#: The time of the tests is a full hour: the twenty-eighth million and so on minute.
MINUTE = int(NOW) // 60
OWNER = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "c", "controller": True}
Entry = dict[str, Any]


def cron(status: Entry | None = None, begun: float = 30, metadata: Entry | None = None, **spec: Any) -> Entry:
    """A cron job of every minute that is some seconds old."""
    template = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "name": "x"}, "spec": {"template": {}}}
    own = {"name": "c", "namespace": "a", "uid": "c", "creationTimestamp": timestamp(NOW - begun), **(metadata or {})}
    return {"metadata": own, "spec": {"schedule": "* * * * *", "jobTemplate": template, **spec}, "status": status or {}}


def job(name: str, kind: str = "", at: float = 0, started: str = "", **metadata: Any) -> Entry:
    """A job, with the condition that ended it and the time of that."""
    ended = [{"type": kind, "status": "True", "lastTransitionTime": timestamp(NOW + at)}] if kind else []
    return {
        "metadata": {
            "name": name, "namespace": "a", "uid": name, "resourceVersion": "5", "ownerReferences": [OWNER], **metadata
        },
        "status": {
            "conditions": ended,
            **({"completionTime": timestamp(NOW + at)} if kind == "Complete" else {}),
            **({"startTime": started} if started else {}),
        },
    }  # fmt: skip


def reference(name: str) -> Entry:
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "namespace": "a",
        "name": name,
        "uid": name,
        "resourceVersion": "5",
    }


def created(name: str) -> Entry:
    """The reference to a job that was just created."""
    return {**reference(name), "uid": "", "resourceVersion": ""}


def begin(obj: Entry, *jobs: Entry, client: Any = None, **changes: Any) -> ControllerBench:
    bench = ControllerBench(CronJobController, client, **changes)
    result_of(bench.controller.listen())
    bench.informers.put(CRON_JOBS, obj)
    bench.informers.put(JOBS, *jobs)
    return bench


def names(bench: ControllerBench, verb: str) -> list[str]:
    return [name for called, what, name in bench.client.calls if called == verb and what == "jobs"]


LAST = f"c-{MINUTE}"
ACTIVE = {"active": [reference("c-1")]}
TIME = timestamp(NOW)
#: Cron job, jobs; then the jobs that are created and deleted, the status that is written, the reasons of Events, and
#: the time of the next pass.
PASSES: dict[str, tuple[Entry, list[Entry], list[str], list[str], Entry | None, list[str], float | None]] = {
    "due": (
        cron(),
        [],
        [LAST],
        [],
        {"active": [created(LAST)], "lastScheduleTime": TIME},
        ["SuccessfulCreate"],
        60.1,
    ),
    "not due yet": (cron({"lastScheduleTime": TIME}), [], [], [], None, [], 60.1),
    "suspended": (cron(suspend=True), [], [], [], None, [], None),
    "deleted": (cron(metadata={"deletionTimestamp": TIME}), [], [], [], None, [], None),
    "missed, within the deadline": (
        cron(schedule="59 * * * *", begun=100, startingDeadlineSeconds=61),
        [],
        [f"c-{MINUTE - 1}"],
        [],
        {"active": [created(f"c-{MINUTE - 1}")], "lastScheduleTime": timestamp(NOW - 60)},
        ["SuccessfulCreate"],
        3540.1,
    ),
    "missed, past the deadline": (
        cron(schedule="59 * * * *", begun=100, startingDeadlineSeconds=59),
        [],
        [],
        [],
        None,
        [],
        3540.1,
    ),
    "missed before it was created": (cron(schedule="59 * * * *"), [], [], [], None, [], 3540.1),
    "missed for a month": (
        cron(schedule="0 0 1 1 *", begun=200 * 86400),
        [],
        ["c-29979360"],
        [],
        {"active": [created("c-29979360")], "lastScheduleTime": "2027-01-01T00:00:00Z"},
        ["SuccessfulCreate"],
        30297600.1,
    ),
    "every ten minutes": (
        cron({"lastScheduleTime": timestamp(NOW - 1500)}, schedule="@every 10m"),
        [],
        [f"c-{MINUTE - 5}"],
        [],
        {"active": [created(f"c-{MINUTE - 5}")], "lastScheduleTime": timestamp(NOW - 300)},
        ["SuccessfulCreate"],
        300.1,
    ),
    "not yet ten minutes": (
        cron({"lastScheduleTime": timestamp(NOW - 500)}, schedule="@every 10m"),
        [],
        [],
        [],
        None,
        [],
        600.1,
    ),
    "has its job": (cron(), [job(LAST)], [], [], {"active": [reference(LAST)]}, [], 60.1),
    "allows several": (
        cron(ACTIVE),
        [job("c-1")],
        [LAST],
        [],
        {"active": [reference("c-1"), created(LAST)], "lastScheduleTime": TIME},
        ["SuccessfulCreate"],
        60.1,
    ),
    "forbids several": (
        cron(ACTIVE, concurrencyPolicy="Forbid"),
        [job("c-1")],
        [],
        [],
        None,
        ["JobAlreadyActive"],
        60.1,
    ),
    "forbids several, none runs": (
        cron(concurrencyPolicy="Forbid"),
        [job("c-1", "Complete", -9)],
        [LAST],
        [],
        {"active": [created(LAST)], "lastScheduleTime": TIME, "lastSuccessfulTime": timestamp(NOW - 9)},
        ["SuccessfulCreate"],
        60.1,
    ),
    "replaces": (
        cron(ACTIVE, concurrencyPolicy="Replace"),
        [job("c-1"), job("by-hand")],
        [LAST],
        ["c-1"],
        {"active": [created(LAST)], "lastScheduleTime": TIME},
        ["UnexpectedJob", "SuccessfulDelete", "SuccessfulCreate"],
        60.1,
    ),
    "completed": (
        cron({**ACTIVE, "lastSuccessfulTime": timestamp(NOW - 9)}, suspend=True),
        [job("c-1", "Complete", -5)],
        [],
        [],
        {"lastSuccessfulTime": timestamp(NOW - 5)},
        ["SawCompletedJob"],
        None,
    ),
    "completed earlier": (
        cron({"lastSuccessfulTime": timestamp(NOW - 5)}, suspend=True),
        [job("c-1", "Complete", -9)],
        [],
        [],
        None,
        [],
        None,
    ),
    "failed": (cron(ACTIVE, suspend=True), [job("c-1", "Failed")], [], [], {}, ["SawCompletedJob"], None),
    "lost a job": (cron(ACTIVE, suspend=True), [], [], [], {}, ["MissingJob"], None),
    "has a job of another": (cron(suspend=True), [job("by-hand"), job("c-x"), job("d-1")], [], [], None, ["UnexpectedJob"] * 3, None),
    "has a listed job of another name": (
        cron({"active": [reference("x")]}, suspend=True),
        [job("x")],
        [],
        [],
        None,
        [],
        None,
    ),
    "history": (
        cron(suspend=True),
        [job(f"c-{n}", "Complete", -9, started=timestamp(NOW - 100 + n)) for n in (5, 4, 3, 2)]
        + [job(f"c-{n}", "Failed", -9, started=timestamp(NOW - 100 - n)) for n in (7, 8)],
        [],
        ["c-2", "c-8"],
        {"lastSuccessfulTime": timestamp(NOW - 9)},
        ["SuccessfulDelete", "SuccessfulDelete"],
        None,
    ),
    "limits of the history": (
        cron(suspend=True, successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0),
        [job("c-1", "Complete", -9), job("c-2", "Failed"), job("c-3", "Failed", deletionTimestamp=TIME)],
        [],
        ["c-1", "c-2"],
        {"lastSuccessfulTime": timestamp(NOW - 9)},
        ["SuccessfulDelete", "SuccessfulDelete"],
        None,
    ),
    "history of one moment": (
        cron(suspend=True, failedJobsHistoryLimit=1),
        [job("c-2", "Failed"), job("c-1", "Failed")],
        [],
        ["c-1"],
        None,
        ["SuccessfulDelete"],
        None,
    ),
    "unknown zone": (cron(timeZone="No/Where"), [], [], [], None, ["UnknownTimeZone"], None),
    "no schedule": (cron(schedule="x"), [], [], [], None, ["UnparseableSchedule"], None),
    "zone in the schedule": (
        cron(schedule="TZ=Asia/Tokyo 0 17 * * *", timeZone="UTC"),
        [],
        [LAST],
        [],
        {"active": [created(LAST)], "lastScheduleTime": TIME},
        ["UnsupportedSchedule", "SuccessfulCreate"],
        86400.1,
    ),
    "zone": (
        cron(schedule="0 17 * * *", timeZone="Asia/Tokyo"),
        [],
        [LAST],
        [],
        {"active": [created(LAST)], "lastScheduleTime": TIME},
        ["SuccessfulCreate"],
        86400.1,
    ),
    "date that no year has": (cron(schedule="0 0 31 2 *"), [], [], [], None, ["InvalidSchedule"], None),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_one_pass(name: str) -> None:
    """A pass starts the job that is due, follows the jobs that there are, and deletes old ones."""
    obj, jobs, started, deleted, status, reasons, wait = PASSES[name]
    bench = begin(obj, *jobs)
    again = result_of(bench.controller.reconcile(("a", "c")))
    assert again == (None if wait is None else pytest.approx(wait))
    assert (names(bench, "create"), names(bench, "delete")) == (started, deleted)
    statuses = [
        body["status"]
        for (_, what, _), body in zip(bench.client.calls, bench.client.bodies, strict=True)
        if what == "cronjobs/status"
    ]
    assert statuses == ([] if status is None else [status])
    assert [reason for reason, _ in bench.events.notes] == reasons


@pytest.mark.parametrize(
    ("changes", "annotations"),
    [
        ({}, {"c": "d"}),
        ({"release": NEWEST}, {"c": "d", ORCH("batch.{long}.io/cronjob-scheduled-timestamp"): "2027-01-15T08:00:00Z"}),
    ],
)
def test_job_of_a_scheduled_time(changes: Entry, annotations: dict[str, str]) -> None:
    """It has the labels, the annotations and the spec of its template, and later releases annotate its time."""
    bench = begin(cron(), **changes)
    result_of(bench.controller.reconcile(("a", "c")))
    assert bench.client.bodies[0] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": LAST,
            "namespace": "a",
            "labels": {"a": "b"},
            "annotations": annotations,
            "ownerReferences": [{**OWNER, "blockOwnerDeletion": True}],
        },
        "spec": {"template": {}},
    }
    assert bench.events.notes == [("SuccessfulCreate", f"Created job {LAST}")]
    (skew,) = (each for name, each in bench.values().items() if "skew" in name)
    assert (skew[()].count, skew[()].sum) == (1, 0.0)


def test_scheduled_time_is_annotated_in_its_zone() -> None:
    bench = begin(cron(timeZone="Asia/Tokyo"), release=NEWEST)
    result_of(bench.controller.reconcile(("a", "c")))
    time = bench.client.bodies[0]["metadata"]["annotations"][ORCH("batch.{long}.io/cronjob-scheduled-timestamp")]
    assert time == "2027-01-15T17:00:00+09:00"


def test_late_start_is_measured() -> None:
    bench = begin(cron(begun=100, schedule="59 * * * *"))
    result_of(bench.controller.reconcile(("a", "c")))
    (skew,) = (each for name, each in bench.values().items() if "skew" in name)
    assert (skew[()].count, skew[()].sum) == (1, 60.0)


@pytest.mark.parametrize(
    ("obj", "jobs", "notes"),
    [
        (
            cron(ACTIVE, suspend=True),
            [job("c-1", "Complete")],
            [("SawCompletedJob", "Saw completed job: c-1, status: Complete")],
        ),
        (
            cron(ACTIVE, suspend=True),
            [job("c-1", "Failed")],
            [("SawCompletedJob", "Saw completed job: c-1, status: Failed")],
        ),
        (
            cron(suspend=True),
            [job("b"), job("a")],
            [
                ("UnexpectedJob", "Saw a job that the controller did not create or forgot: a"),
                ("UnexpectedJob", "Saw a job that the controller did not create or forgot: b"),
            ],
        ),
        (cron(ACTIVE, suspend=True), [], [("MissingJob", "Active job went missing: c-1")]),
        (
            cron(timeZone="No/Where"),
            [],
            [("UnknownTimeZone", 'invalid timeZone: "No/Where": unknown time zone No/Where')],
        ),
        (
            cron({"lastScheduleTime": timestamp(NOW - 6060)}),
            [job(LAST)],
            [
                (
                    "TooManyMissedTimes",
                    "too many missed start times: 101. Set or decrease .spec.startingDeadlineSeconds or check clock "
                    "skew",
                )
            ],
        ),
        (cron({"lastScheduleTime": timestamp(NOW - 6000)}), [job(LAST)], []),
        (cron({"lastScheduleTime": timestamp(NOW - 60)}), [job(LAST)], []),
    ],
)
def test_notes(obj: Entry, jobs: list[Entry], notes: list[tuple[str, str]]) -> None:
    bench = begin(obj, *jobs)
    result_of(bench.controller.reconcile(("a", "c")))
    assert bench.events.notes == notes


@pytest.mark.parametrize(
    ("policy", "client", "notes"),
    [
        ("Allow", recording_client(create=FORBIDDEN), [("FailedCreate", "Error creating job: refused")]),
        ("Replace", recording_client(delete=FORBIDDEN), [("FailedDelete", "Deleted job: refused")]),
        ("Allow", recording_client(update=FORBIDDEN), [("SuccessfulCreate", f"Created job {LAST}")]),
    ],
)
def test_refused_writes_are_retried(policy: str, client: Any, notes: list[tuple[str, str]]) -> None:
    bench = begin(cron(ACTIVE, concurrencyPolicy=policy), job("c-1"), client=client)
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "c")))
    assert bench.events.notes == notes


def test_writes_that_need_no_retry() -> None:
    """A job that exists already, a terminating namespace, and a cron job that is gone."""
    bench = begin(cron(), client=recording_client(create=EXISTS))
    assert result_of(bench.controller.reconcile(("a", "c"))) == pytest.approx(60.1)
    assert bench.client.bodies[-1]["status"] == {"lastScheduleTime": TIME} and not bench.events.notes
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    bench = begin(cron(), client=recording_client(create=ApiError(403, "Forbidden", "ends", details=cause)))
    assert result_of(bench.controller.reconcile(("a", "c"))) is None and not bench.events.notes
    bench = begin(cron(), client=recording_client(update=MISSING))
    assert result_of(bench.controller.reconcile(("a", "c"))) == pytest.approx(60.1)
    assert result_of(bench.controller.reconcile(("a", "missing"))) is None


def test_changes_of_jobs_queue_their_cron_job() -> None:
    bench = begin(cron())
    bench.queued()
    bench.informers.put(JOBS, job("c-1"))
    assert bench.queued() == [("a", "c")]
    bench.informers.informer(JOBS).remove("a", "c-1")
    assert bench.queued() == [("a", "c")]
    for owners in ([], [{**OWNER, "kind": "Other"}]):
        bench.informers.put(JOBS, job("c-2", ownerReferences=owners))
        assert not bench.queued()
