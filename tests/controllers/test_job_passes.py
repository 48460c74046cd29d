"""Single passes of the job controller over pods that its informer has."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.job import JobController, generate_name
from orchd.controllers.objects import JOBS, PODS
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW, run
from tests.controllers.recording_support import FORBIDDEN, MISSING, recording_client
from tests.controllers.unit_support import ControllerBench

INDEX = ORCH("batch.{long}.io/job-completion-index")
FINALIZER = ORCH("batch.{long}.io/job-tracking")
LABELS = {"a": "b"}
TIME, BEGUN = timestamp(NOW), timestamp(NOW - 100)
SUSPENDED = {"type": "Suspended", "status": "True", "reason": "JobSuspended"}
RESUMED = {"type": "Suspended", "status": "False", "reason": "JobResumed"}


def job(
    status: dict[str, Any] | None = None, policy: str = "Never", metadata: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A job of one pod at a time that began 100 seconds ago."""
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c"}], "restartPolicy": policy}}
    whole = {"selector": {"matchLabels": LABELS}, "template": template, "backoffLimit": 6, "parallelism": 1, **spec}
    return {
        "metadata": {"name": "j", "namespace": "a", "uid": "j", **(metadata or {})},
        "spec": {key: value for key, value in whole.items() if value is not None},
        "status": {"startTime": BEGUN, **(status or {})},
    }


