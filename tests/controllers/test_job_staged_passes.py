"""Single passes of the job controller of release 1.35 over pods that its informer has."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.job_staged import StagedJobController
from orchd.controllers.objects import JOBS, PODS
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW, run
from tests.controllers.recording_support import FORBIDDEN, recording_client
from tests.controllers.test_job_passes import (
    FINALIZER,
    GONE,
    INDEX,
    TIME,
    held,
    indexed,
    job,
    look,
    pod,
    releases,
    start,
)
from tests.controllers.unit_support import ControllerBench

COUNTED = ORCH("batch.{long}.io/job-index-failure-count")
IGNORED = ORCH("batch.{long}.io/job-index-ignored-failure-count")
SUSPENDED = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
RESUMED = {"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"}


def failed(
    name: str, ago: float = 1000, index: str = "", code: int = 1, notes: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """A pod whose container failed some seconds ago."""
    ended = {"name": "c", "state": {"terminated": {"exitCode": code, "finishedAt": timestamp(NOW - ago)}}}
    each = held(name, "Failed", index, status={"containerStatuses": [ended]}, **more)
    each["metadata"]["annotations"].update(notes or {})
    return each


def conditions(reason: str, *, failed: bool = False) -> dict[str, Any]:
    """Both stages of the end of a job."""
    first, last = ("FailureTarget", "Failed") if failed else ("SuccessCriteriaMet", "Complete")
    both = {"conditions": [(first, "True", reason), (last, "True", reason)]}
    return both if failed else {**both, "completionTime": TIME}


def rules(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"rules": list(rules)}


def on_code(action: str, code: int) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": "In", "values": [code]}}


#: Job, pods; then the pods that are created, those that are deleted, those that lose the finalizer, the status beyond
#: zero ready and terminating pods, and the time of the next pass.
PASSES: dict[str, tuple[dict[str, Any], list[Any], list[str], list[str], list[str], dict[str, Any], float | None]] = {
    "first": (
        {**job(parallelism=2, completions=3), "status": {}},
        [],
        ["j-", "j-"],
        [],
        [],
        {"startTime": TIME, "active": 2},
        None,
    ),
    "one pod by default": (job(parallelism=None), [], ["j-"], [], [], {"active": 1}, None),
    "enough pods": (job({"active": 2}), [held("p")], [], [], [], {"active": 1}, None),
    "no pods any more": (job({"active": 1}, parallelism=0), [], [], [], [], {}, None),
    "no more than missing": (
        job({"succeeded": 1}, parallelism=5, completions=3),
        [held("p", "Succeeded")],
        ["j-"],
        [],
        ["p"],
        {"active": 1, "succeeded": 2},
        None,
    ),
    "surplus pods": (
        job(completions=3),
        [held("ready", ready=True), held("running"), held("pending", "Pending")],
        [],
        ["pending", "running"],
        ["pending", "running"],
        {"active": 1, "ready": 1, "terminating": 2},
        None,
    ),
    "surplus pods that are ready": (
        job(parallelism=0),
        [held("p", ready=True), held("q", ready=True)],
        [],
        ["p", "q"],
        ["p", "q"],
        {"terminating": 2},
        None,
    ),
    "success without completions": (
        job(parallelism=3),
        [held("p", "Succeeded"), held("q")],
        [],
        [],
        ["p"],
        {"active": 1, "succeeded": 1},
        None,
    ),
    "only success": (
        job(),
        [held("p", "Succeeded")],
        [],
        [],
        ["p"],
        {"succeeded": 1, **conditions("CompletionsReached")},
        None,
    ),
    "completions reached": (
        job({"succeeded": 1}, completions=2),
        [held("p", "Succeeded")],
        [],
        [],
        ["p"],
        {"succeeded": 2, **conditions("CompletionsReached")},
        None,
    ),
    "completions reached before a pod is deleted": (
        job(completions=1),
        [held("p", "Succeeded"), held("q")],
        [],
        ["q"],
        ["p", "q", "q"],
        {"succeeded": 1, "terminating": 1, "conditions": [("SuccessCriteriaMet", "True", "CompletionsReached")]},
        None,
    ),
    "success that an earlier pass listed": (
        job(
            {"succeeded": 1, "failed": 2, "uncountedTerminatedPods": {"succeeded": ["p"], "failed": ["q"]}},
            completions=2,
        ),
        [pod("p", "Succeeded"), failed("q")],
        [],
        [],
        ["q"],
        {"succeeded": 2, "failed": 3, **conditions("CompletionsReached")},
        None,
    ),
    "failure that an earlier pass listed": (
        job({"failed": 2, "uncountedTerminatedPods": {"failed": ["q"]}}, backoffLimit=2),
        [failed("q")],
        [],
        [],
        ["q"],
        {"failed": 3, **conditions("BackoffLimitExceeded", failed=True)},
        None,
    ),
    "failure of which the pause is over": (
        job(),
        [failed("p", 10)],
        ["j-"],
        [],
        ["p"],
        {"active": 1, "failed": 1},
        None,
    ),
    "failure of which the pause runs": (job(), [failed("p", 4)], [], [], ["p"], {"failed": 1}, 6.0),
    "second failure": (job(), [failed("p", 30), failed("q", 4)], [], [], ["p", "q"], {"failed": 2}, 16.0),
    "deleted pod": (job(), [held("p", **GONE)], [], [], ["p"], {"failed": 1, "terminating": 1}, 10.0),
    "deleted pod that is waited for": (
        job(podReplacementPolicy="Failed"),
        [held("p", **GONE)],
        [],
        [],
        [],
        {"terminating": 1},
        None,
    ),
    "deleted pod beside a new one": (
        job(parallelism=3, podReplacementPolicy="Failed"),
        [held("p", **GONE), held("q", ready=True)],
        ["j-"],
        [],
        [],
        {"active": 2, "ready": 1, "terminating": 1},
        None,
    ),
    "too many failures": (
        job(backoffLimit=0),
        [failed("p")],
        [],
        [],
        ["p"],
        {"failed": 1, **conditions("BackoffLimitExceeded", failed=True)},
        None,
    ),
    "too many failures, a pod is left": (
        job(backoffLimit=0, parallelism=2),
        [failed("p"), held("q", ready=True)],
        [],
        ["q"],
        ["p", "q"],
        {"failed": 2, "terminating": 1, "conditions": [("FailureTarget", "True", "BackoffLimitExceeded")]},
        None,
    ),
    "failures up to the limit": (
        job({"failed": 5}),
        [failed("p")],
        ["j-"],
        [],
        ["p"],
        {"active": 1, "failed": 6},
        None,
    ),
    "failure before": (
        job({"failed": 1, "conditions": [{"type": "FailureTarget", "status": "True", "reason": "R", "message": "M"}]}),
        [],
        [],
        [],
        [],
        {"failed": 1, "conditions": [("FailureTarget", "True", "R"), ("Failed", "True", "R")]},
        None,
    ),
    "success before": (
        job(
            {"conditions": [{"type": "SuccessCriteriaMet", "status": "True", "reason": "R", "message": "M"}]},
            completions=3,
        ),
        [held("p")],
        [],
        ["p"],
        ["p"],
        {"terminating": 1, "conditions": [("SuccessCriteriaMet", "True", "R")]},
        None,
    ),
    "no end before": (
        job(
            {
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "False", "reason": "R", "message": "M"},
                    {"type": "FailureTarget", "status": "False", "reason": "R", "message": "M"},
                ]
            }
        ),
        [],
        ["j-"],
        [],
        [],
        {"active": 1, "conditions": [("SuccessCriteriaMet", "False", "R"), ("FailureTarget", "False", "R")]},
        None,
    ),
    "before the deadline": (job(activeDeadlineSeconds=101), [held("p")], [], [], [], {"active": 1}, 1.0),
    "pause before the deadline": (job(activeDeadlineSeconds=150), [failed("p", 4)], [], [], ["p"], {"failed": 1}, 6.0),
    "deadline": (
        job(activeDeadlineSeconds=100),
        [held("p")],
        [],
        ["p"],
        ["p"],
        {"failed": 1, "terminating": 1, "conditions": [("FailureTarget", "True", "DeadlineExceeded")]},
        None,
    ),
    "deleted job": (job(metadata=GONE, parallelism=2), [held("p")], [], [], ["p"], {"active": 1}, None),
    "deleted job that is suspended": (job(metadata=GONE, suspend=True), [], [], [], [], {}, None),
    "suspended": (
        job(parallelism=2, suspend=True),
        [held("p"), held("q")],
        [],
        ["p", "q"],
        ["p", "q"],
        {"terminating": 2, "conditions": [("Suspended", "True", "JobSuspended")]},
        None,
    ),
    "suspended from the beginning": (
        {**job(suspend=True), "status": {}},
        [],
        [],
        [],
        [],
        {"conditions": [("Suspended", "True", "JobSuspended")]},
        None,
    ),
    "suspended again": (
        job({"conditions": [{"type": "Other", "status": "True"}, RESUMED]}, suspend=True),
        [],
        [],
        [],
        [],
        {"conditions": [("Other", "True", None), ("Suspended", "True", "JobSuspended")]},
        None,
    ),
    "resumed": (
        job({"conditions": [SUSPENDED, {"type": "Other", "status": "True"}]}),
        [],
        ["j-"],
        [],
        [],
        {"active": 1, "startTime": TIME, "conditions": [("Suspended", "False", "JobResumed"), ("Other", "True", None)]},
        None,
    ),
    "resumed before": (
        job({"conditions": [RESUMED]}),
        [],
        ["j-"],
        [],
        [],
        {"active": 1, "conditions": [("Suspended", "False", "JobResumed")]},
        None,
    ),
    "failure that a policy ignores": (
        job(backoffLimit=0, podFailurePolicy=rules(on_code("Ignore", 3))),
        [failed("p", code=3)],
        ["j-"],
        [],
        ["p"],
        {"active": 1},
        None,
    ),
    "failure that a policy counts": (
        job(podFailurePolicy=rules(on_code("Count", 3))),
        [failed("p", code=3)],
        ["j-"],
        [],
        ["p"],
        {"active": 1, "failed": 1},
        None,
    ),
    "failure that ends the job": (
        job(podFailurePolicy=rules(on_code("FailJob", 4))),
        [held("r", "Succeeded"), failed("p", code=4), failed("q")],
        [],
        [],
        ["p", "q", "r"],
        {"succeeded": 1, "failed": 2, **conditions("PodFailurePolicy", failed=True)},
        None,
    ),
    "exit code of a running pod": (
        job(podFailurePolicy=rules(on_code("FailJob", 4))),
        [
            held(
                "p",
                status={
                    "containerStatuses": [
                        {"name": "c", "state": {"terminated": {"exitCode": 4, "finishedAt": timestamp(NOW - 5)}}}
                    ]
                },
            )
        ],
        [],
        [],
        [],
        {"active": 1},
        None,
    ),
    "first indexes": (indexed(3, 2), [], ["j-0-", "j-1-"], [], [], {"active": 2}, None),
    "next indexes": (
        indexed(5, 3),
        [held("p", "Succeeded", "0"), held("q", index="2"), failed("r", index="1"), held("s", "Succeeded", "5")],
        ["j-1-", "j-3-"],
        [],
        ["p", "r", "s"],
        {"active": 3, "succeeded": 1, "failed": 1, "completedIndexes": "0"},
        None,
    ),
    "pods that are not to be counted": (
        indexed(5, 1, {"active": 1}, backoffLimit=0),
        [pod("p", "Succeeded", "0"), failed("q", index="5"), held("r", index="0")],
        [],
        [],
        ["q"],
        {"active": 1},
        None,
    ),
    "pods of wrong indexes": (
        indexed(3, 2),
        [
            held("bad", index="3"),
            held("p", index="1"),
            held("twice", index="1", ready=True),
            held("none"),
            held("q", index="0"),
        ],
        [],
        ["bad", "none", "p"],
        ["bad", "none", "p"],
        {"active": 2, "ready": 1, "terminating": 3},
        None,
    ),
    "surplus indexes": (
        indexed(9, 1),
        [held("p", "Pending", "1"), held("q", index="2")],
        [],
        ["p"],
        ["p"],
        {"active": 1, "terminating": 1},
        None,
    ),
    "index of a deleted pod": (
        indexed(5, 3, podReplacementPolicy="Failed"),
        [held("p", index="0", **GONE), failed("q", index="1", **GONE), held("r", **GONE)],
        ["j-1-"],
        [],
        ["q"],
        {"active": 1, "terminating": 2, "failed": 1},
        None,
    ),
    "all indexes": (
        indexed(2, 2, {"completedIndexes": "1", "succeeded": 1}),
        [held("p", "Succeeded", "0")],
        [],
        [],
        ["p"],
        {"succeeded": 2, "completedIndexes": "0,1", **conditions("CompletionsReached")},
        None,
    ),
    "success policy": (
        indexed(5, 2, successPolicy=rules({"succeededIndexes": "1"})),
        [held("p", "Succeeded", "1")],
        [],
        [],
        ["p"],
        {"succeeded": 1, "completedIndexes": "1", **conditions("SuccessPolicy")},
        None,
    ),
    "failure before the success policy": (
        indexed(5, 2, backoffLimit=0, successPolicy=rules({"succeededIndexes": "1"})),
        [held("p", "Succeeded", "1"), failed("q", index="0")],
        [],
        [],
        ["p", "q"],
        {"succeeded": 1, "failed": 1, "completedIndexes": "1", **conditions("BackoffLimitExceeded", failed=True)},
        None,
    ),
    "index that may be replaced": (
        indexed(3, 2, backoffLimitPerIndex=1),
        [failed("p", index="0"), held("q", index="1")],
        ["j-0-"],
        [],
        [],
        {"active": 2, "failedIndexes": ""},
        None,
    ),
    "index that has to wait": (
        indexed(1, 1, backoffLimitPerIndex=1),
        [failed("p", 4, index="0")],
        [],
        [],
        [],
        {"failedIndexes": ""},
        6.0,
    ),
    "index that waits beside others": (
        indexed(3, 2, backoffLimitPerIndex=1),
        [failed("p", 4, index="0")],
        ["j-1-"],
        [],
        [],
        {"active": 1, "failedIndexes": ""},
        None,
    ),
    "index that was replaced": (
        indexed(2, 2, backoffLimitPerIndex=3),
        [failed("p", index="0"), held("q", index="0", annotations={INDEX: "0", COUNTED: "1"}), held("r", index="1")],
        [],
        [],
        ["p"],
        {"active": 2, "failed": 1, "failedIndexes": ""},
        None,
    ),
    "lost index": (
        indexed(3, 1, {"failedIndexes": "2"}, backoffLimitPerIndex=1),
        [failed("p", index="0", notes={COUNTED: "1"})],
        ["j-1-"],
        [],
        ["p"],
        {"active": 1, "failed": 1, "failedIndexes": "0,2"},
        None,
    ),
    "index that a policy gives up": (
        indexed(3, 1, backoffLimitPerIndex=1, podFailurePolicy=rules(on_code("FailIndex", 3))),
        [failed("p", index="0", code=3)],
        ["j-1-"],
        [],
        ["p"],
        {"active": 1, "failed": 1, "failedIndexes": "0"},
        None,
    ),
    "ignored failure of an index": (
        indexed(3, 1, backoffLimitPerIndex=0, podFailurePolicy=rules(on_code("Ignore", 3))),
        [failed("p", index="0", code=3)],
        ["j-0-"],
        [],
        [],
        {"active": 1, "failedIndexes": ""},
        None,
    ),
    "failed indexes up to the maximum": (
        indexed(3, 1, backoffLimitPerIndex=0, maxFailedIndexes=1),
        [failed("p", index="0")],
        ["j-1-"],
        [],
        ["p"],
        {"active": 1, "failed": 1, "failedIndexes": "0"},
        None,
    ),
    "too many failed indexes": (
        indexed(3, 2, {"failedIndexes": "2"}, backoffLimitPerIndex=0, maxFailedIndexes=1),
        [failed("p", index="0")],
        [],
        [],
        ["p"],
        {"failed": 1, "failedIndexes": "0,2", **conditions("MaxFailedIndexesExceeded", failed=True)},
        None,
    ),
    "all indexes ended, one failed": (
        indexed(2, 2, {"completedIndexes": "1", "succeeded": 1}, backoffLimitPerIndex=0),
        [failed("p", index="0")],
        [],
        [],
        ["p"],
        {
            "succeeded": 1,
            "failed": 1,
            "completedIndexes": "1",
            "failedIndexes": "0",
            **conditions("FailedIndexes", failed=True),
        },
        None,
    ),
}


def begin(obj: dict[str, Any], *pods: dict[str, Any], client: Any = None) -> ControllerBench:
    return start(StagedJobController, obj, *pods, client=client, release=NEWEST)


@pytest.mark.parametrize("name", PASSES)
def test_one_pass(name: str) -> None:
    """A pass creates or deletes pods, lists and counts those that have ended, and ends the job in two stages."""
    obj, pods, created, deleted, released, status, wait = PASSES[name]
    bench = begin(obj, *pods)
    assert result_of(bench.controller.reconcile(("a", "j"))) == wait
    assert (look(bench)[:2], releases(bench)) == ((created, deleted), released)
    assert look(bench)[2] == {"uncountedTerminatedPods": {}, "ready": 0, "terminating": 0, **status}


#: Of the passes above: created pods by reason, indexes that ended by result and limit, failures that a policy judged.
COUNTS: dict[str, tuple[dict[tuple[str, str], int], dict[tuple[str, str], int], list[str]]] = {
    "first": ({("new", "succeeded"): 2}, {}, []),
    "surplus pods": ({}, {}, []),
    "failure of which the pause is over": ({("recreate_terminating_or_failed", "succeeded"): 1}, {}, []),
    "deleted pod beside a new one": ({("recreate_terminating_or_failed", "succeeded"): 1}, {}, []),
    "failure that a policy counts": ({("recreate_terminating_or_failed", "succeeded"): 1}, {}, ["Count"]),
    "failure that a policy ignores": ({("new", "succeeded"): 1}, {}, ["Ignore"]),
    "all indexes": ({}, {("succeeded", "global"): 1}, []),
    "too many failed indexes": ({}, {("failed", "perIndex"): 1}, []),
}


@pytest.mark.parametrize("name", COUNTS)
def test_pass_is_counted(name: str) -> None:
    obj, pods = PASSES[name][:2]
    creations, indexes, judged = COUNTS[name]
    bench = begin(obj, *pods)
    result_of(bench.controller.reconcile(("a", "j")))
    values = bench.values()
    assert values["job_controller_job_pods_creation_total"] == creations
    assert values["job_controller_job_finished_indexes_total"] == indexes
    assert values["job_controller_pod_failures_handled_by_failure_policy_total"] == {(each,): 1 for each in judged}


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("first", "pods_created"),
        ("enough pods", "tracking"),
        ("surplus pods", "pods_deleted"),
        ("too many failures", "tracking"),
        ("too many failures, a pod is left", "pods_deleted"),
        ("resumed before", "pods_created"),
        ("deleted job", "tracking"),
    ],
)
def test_actions_of_passes(name: str, action: str) -> None:
    obj, pods = PASSES[name][:2]
    bench = begin(obj, *pods)
    result_of(bench.controller.reconcile(("a", "j")))
    assert bench.values()["job_controller_job_syncs_total"] == {("NonIndexed", "success", action): 1}


def test_replacements_of_failed_pods_alone_are_counted_apart() -> None:
    bench = begin(job(podReplacementPolicy="Failed"), failed("p"))
    result_of(bench.controller.reconcile(("a", "j")))
    assert bench.values()["job_controller_job_pods_creation_total"] == {("recreate_failed", "succeeded"): 1}


@pytest.mark.parametrize(
    ("obj", "pods", "failing", "status"),
    [
        (job(parallelism=2), [], "create", {}),
        (job(parallelism=0), [held("p", ready=True)], "delete", {"active": 1, "ready": 1}),
        (
            job(backoffLimit=0, parallelism=2),
            [failed("p"), held("q", ready=True)],
            "delete",
            {
                "active": 1, "ready": 1, "failed": 1,
                "conditions": [],
            },
        ),
        (
            job(completions=1),
            [held("p", "Succeeded")],
            "patch",
            {
                "uncountedTerminatedPods": {"succeeded": ["p"]},
                "conditions": [("SuccessCriteriaMet", "True", "CompletionsReached")],
            },
        ),
    ],
)  # fmt: skip
def test_failed_writes_are_retried(obj: dict[str, Any], pods: list[Any], failing: str, status: dict[str, Any]) -> None:
    """The status is written all the same, and the job does not end."""
    bench = begin(obj, *pods, client=recording_client(**{failing: FORBIDDEN}))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "j")))
    expected = {"uncountedTerminatedPods": {}, "ready": 0, "terminating": 0, **status}
    assert look(bench)[2] == {key: value for key, value in expected.items() if key != "conditions" or value}
    creations = bench.values()["job_controller_job_pods_creation_total"]
    assert creations == ({("new", "failed"): 1} if failing == "create" else {})


def test_pods_of_indexes_continue_the_counts_of_failures() -> None:
    """A pod has its index as a label and an annotation, and with a limit per index the failures before it."""
    policy = rules(on_code("Ignore", 3))
    for limit, notes, expected in (
        (None, {COUNTED: "1"}, {INDEX: "0"}),
        (5, {COUNTED: "1", IGNORED: "2"}, {INDEX: "0", COUNTED: "2", IGNORED: "2"}),
    ):
        obj = indexed(1, 1, backoffLimitPerIndex=limit, podFailurePolicy=policy)
        bench = begin(obj, failed("p", index="0", notes=notes))
        result_of(bench.controller.reconcile(("a", "j")))
        (metadata,) = (body["metadata"] for (verb, _, _), body in zip(bench.client.calls, bench.client.bodies, strict=True)
                       if verb == "create")  # fmt: skip
        assert metadata["annotations"] == expected and metadata["labels"] == {"a": "b", INDEX: "0"}
        assert metadata["finalizers"] == [FINALIZER]


def test_one_pass_counts_five_hundred_pods() -> None:
    """The job does not end before all are counted."""
    for obj in (job(backoffLimit=0), indexed(600, 1, backoffLimit=0)):
        ended = [failed(f"p{n}", index=str(n)) for n in range(501)]
        bench = begin(obj, *ended)
        result_of(bench.controller.reconcile(("a", "j")))
        status = look(bench)[2]
        assert status is not None and (len(releases(bench)), status["failed"]) == (500, 500)
        assert status["conditions"] == [("FailureTarget", "True", "BackoffLimitExceeded")]
    bench = begin(indexed(600, 1), *(held(f"p{n}", "Succeeded", str(n)) for n in reversed(range(501))))
    result_of(bench.controller.reconcile(("a", "j")))
    status = look(bench)[2]
    assert status is not None and (len(releases(bench)), status["succeeded"]) == (500, 501)


def test_backoff_is_forgotten_with_the_job() -> None:
    """A job keeps its failures for the pause of the next one; a new job of the name begins without any."""
    bench = begin(job(), failed("p"))
    result_of(bench.controller.reconcile(("a", "j")))
    bench.informers.informer(PODS).remove("a", "p")
    bench.informers.put(PODS, failed("q", 4))
    bench.clock.advance(60)
    assert result_of(bench.controller.reconcile(("a", "j"))) is None
    bench.clock.advance(60)
    bench.informers.put(PODS, failed("r", -120))
    assert result_of(bench.controller.reconcile(("a", "j"))) == 40.0
    bench.informers.informer(JOBS).remove("a", "j")
    bench.informers.put(JOBS, job())
    for each in "qr":
        bench.informers.informer(PODS).remove("a", each)
    bench.informers.put(PODS, failed("s", -120))
    assert result_of(bench.controller.reconcile(("a", "j"))) == 10.0


def test_jobs_of_other_managers() -> None:
    """They are left alone, and counted once."""
    own = ORCH("{long}.io/job-controller")
    bench = begin(job(managedBy="other"))
    for _ in range(2):
        assert result_of(bench.controller.reconcile(("a", "j"))) is None
    assert not bench.client.calls
    assert bench.values()["job_controller_jobs_by_external_controller_total"] == {("other",): 1}
    bench.informers.put(JOBS, job(managedBy=own))
    result_of(bench.controller.reconcile(("a", "j")))
    assert look(bench)[0] == ["j-"]
    bench.informers.put(JOBS, job(managedBy="other"))
    result_of(bench.controller.reconcile(("a", "j")))
    assert bench.values()["job_controller_jobs_by_external_controller_total"] == {("other",): 2}


def test_pods_that_are_kept_until_they_are_counted() -> None:
    """A metric counts when a pod with the finalizer ends, and when it loses the finalizer."""
    bench = begin(job(), held("p"), pod("q", "Succeeded"))
    counts = bench.values()["job_controller_terminated_pods_tracking_finalizer_total"]
    assert counts == {}
    bench.informers.put(PODS, held("p", "Succeeded"))
    assert counts == {("add",): 1}
    bench.informers.put(PODS, held("p", "Succeeded", annotations={"a": "b"}))
    bench.informers.put(PODS, pod("p", "Succeeded"))
    assert counts == {("add",): 1, ("delete",): 1}


def test_changes_of_pods_are_collected_for_a_second() -> None:
    bench = begin(job())
    run(bench.controller.start())
    result_of(bench.controller.reconcile(("a", "j")))
    before = bench.controller.counts.worked
    bench.informers.put(PODS, held("p"))
    bench.clock.advance(0.9)
    assert bench.controller.counts.worked == before
    bench.clock.advance(0.1)
    assert bench.controller.counts.worked == before + 1
    run(bench.controller.stop())


def test_pods_that_earlier_passes_listed_do_not_delay_others() -> None:
    """Those that are gone are counted before the maximum of one pass applies."""
    uids = [str(number) for number in range(500)]
    obj = job({"uncountedTerminatedPods": {"failed": uids}}, completions=1, backoffLimit=1000)
    bench = begin(obj, held("p", "Succeeded"))
    result_of(bench.controller.reconcile(("a", "j")))
    status = look(bench)[2]
    assert status is not None and (status["failed"], status["succeeded"]) == (500, 1)
    assert [kind for kind, _, _ in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]


def test_status_is_written_once_if_nothing_ended() -> None:
    bench = begin(job())
    result_of(bench.controller.reconcile(("a", "j")))
    assert [what for _, what, _ in bench.client.calls] == ["pods", "jobs/status"]