def indexed(completions: int, parallelism: int, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return job(status, completionMode="Indexed", completions=completions, parallelism=parallelism, **spec)


def pod(
    name: str, phase: str = "Running", index: str = "", *, ready: bool = False, status: Any = None, **metadata: Any
) -> dict[str, Any]:
    """A pod of the job on a node."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    conditions = [{"type": "Ready", "status": "True"}] if ready else []
    return {
        "metadata": {
            "name": name, "namespace": "a", "uid": name, "resourceVersion": "1", "labels": LABELS,
            "ownerReferences": [owner], "annotations": {INDEX: index} if index else {}, **metadata,
        },
        "spec": {"nodeName": "n"},
        "status": {"phase": phase, "conditions": conditions, **(status or {})},
    }  # fmt: skip


def restarted(name: str, phase: str, count: int, member: str = "containerStatuses") -> dict[str, Any]:
    return pod(name, phase, status={member: [{"name": "c", "restartCount": count}]})


def look(bench: ControllerBench) -> tuple[list[str], list[str], dict[str, Any] | None]:
    """What a pass created (prefixes of names), what it deleted, and the last status that it wrote: without a start time
    100 seconds ago, with type, status and reason of its conditions."""
    calls = list(zip(bench.client.calls, bench.client.bodies, strict=True))
    created = [
        body["metadata"]["generateName"] for (verb, what, _), body in calls if (verb, what) == ("create", "pods")
    ]
    deleted = [name for (verb, what, name), _ in calls if (verb, what) == ("delete", "pods")]
    statuses = [dict(body["status"]) for (_, what, _), body in calls if what == "jobs/status"]
    if not statuses:
        return created, deleted, None
    written = statuses[-1]
    if "conditions" in written:
        written["conditions"] = [(each["type"], each["status"], each.get("reason")) for each in written["conditions"]]
    return created, deleted, {key: value for key, value in written.items() if (key, value) != ("startTime", BEGUN)}


def start(
    factory: Any, obj: dict[str, Any], *pods: dict[str, Any], client: Any = None, **changes: Any
) -> ControllerBench:
    bench = ControllerBench(factory, client, **changes)
    run(bench.controller.listen())
    bench.informers.put(JOBS, obj)
    bench.informers.put(PODS, *pods)
    bench.client.objects["j"] = obj
    return bench


GONE: dict[str, Any] = {"deletionTimestamp": TIME}
FAILED = [("Failed", "True", "BackoffLimitExceeded")]
LATE = [("Failed", "True", "DeadlineExceeded")]
COMPLETE = {"conditions": [("Complete", "True", None)], "completionTime": TIME}

#: Job, pods; then the pods that are created, those that are deleted, the status, and the time of the next pass.
PASSES: dict[str, tuple[dict[str, Any], list[Any], list[str], list[str], dict[str, Any] | None, float | None]] = {
    "first": (
        {**job(parallelism=2, completions=3), "status": {}},
        [],
        ["j-", "j-"],
        [],
        {"startTime": TIME, "active": 2},
        None,
    ),
    "one pod by default": (job(parallelism=None), [], ["j-"], [], {"active": 1}, None),
    "more pods": (job(parallelism=2, completions=3), [pod("p")], ["j-"], [], {"active": 2}, None),
    "enough pods": (job({"active": 2}, parallelism=2, completions=3), [pod("p"), pod("q")], [], [], None, None),
    "no more than missing": (
        job(parallelism=5, completions=3),
        [pod("p", "Succeeded"), pod("q", "Succeeded")],
        ["j-"],
        [],
        {"active": 1, "succeeded": 2},
        None,
    ),
    "surplus pods": (
        job(parallelism=1, completions=3),
        [pod("ready", ready=True), pod("running"), pod("pending", "Pending")],
        [],
        ["pending", "running"],
        {"active": 1},
        None,
    ),
    "surplus at the end": (
        job(parallelism=3, completions=2),
        [pod("p", "Succeeded"), pod("q", ready=True), pod("r")],
        [],
        ["r"],
        {"active": 1, "succeeded": 1},
        None,
    ),
    "first success without completions": (
        job(parallelism=3),
        [pod("p", "Succeeded"), pod("q")],
        [],
        [],
        {"active": 1, "succeeded": 1},
        None,
    ),
    "only success without completions": (job(), [pod("p", "Succeeded")], [], [], {"succeeded": 1, **COMPLETE}, None),
    "completions reached": (
        job(completions=1),
        [pod("p", "Succeeded"), pod("q")],
        [],
        ["q"],
        {"succeeded": 1, **COMPLETE},
        None,
    ),
    "no completions wanted": (job(completions=0), [], [], [], COMPLETE, None),
    "ended, deleted and foreign pods": (
        job(),
        [pod("p", **GONE), pod("q", ownerReferences=[{"kind": "Job", "name": "k", "uid": "k", "controller": True}])],
        ["j-"],
        [],
        {"active": 1},
        None,
    ),
    "first failure": (job(backoffLimit=1), [pod("p", "Failed")], ["j-"], [], {"active": 1, "failed": 1}, 10.0),
    "six failures by default": (
        job(backoffLimit=None),
        [pod(str(n), "Failed") for n in range(6)],
        ["j-"],
        [],
        {"active": 1, "failed": 6},
        10.0,
    ),
    "too many failures": (
        job(backoffLimit=None),
        [pod(str(n), "Failed") for n in range(7)],
        [],
        [],
        {"failed": 7, "conditions": FAILED},
        None,
    ),
    "too many failures, active pods": (
        job(backoffLimit=0, parallelism=2),
        [pod("p", "Failed"), pod("q")],
        [],
        ["q"],
        {"failed": 2, "conditions": FAILED},
        None,
    ),
    "failure of a surplus pod": (
        job(backoffLimit=0),
        [pod("p", "Failed"), pod("q")],
        [],
        [],
        {"active": 1, "failed": 1},
        10.0,
    ),
    "failure of one of two by default": (
        job(backoffLimit=0, parallelism=None),
        [pod("p", "Failed"), pod("q"), pod("r")],
        [],
        ["q", "r"],
        {"failed": 3, "conditions": FAILED},
        None,
    ),
    "failure that was counted before": (
        job({"failed": 1}, backoffLimit=0),
        [pod("p", "Failed")],
        ["j-"],
        [],
        {"active": 1, "failed": 1},
        None,
    ),
    "restarts": (
        job(policy="OnFailure", backoffLimit=2, parallelism=3),
        [restarted("p", "Running", 1), restarted("q", "Pending", 1, "initContainerStatuses"), pod("r")],
        [],
        ["p", "q", "r"],
        {"failed": 3, "conditions": FAILED},
        None,
    ),
    "restarts below the limit": (
        job({"active": 1}, policy="OnFailure", backoffLimit=2),
        [restarted("p", "Running", 1)],
        [],
        [],
        None,
        None,
    ),
    "restarts of an ended pod": (
        job({"active": 1}, policy="OnFailure", backoffLimit=1),
        [restarted("p", "Unknown", 3)],
        [],
        [],
        None,
        None,
    ),
    "restarts without a limit": (
        job(policy="OnFailure", backoffLimit=0),
        [restarted("p", "Running", 1)],
        [],
        ["p"],
        {"failed": 1, "conditions": FAILED},
        None,
    ),
    "no restarts": (job({"active": 1}, policy="OnFailure", backoffLimit=0), [pod("p")], [], [], None, None),
    "restarts that cannot be": (job({"active": 1}, backoffLimit=1), [restarted("p", "Running", 3)], [], [], None, None),
    "at the deadline": (job(activeDeadlineSeconds=100), [pod("p")], [], ["p"], {"failed": 1, "conditions": LATE}, None),
    "before the deadline": (job({"active": 1}, activeDeadlineSeconds=101), [pod("p")], [], [], None, 1.0),
    "deadline of a suspended job": (
        job({"conditions": [SUSPENDED]}, activeDeadlineSeconds=50, suspend=True),
        [],
        [],
        [],
        None,
        None,
    ),
    "ended before the deadline": (
        job(activeDeadlineSeconds=101),
        [pod("p", "Succeeded")],
        [],
        [],
        {"succeeded": 1, **COMPLETE},
        None,
    ),
    "failed before the deadline": (
        job(activeDeadlineSeconds=101, backoffLimit=0),
        [pod("p", "Failed")],
        [],
        [],
        {"failed": 1, "conditions": FAILED},
        None,
    ),
    "deleted job": (job(metadata=GONE, parallelism=2), [pod("p")], [], [], {"active": 1}, None),
    "deleted job that was suspended": (job(metadata=GONE, suspend=True), [], [], [], None, None),
    "suspended": (
        job({"active": 2}, parallelism=2, suspend=True),
        [pod("p"), pod("q")],
        [],
        ["p", "q"],
        {"conditions": [("Suspended", "True", "JobSuspended")]},
        None,
    ),
    "suspended from the beginning": (
        {**job(suspend=True), "status": {}},
        [],
        [],
        [],
        {"conditions": [("Suspended", "True", "JobSuspended")]},
        None,
    ),
    "still suspended": (job({"conditions": [SUSPENDED]}, suspend=True), [], [], [], None, None),
    "suspended again": (
        job({"conditions": [RESUMED]}, suspend=True),
        [],
        [],
        [],
        {"conditions": [("Suspended", "True", "JobSuspended")]},
        None,
    ),
    "resumed": (
        job({"conditions": [SUSPENDED]}),
        [],
        ["j-"],
        [],
        {"active": 1, "startTime": TIME, "conditions": [("Suspended", "False", "JobResumed")]},
        None,
    ),
    "first indexes": (indexed(3, 2), [], ["j-0-", "j-1-"], [], {"active": 2}, None),
    "next indexes": (
        indexed(5, 3),
        [pod("p", "Succeeded", "0"), pod("q", index="2"), pod("r", "Failed", "1")],
        ["j-1-", "j-3-"],
        [],
        {"active": 3, "succeeded": 1, "failed": 1, "completedIndexes": "0"},
        10.0,
    ),
    "indexes that the status has": (
        indexed(3, 2, {"completedIndexes": "0", "succeeded": 1}),
        [pod("p", "Succeeded", "0")],
        ["j-1-", "j-2-"],
        [],
        {"active": 2, "succeeded": 1, "completedIndexes": "0"},
        None,
    ),
    "indexes that the job does not have": (
        indexed(2, 1, {"completedIndexes": "7"}),
        [pod("p", "Succeeded", "2"), pod("q", "Succeeded", "x"), pod("r", "Succeeded")],
        ["j-0-"],
        [],
        {"active": 1},
        None,
    ),
    "pods of wrong indexes": (
        indexed(3, 2, {"completedIndexes": "0", "succeeded": 1}),
        [pod("done", index="0"), pod("p", index="1"), pod("twice", index="1"), pod("none"), pod("q", index="2")],
        [],
        ["done", "twice", "none"],
        {"active": 2, "succeeded": 1, "completedIndexes": "0"},
        None,
    ),
    "surplus indexes": (
        indexed(9, 1),
        [pod("p", index="1", ready=True), pod("q", index="2"), pod("r", "Pending", index="2")],
        [],
        ["r", "q"],
        {"active": 1},
        None,
    ),
    "all indexes": (
        indexed(2, 2),
        [pod("p", "Succeeded", "0"), pod("q", "Succeeded", "1")],
        [],
        [],
        {"succeeded": 2, "completedIndexes": "0,1", **COMPLETE},
        None,
    ),
}


@pytest.mark.parametrize("name", PASSES)
def test_one_pass(name: str) -> None:
    """A pass creates or deletes pods up to the parallelism and the missing completions, and ends the job with enough
    successes or too many failures."""
    obj, pods, created, deleted, status, wait = PASSES[name]
    bench = start(JobController, obj, *pods)
    assert result_of(bench.controller.reconcile(("a", "j"))) == wait
    assert look(bench) == (created, deleted, status)


#: Of the passes above: the label of the sync; pods that ended and jobs that ended by result; and reasons of Events.
COUNTS: dict[str, tuple[str, dict[str, int], str, list[str]]] = {
    "first": ("pods_created", {}, "", ["SuccessfulCreate", "SuccessfulCreate"]),
    "enough pods": ("tracking", {}, "", []),
    "surplus pods": ("pods_deleted", {}, "", ["SuccessfulDelete", "SuccessfulDelete"]),
    "indexes that the status has": ("pods_created", {}, "", ["SuccessfulCreate", "SuccessfulCreate"]),
    "failure that was counted before": ("pods_created", {}, "", ["SuccessfulCreate"]),
    "first failure": ("pods_created", {"failed": 1}, "", ["SuccessfulCreate"]),
    "only success without completions": ("tracking", {"succeeded": 1}, "succeeded", ["Completed"]),
    "completions reached": ("pods_deleted", {"succeeded": 1}, "succeeded", ["SuccessfulDelete", "Completed"]),
    "too many failures": ("tracking", {"failed": 7}, "failed", ["BackoffLimitExceeded"]),
    "at the deadline": ("pods_deleted", {"failed": 1}, "failed", ["SuccessfulDelete", "DeadlineExceeded"]),
    "suspended": ("pods_deleted", {}, "", ["SuccessfulDelete", "SuccessfulDelete", "Suspended"]),
    "resumed": ("pods_created", {}, "", ["SuccessfulCreate", "Resumed"]),
    "still suspended": ("tracking", {}, "", []),
}


@pytest.mark.parametrize("name", COUNTS)
def test_pass_is_counted_and_recorded(name: str) -> None:
    """By what it did, and by the pods and the job that have ended since the last status."""
    obj, pods = PASSES[name][:2]
    action, pods_ended, ended, reasons = COUNTS[name]
    bench = start(JobController, obj, *pods)
    result_of(bench.controller.reconcile(("a", "j")))
    values, mode = bench.values(), "Indexed" if "completionMode" in obj["spec"] else "NonIndexed"
    assert values["job_controller_job_sync_total"] == {(mode, "success", action): 1}
    assert values["job_controller_job_pods_finished_total"] == {(mode, each): n for each, n in pods_ended.items()}
    assert values["job_controller_job_finished_total"] == ({(mode, ended): 1} if ended else {})
    assert [reason for reason, _ in bench.events.notes] == reasons


def test_surplus_successes_are_recorded() -> None:
    """A warning comes before the end of a job with more successes than completions."""
    for completions, warned in ((1, True), (2, False), (None, False)):
        bench = start(JobController, job(completions=completions), pod("p", "Succeeded"), pod("q", "Succeeded"))
        result_of(bench.controller.reconcile(("a", "j")))
        reasons = [reason for reason, _ in bench.events.notes]
        assert reasons == (["TooManySucceededPods", "Completed"] if warned else ["Completed"])


def test_informer_that_lags_delays_a_job() -> None:
    """Pods that the informer does not have yet are not created again; the pass comes again within a minute."""
    bench = start(JobController, job(parallelism=2))
    result_of(bench.controller.reconcile(("a", "j")))
    assert result_of(bench.controller.reconcile(("a", "j"))) == 60.0
    assert look(bench)[0] == ["j-", "j-"]
    assert bench.values()["job_controller_job_sync_total"] == {
        ("NonIndexed", "success", "pods_created"): 1,
        ("NonIndexed", "success", "reconciling"): 1,
    }


def test_deleted_pods_are_not_deleted_again() -> None:
    bench = start(JobController, job(parallelism=0), pod("p"))
    for _ in range(2):
        result_of(bench.controller.reconcile(("a", "j")))
    assert look(bench)[1] == ["p"]


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize(
    ("obj", "verb", "reason"),
    [
        (job(), "create", "FailedCreate"),
        (job(parallelism=0), "delete", "FailedDelete"),
        (job(suspend=True), "delete", "FailedDelete"),
        (job(backoffLimit=0, parallelism=2), "delete", "FailedDelete"),
    ],
)
def test_failed_writes_are_retried(obj: dict[str, Any], verb: str, reason: str, tracked: bool) -> None:
    """The status is written before, and the job does not end."""
    if tracked:
        obj = {**obj, "metadata": {**obj["metadata"], "annotations": {FINALIZER: ""}}}
    held: dict[str, Any] = {"finalizers": [FINALIZER]} if tracked else {}
    pods = [] if verb == "create" else [pod("p", **held), pod("q", "Failed", **held)]
    gates = {"JobTrackingWithFinalizers": tracked}
    bench = start(JobController, obj, *pods, client=recording_client(**{verb: FORBIDDEN}), features=gates)
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "j")))
    assert [each for each, _ in bench.events.notes] == [reason]
    expected = {**({"active": 1, "failed": 1} if pods else {}), **({"uncountedTerminatedPods": {}} if tracked else {})}
    assert look(bench)[2] == (expected or None)
    assert bench.values()["job_controller_job_sync_total"] == {
        ("NonIndexed", "error", "pods_deleted" if obj["spec"]["parallelism"] == 2 else "tracking"): 1
    }


def test_job_of_a_terminating_namespace_is_not_retried() -> None:
    """Its pods cannot be created, which is no failure."""
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    client = recording_client(create=ApiError(403, "Forbidden", "ends", details=cause))
    bench = start(JobController, job(), client=client)
    assert result_of(bench.controller.reconcile(("a", "j"))) is None
    assert not bench.events.notes


def test_missing_job_needs_no_status() -> None:
    """A status that cannot be written because the job is gone is neither an error nor counted."""
    bench = start(JobController, job(), pod("p", "Succeeded"), client=recording_client(update=MISSING))
    assert result_of(bench.controller.reconcile(("a", "j"))) is None
    assert not bench.values()["job_controller_job_finished_total"] and not bench.events.notes
    bench = start(JobController, job(), pod("p", "Succeeded"), client=recording_client(update=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "j")))


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
def test_ended_job_is_left_alone(kind: str) -> None:
    bench = start(
        JobController, job({"conditions": [{"type": kind, "status": "True", "lastTransitionTime": TIME}]}), pod("p")
    )
    assert result_of(bench.controller.reconcile(("a", "j"))) is None
    assert not bench.client.calls


def test_indexed_job_is_skipped_while_its_gate_is_off() -> None:
    bench = start(JobController, indexed(2, 2), features={"IndexedJob": False})
    assert result_of(bench.controller.reconcile(("a", "j"))) is None
    note = "Skipped Indexed Job sync because feature is disabled."
    assert bench.events.notes == [("IndexedJobDisabled", note)] and not bench.client.calls
    plain = start(JobController, job(), features={"IndexedJob": False})
    result_of(plain.controller.reconcile(("a", "j")))
    assert look(plain)[0] == ["j-"]


def test_pods_of_indexes() -> None:
    """Containers find their index in a variable unless they set it themselves; the pod has a host name."""
    own = {"name": "JOB_COMPLETION_INDEX", "value": "7"}
    variable = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{INDEX}']"}},
    }
    obj = indexed(1, 1)
    template = obj["spec"]["template"]
    template["metadata"]["annotations"] = {"c": "d"}
    template["spec"] |= {
        "initContainers": [{"name": "i"}],
        "containers": [{"name": "c", "env": [{"name": "X", "value": "y"}]}, {"name": "d", "env": [own]}],
    }
    bench = start(JobController, obj)
    result_of(bench.controller.reconcile(("a", "j")))
    created = bench.client.bodies[0]
    assert created["metadata"]["annotations"] == {"c": "d", INDEX: "0"} and created["spec"]["hostname"] == "j-0"
    assert created["spec"]["initContainers"] == [{"name": "i", "env": [variable]}]
    assert created["spec"]["containers"] == [
        {"name": "c", "env": [{"name": "X", "value": "y"}, variable]},
        {"name": "d", "env": [own]},
    ]
    assert (generate_name("j" * 80, 12), generate_name("j", 12)) == ("j" * 54 + "-12-", "j-12-")


# -- pods that are counted with a finalizer


TRACKING = {"JobTrackingWithFinalizers": True}


def tracked(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "annotations": {FINALIZER: ""}}}


def held(name: str, phase: str = "Running", index: str = "", **more: Any) -> dict[str, Any]:
    return pod(name, phase, index, finalizers=[FINALIZER], **more)


#: Job, pods; then the pods that are created, those that lose the finalizer, and the status.
TRACKED: dict[str, tuple[dict[str, Any], list[Any], list[str], list[str], dict[str, Any]]] = {
    "first": (job(), [], ["j-"], [], {"active": 1}),
    "success": (job(completions=2), [held("p", "Succeeded")], ["j-"], ["p"], {"active": 1, "succeeded": 1}),
    "last success": (job(completions=1), [held("p", "Succeeded")], [], ["p"], {"succeeded": 1, **COMPLETE}),
    "success that was counted": (
        job({"succeeded": 1}, completions=2),
        [pod("p", "Succeeded")],
        ["j-"],
        [],
        {"active": 1, "succeeded": 1},
    ),
    "success that an earlier pass listed": (
        job(
            {"succeeded": 1, "failed": 2, "uncountedTerminatedPods": {"succeeded": ["p"], "failed": ["q"]}},
            completions=3,
        ),
        [pod("p", "Succeeded"), held("q", "Failed")],
        ["j-"],
        ["q"],
        {"active": 1, "succeeded": 2, "failed": 3},
    ),
    "failure": (job(), [held("p", "Failed")], ["j-"], ["p"], {"active": 1, "failed": 1}),
    "deleted pod": (job(), [held("p", **GONE)], ["j-"], ["p"], {"active": 1, "failed": 1}),
    "too many failures": (
        job(backoffLimit=0, parallelism=2),
        [held("p", "Failed"), held("q")],
        [],
        ["p", "q"],
        {"failed": 2, "conditions": FAILED},
    ),
    "deleted job": (
        job(metadata=GONE),
        [held("p"), held("q", "Succeeded")],
        [],
        ["p", "q"],
        {"active": 1, "succeeded": 1},
    ),
    "indexes": (
        indexed(3, 3, {"completedIndexes": "1", "succeeded": 1}),
        [held("p", "Succeeded", "0"), held("q", "Succeeded", "1"), held("r", "Failed", "2"), held("s", "Failed", "7")],
        ["j-2-"],
        ["p", "q", "r", "s"],
        {"active": 1, "succeeded": 2, "failed": 1, "completedIndexes": "0,1"},
    ),
    "failure of an index that the job does not have": (
        indexed(3, 1, backoffLimit=0),
        [held("p", "Failed", "3")],
        ["j-0-"],
        ["p"],
        {"active": 1},
    ),
    "last index": (
        indexed(2, 1, {"completedIndexes": "1", "succeeded": 1}),
        [held("p", "Succeeded", "0")],
        [],
        ["p"],
        {"succeeded": 2, "completedIndexes": "0,1", **COMPLETE},
    ),
}


def releases(bench: ControllerBench) -> list[str]:
    calls = zip(bench.client.calls, bench.client.bodies, strict=True)
    return sorted(
        name
        for (verb, _, name), body in calls
        if verb == "patch" and body["metadata"].get("$deleteFromPrimitiveList/finalizers") == [FINALIZER]
    )


@pytest.mark.parametrize("name", TRACKED)
def test_pass_over_a_tracked_job(name: str) -> None:
    """Ended pods are listed in the status, lose the finalizer, and are counted; then the job ends."""
    obj, pods, created, released, status = TRACKED[name]
    bench = start(JobController, tracked(obj), *pods, features=TRACKING)
    result_of(bench.controller.reconcile(("a", "j")))
    assert (look(bench)[0], releases(bench)) == (created, released)
    assert look(bench)[2] == {"uncountedTerminatedPods": {}, **status}
    assert all(
        body["metadata"]["finalizers"] == [FINALIZER]
        for (verb, _, _), body in zip(bench.client.calls, bench.client.bodies, strict=True)
        if verb == "create"
    )


def test_tracked_pods_that_cannot_be_released_stay_listed() -> None:
    """The job does not end before they are."""
    client = recording_client(patch=FORBIDDEN)
    obj = tracked(job(completions=1))
    bench = start(JobController, obj, held("p", "Succeeded"), client=client, features=TRACKING)
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "j")))
    assert look(bench)[2] == {"uncountedTerminatedPods": {"succeeded": ["p"]}}


def test_job_that_is_no_longer_tracked_loses_its_finalizers() -> None:
    """With the gate off: the annotation of the job, the list of its status, and the finalizers of its pods."""
    obj = tracked(job({"uncountedTerminatedPods": {}, "failed": 1}, parallelism=0))
    bench = start(JobController, obj, held("p"), held("q", "Failed"), pod("r"), features={})
    result_of(bench.controller.reconcile(("a", "j")))
    assert bench.client.calls[0] == ("patch", "jobs", "j")
    assert bench.client.bodies[0] == {"metadata": {"annotations": {FINALIZER: None}}}
    assert releases(bench) == ["p", "p", "q"] and look(bench)[1:] == (["p", "r"], {"failed": 1})
    plain = start(JobController, job(), features={})
    result_of(plain.controller.reconcile(("a", "j")))
    assert [verb for verb, _, _ in plain.client.calls] == ["create", "update"]


def test_pods_that_earlier_passes_listed_do_not_delay_others() -> None:
    """Those that are gone are counted before the maximum of one pass applies."""
    uids = [str(number) for number in range(500)]
    obj = tracked(job({"uncountedTerminatedPods": {"failed": uids}}, completions=1, backoffLimit=1000))
    bench = start(JobController, obj, held("p", "Succeeded"), features=TRACKING)
    result_of(bench.controller.reconcile(("a", "j")))
    status = look(bench)[2]
    assert status is not None and (status["failed"], status["succeeded"]) == (500, 1)
    assert [kind for kind, _, _ in status["conditions"]] == ["Complete"]


def test_failed_pods_queue_their_job_after_its_pause() -> None:
    """The pause doubles with every pass that finds new failures, up to six minutes, and ends with a success, the end of
    the job or the next job of its name. Other changes queue the job at once, or, with ready pods counted, in a
    second."""
    bench = start(JobController, job(completions=9))
    bench.queued()

    def fail(name: str) -> float | None:
        bench.informers.put(PODS, pod(name, "Failed"))
        pause = result_of(bench.controller.reconcile(("a", "j")))
        result: float | None = pause
        return result

    assert fail("p0") == 10.0
    bench.queued()
    bench.informers.put(PODS, pod("q"))
    assert bench.queued() == [("a", "j")]
    bench.informers.put(PODS, pod("q", "Failed"))
    assert not bench.queued()
    bench.clock.advance(9.9)
    assert not bench.queued()
    bench.clock.advance(0.1)
    assert bench.queued() == [("a", "j")]
    ready = start(JobController, job(), features={"JobReadyPods": True})
    ready.queued()
    ready.informers.put(PODS, pod("q"))
    assert not ready.queued()
    ready.clock.advance(1)
    assert ready.queued() == [("a", "j")]


def test_pause_after_failures_doubles() -> None:
    """It is forgotten with a success, and with the job."""
    failures: list[dict[str, Any]] = []
    bench = start(JobController, job(completions=9, backoffLimit=100))

    def fail(count: int, succeeded: int = 0) -> float | None:
        failures.append(pod(f"p{len(failures)}", "Failed"))
        bench.informers.put(PODS, failures[-1])
        bench.informers.put(JOBS, job({"failed": count, "succeeded": succeeded}, completions=9, backoffLimit=100))
        wait: float | None = result_of(bench.controller.reconcile(("a", "j")))
        return wait

    assert [fail(count) for count in range(7)] == [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 360.0]
    bench.informers.put(PODS, pod("q", "Succeeded"))
    bench.informers.put(JOBS, job({"failed": 7}, completions=9, backoffLimit=100))
    result_of(bench.controller.reconcile(("a", "j")))
    assert fail(7, 1) == 10.0
    bench.informers.put(JOBS, job({"failed": 8, "succeeded": 1}, completions=9, backoffLimit=100))
    result_of(bench.controller.reconcile(("a", "j")))
    assert fail(8, 1) == 20.0
    bench.informers.informer(JOBS).remove("a", "j")
    assert fail(9, 1) == 10.0
    ended = {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": TIME}]}
    bench.informers.put(JOBS, job(ended))
    result_of(bench.controller.reconcile(("a", "j")))
    assert fail(10, 1) == 10.0


def test_pods_of_former_jobs_lose_the_finalizer() -> None:
    """When they are deleted: those of a job that is gone, or of a former one of the name."""
    owner = {"kind": "Job", "name": "j", "uid": "before", "controller": True}
    bench = start(JobController, job(), held("p", ownerReferences=[owner], **GONE), held("q", ownerReferences=[owner]))
    result_of(bench.controller.reconcile(("a", "j")))
    assert releases(bench) == ["p"]


def test_adopted_pods_of_tracked_jobs_get_the_finalizer() -> None:
    for obj, finalizers in ((tracked(job()), [FINALIZER]), (job(), None)):
        bench = start(JobController, obj, pod("p", ownerReferences=[]), features=TRACKING)
        result_of(bench.controller.reconcile(("a", "j")))
        (patch,) = (
            body for verb, body in zip(bench.client.calls, bench.client.bodies, strict=True) if verb[0] == "patch"
        )
        assert patch["metadata"].get("finalizers") == finalizers


def test_duration_of_a_sync_is_measured() -> None:
    bench = start(JobController, job())
    bench.clock.advance(5)
    result_of(bench.controller.reconcile(("a", "j")))
    (seconds,) = bench.values()["job_controller_job_sync_duration_seconds"].values()
    assert (seconds.count, seconds.sum) == (1, 0.0)


def test_ready_pods_are_counted_behind_their_gate() -> None:
    obj, pods = job(parallelism=3), [pod("p", ready=True), pod("q", ready=True), pod("r")]
    for features, expected in (({"JobReadyPods": True}, {"active": 3, "ready": 2}), ({}, {"active": 3})):
        bench = start(JobController, obj, *pods, features=features)
        result_of(bench.controller.reconcile(("a", "j")))
        assert look(bench)[2] == expected


def test_conditions_that_stay_are_recorded_once() -> None:
    """New ones after them are recorded."""
    bench = start(JobController, job({"conditions": [RESUMED]}), pod("p", "Succeeded"))
    result_of(bench.controller.reconcile(("a", "j")))
    assert [reason for reason, _ in bench.events.notes] == ["Completed"]
