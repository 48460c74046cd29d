"""Single passes of the stateful set controller over pods that its informer has."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers import revisions
from orchd.controllers.objects import CLAIMS, PODS, REVISIONS, STATEFUL_SETS
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.recording_support import EXISTS, FORBIDDEN, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
LABELS = {"app": "x"}
OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "s", "controller": True}
POD_NAME, POD_INDEX = ORCH("statefulset.{long}.io/pod-name"), ORCH("apps.{long}.io/pod-index")
TIME = timestamp(NOW)
PARALLEL: Entry = {"podManagementPolicy": "Parallel"}
ON_DELETE: Entry = {"updateStrategy": {"type": "OnDelete"}}


def partition(number: int) -> Entry:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}}


def parent(replicas: int | None = 3, status: Entry | None = None, metadata: Entry | None = None, **spec: Any) -> Entry:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c"}]}}
    whole = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template, **spec}
    return {
        "metadata": {"name": "s", "namespace": "a", "uid": "s", "generation": 7, **(metadata or {})},
        "spec": {key: value for key, value in whole.items() if value is not None},
        "status": {"currentRevision": "old", **(status or {})},
    }


def revision(name: str, number: int, obj: Entry | None = None) -> Entry:
    data = {"spec": {"template": {"spec": {"containers": [{"name": name}]}}}} if obj is None else revisions.data_of(obj)
    metadata = {"name": name, "namespace": "a", "uid": name, "ownerReferences": [OWNER]}
    return {"metadata": metadata, "revision": number, "data": data}


def pod(
    number: int, phase: str = "Running", ready: bool = True, revision: str = "new", since: float = 1000, **metadata: Any
) -> Entry:
    """A pod of the set that became ready, or ceased to be, some seconds ago."""
    name = f"s-{number}"
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": timestamp(NOW - since)}
    tags = {**LABELS, "controller-revision-hash": revision, POD_NAME: name}
    return {
        "metadata": {
            "name": name, "namespace": "a", "uid": name, "resourceVersion": "1", "labels": tags,
            "ownerReferences": [OWNER], **metadata,
        },
        "spec": {"nodeName": "n"},
        "status": {"phase": phase, "conditions": [condition]},
    }  # fmt: skip


def going(number: int, **more: Any) -> Entry:
    return pod(number, deletionTimestamp=TIME, **more)


def begin(obj: Entry, *pods: Entry, client: Any = None, claims: Any = (), **changes: Any) -> ControllerBench:
    bench = ControllerBench(StatefulSetController, client, **changes)
    result_of(bench.controller.listen())
    bench.informers.put(STATEFUL_SETS, obj)
    bench.informers.put(PODS, *pods)
    bench.informers.put(CLAIMS, *claims)
    bench.informers.put(REVISIONS, revision("old", 1), revision("new", 2, obj))
    bench.client.objects.update({each["metadata"]["name"]: each for each in (obj, *claims)})
    return bench


def names(bench: ControllerBench, verb: str, what: str = "pods") -> list[str]:
    return [name for called, kind, name in bench.client.calls if (called, kind) == (verb, what)]


def sent(bench: ControllerBench, verb: str, what: str) -> list[Entry]:
    calls = zip(bench.client.calls, bench.client.bodies, strict=True)
    return [body for (called, kind, _), body in calls if (called, kind) == (verb, what)]


#: Set, pods; then the pods that are created and those that are deleted, and the time of the next pass.
PASSES: dict[str, tuple[Entry, list[Entry], list[str], list[str], float | None]] = {
    "first": (parent(), [], ["s-0"], [], None),
    "one by default": (parent(None, **PARALLEL), [], ["s-0"], [], None),
    "second": (parent(), [pod(0)], ["s-1"], [], None),
    "second of the default": (parent(None), [pod(0)], [], [], None),
    "first is not ready": (parent(), [pod(0, ready=False)], [], [], None),
    "first does not run": (parent(), [pod(0, "Pending")], [], [], None),
    "first is being deleted": (parent(), [going(0)], [], [], None),
    "gap": (parent(), [pod(0), pod(2)], ["s-1"], [], None),
    "complete": (parent(), [pod(0), pod(1), pod(2)], [], [], None),
    "deleted set": (parent(metadata={"deletionTimestamp": TIME}), [pod(3)], [], [], None),
    "not ready for long enough": (parent(minReadySeconds=10), [pod(0, since=9)], [], [], 10.0),
    "ready for long enough": (parent(minReadySeconds=10), [pod(0, since=10)], ["s-1"], [], None),
    "not ready at all": (parent(minReadySeconds=10), [pod(0, ready=False)], [], [], None),
    "failed": (parent(), [pod(0, "Failed"), pod(1, "Failed")], [], ["s-0"], None),
    "failed, being deleted": (parent(), [pod(0, "Failed", deletionTimestamp=TIME)], [], [], None),
    "succeeded": (parent(), [pod(0, "Succeeded")], [], [], None),
    "surplus": (parent(1), [pod(0), pod(1), pod(2)], [], ["s-2"], None),
    "surplus, a pod is not ready": (parent(1), [pod(0, ready=False), pod(1)], [], [], None),
    "surplus pod is being deleted": (parent(1), [pod(0), pod(1), going(2)], [], [], None),
    "surplus pods, the lower is not ready": (parent(1), [pod(0), pod(1, ready=False), pod(2)], [], ["s-2"], None),
    "surplus pods, the upper is not ready": (parent(1), [pod(0), pod(1), pod(2, ready=False)], [], ["s-2"], None),
    "surplus pods, none is ready": (parent(1), [pod(0), pod(1, ready=False), pod(2, ready=False)], [], [], None),
    "parallel": (parent(**PARALLEL), [], ["s-0", "s-1", "s-2"], [], None),
    "parallel, one is missing": (parent(**PARALLEL), [pod(0, ready=False), going(2)], ["s-1"], [], None),
    "parallel, failed": (parent(**PARALLEL), [pod(0, "Failed"), pod(1, "Failed")], [], ["s-0"], None),
    "parallel, surplus": (parent(1, **PARALLEL), [pod(0, ready=False), pod(1), pod(2)], [], ["s-2", "s-1"], None),
    "parallel, surplus pod is being deleted": (parent(1, **PARALLEL), [pod(0), pod(1), going(2)], [], ["s-1"], None),
    "update": (parent(), [pod(n, revision="old") for n in range(3)], [], ["s-2"], None),
    "update, next": (parent(), [pod(0, revision="old"), pod(1, revision="old"), pod(2)], [], ["s-1"], None),
    "update, last is not ready": (
        parent(**PARALLEL),
        [pod(0, revision="old"), pod(1, revision="old"), pod(2, ready=False)],
        [],
        [],
        None,
    ),
    "update of a pod that is not ready": (
        parent(**PARALLEL),
        [pod(0, revision="old"), pod(1, revision="old", ready=False), pod(2)],
        [],
        ["s-1"],
        None,
    ),
    "update, last is being deleted": (
        parent(**PARALLEL),
        [pod(0, revision="old"), pod(1, revision="old"), going(2, revision="old")],
        [],
        [],
        None,
    ),
    "update, last is not available": (
        parent(minReadySeconds=10, **PARALLEL),
        [pod(0, revision="old"), pod(1, revision="old"), pod(2, since=5)],
        [],
        ["s-1"],
        10.0,
    ),
    "update below the partition": (parent(**partition(2)), [*(pod(n, revision="old") for n in range(2)), pod(2)], [], [], None),
    "update of the partition": (parent(**partition(2)), [pod(n, revision="old") for n in range(3)], [], ["s-2"], None),
    "update on delete": (parent(**ON_DELETE), [pod(n, revision="old") for n in range(3)], [], [], None),
    "update before surplus": (parent(2), [pod(0, revision="old"), pod(1, revision="old"), pod(2)], [], ["s-2"], None),
    "update beside surplus": (
        parent(2, **PARALLEL),
        [pod(0, revision="old"), pod(1, revision="old"), pod(2)],
        [],
        ["s-2", "s-1"],
        None,
    ),
    "other numbers": (parent(2, ordinals={"start": 5}, **PARALLEL), [pod(0), pod(5)], ["s-6"], ["s-0"], None),
    "partition of other numbers": (
        parent(2, ordinals={"start": 5}, **partition(1)),
        [pod(5, revision="old"), pod(6, revision="old")],
        [],
        ["s-6"],
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_one_pass(name: str) -> None:
    """Pods are created from the first, and deleted and replaced from the last; with an order one at a time."""
    obj, pods, created, deleted, wait = PASSES[name]
    bench = begin(obj, *pods)
    assert result_of(bench.controller.reconcile(("a", "s"))) == wait
    assert (names(bench, "create"), names(bench, "delete")) == (created, deleted)


@pytest.mark.parametrize(
    ("obj", "pods", "created", "deleted"),
    [
        (parent(), [pod(0, "Succeeded")], [], ["s-0"]),
        (parent(**PARALLEL), [pod(0, "Failed"), pod(1, "Succeeded")], ["s-2"], ["s-0", "s-1"]),
        (parent(minReadySeconds=10, **PARALLEL), [pod(0, revision="old"), pod(1, revision="old"), pod(2, since=5)], [], []),
        (parent(1, minReadySeconds=10), [pod(0), pod(1, since=5), pod(2, since=5)], [], []),
    ],
)  # fmt: skip
def test_pass_of_a_later_release(obj: Entry, pods: list[Entry], created: list[str], deleted: list[str]) -> None:
    """All that have ended are replaced, without a word; a pod counts when it has been ready for long enough."""
    bench = begin(obj, *pods, release=NEWEST)
    result_of(bench.controller.reconcile(("a", "s")))
    assert (names(bench, "create"), names(bench, "delete")) == (created, deleted)
    assert "RecreatingFailedPod" not in [reason for reason, _ in bench.events.notes]


@pytest.mark.parametrize(
    ("spec", "revisions"),
    [(partition(2), ["old", "old", "new"]), (ON_DELETE, ["new"] * 3), ({}, ["new"] * 3), (partition(5), ["old"] * 3)],
)
def test_revision_of_a_new_pod(spec: Entry, revisions: list[str]) -> None:
    """Below the partition the current one, and its template."""
    bench = begin(parent(**spec, **PARALLEL))
    result_of(bench.controller.reconcile(("a", "s")))
    pods = sent(bench, "create", "pods")
    assert [each["metadata"]["labels"]["controller-revision-hash"] for each in pods] == revisions
    images = {"new": "c", "old": "old"}
    assert [each["spec"]["containers"][0]["name"] for each in pods] == [images[each] for each in revisions]


def test_labels_of_a_new_pod() -> None:
    for changes, tags in (({}, {POD_NAME: "s-0"}), ({"release": NEWEST}, {POD_NAME: "s-0", POD_INDEX: "0"})):
        bench = begin(parent(), **changes)
        result_of(bench.controller.reconcile(("a", "s")))
        (created,) = sent(bench, "create", "pods")
        assert created["metadata"]["labels"] == {**LABELS, "controller-revision-hash": "new", **tags}


def test_one_pass_creates_five_hundred_pods() -> None:
    bench = begin(parent(501, **PARALLEL))
    result_of(bench.controller.reconcile(("a", "s")))
    assert len(names(bench, "create")) == 500


#: Set, pods, and the status.
STATUSES: dict[str, tuple[Entry, list[Entry], Entry]] = {
    "nothing": (parent(0), [], {"currentRevision": "new"}),
    "updated": (
        parent(2),
        [pod(0), pod(1)],
        {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2, "currentReplicas": 2, "currentRevision": "new"},
    ),
    "updating": (
        parent(3),
        [pod(0, revision="old"), pod(1, ready=False), pod(2)],
        {"replicas": 3, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2, "currentReplicas": 1},
    ),
    "surplus": (
        parent(1),
        [pod(0), pod(1)],
        {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2},
    ),
    "updated, not ready": (
        parent(1),
        [pod(0, ready=False)],
        {"replicas": 1, "updatedReplicas": 1},
    ),
    "updated on delete": (
        parent(1, **ON_DELETE),
        [pod(0)],
        {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1},
    ),
    "being deleted": (
        parent(1),
        [going(0)],
        {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1},
    ),
    "not available": (
        parent(1, minReadySeconds=10),
        [pod(0, since=5)],
        {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "currentReplicas": 1, "currentRevision": "new"},
    ),
    "default size": (
        parent(None),
        [pod(0)],
        {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1, "currentReplicas": 1, "currentRevision": "new"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STATUSES)
def test_status(name: str) -> None:
    """The current revision becomes that of the update when all pods are updated and ready; zeros are left out, but for
    the numbers of all and of available pods."""
    obj, pods, expected = STATUSES[name]
    bench = begin(obj, *pods)
    result_of(bench.controller.reconcile(("a", "s")))
    (body,) = sent(bench, "update", "statefulsets/status")
    zeros = {"replicas": 0, "availableReplicas": 0, "collisionCount": 0}
    constant = {"observedGeneration": 7, "currentRevision": "old", "updateRevision": "new"}
    assert body["status"] == {**zeros, **constant, **expected}
    again = begin({**obj, "status": body["status"]}, *pods)
    result_of(again.controller.reconcile(("a", "s")))
    assert not sent(again, "update", "statefulsets/status")


def test_minimum_time_is_ignored_while_its_gate_is_off() -> None:
    bench = begin(parent(minReadySeconds=10), pod(0, since=5), features={"StatefulSetMinReadySeconds": False})
    assert result_of(bench.controller.reconcile(("a", "s"))) is None
    assert names(bench, "create") == ["s-1"]


@pytest.mark.parametrize(
    ("obj", "pods", "changes", "notes"),
    [
        (parent(), [], {}, [("SuccessfulCreate", "create Pod s-0 in StatefulSet s successful")]),
        (parent(), [], {"release": NEWEST}, [("SuccessfulCreate", "Create Pod s-0 in StatefulSet s successful")]),
        (
            parent(),
            [pod(0, "Failed")],
            {},
            [
                ("RecreatingFailedPod", "StatefulSet a/s is recreating failed Pod s-0"),
                ("SuccessfulDelete", "delete Pod s-0 in StatefulSet s successful"),
            ],
        ),
    ],
)  # fmt: skip
def test_notes(obj: Entry, pods: list[Entry], changes: Entry, notes: list[Any]) -> None:
    bench = begin(obj, *pods, **changes)
    result_of(bench.controller.reconcile(("a", "s")))
    assert bench.events.notes == notes


CLAIMING: Entry = {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]}


@pytest.mark.parametrize(
    ("obj", "pods", "client", "note"),
    [
        (parent(), [], recording_client(create=FORBIDDEN), ("FailedCreate", "create Pod s-0 in StatefulSet s failed error: refused")),
        (parent(1), [pod(0), pod(1)], recording_client(delete=FORBIDDEN), ("FailedDelete", "delete Pod s-1 in StatefulSet s failed error: refused")),
        (
            parent(**CLAIMING),
            [],
            recording_client(create=FORBIDDEN),
            ("FailedCreate", "create Claim data-s-0 for Pod s-0 in StatefulSet s failed error: refused"),
        ),
    ],
)  # fmt: skip
def test_failed_writes_are_retried(obj: Entry, pods: list[Entry], client: Any, note: tuple[str, str]) -> None:
    """With an Event, and after the status was written."""
    bench = begin(obj, *pods, client=client)
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "s")))
    assert bench.events.notes[0] == note and sent(bench, "update", "statefulsets/status")


def test_writes_that_need_no_retry() -> None:
    """A pod that exists already, and a terminating namespace."""
    bench = begin(parent(), client=recording_client(create=EXISTS))
    result_of(bench.controller.reconcile(("a", "s")))
    assert not bench.events.notes
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    bench = begin(parent(), client=recording_client(create=ApiError(403, "Forbidden", "ends", details=cause)))
    assert result_of(bench.controller.reconcile(("a", "s"))) is None
    assert result_of(bench.controller.reconcile(("a", "missing"))) is None


def test_unused_revisions_are_deleted() -> None:
    """Those of pods, the current one and that of the update stay."""
    for revisions_used, deleted in ((["old", "new"], ["older"]), (["older", "new"], []), (["new", "new"], ["older"])):
        pods = [pod(n, revision=each) for n, each in enumerate(revisions_used)]
        bench = begin(parent(2, revisionHistoryLimit=0, **ON_DELETE), *pods)
        bench.informers.put(REVISIONS, revision("older", 0))
        result_of(bench.controller.reconcile(("a", "s")))
        assert names(bench, "delete", "controllerrevisions") == deleted


def test_adopted_pods_are_labelled() -> None:
    """With their name, and from some release on their number; another pod of the name is left alone."""
    for changes, number in (({}, {}), ({"release": NEWEST}, {POD_INDEX: "0"})):
        adopted = pod(0)
        del adopted["metadata"]["labels"][POD_NAME]
        bench = begin(parent(1), adopted, **changes)
        result_of(bench.controller.reconcile(("a", "s")))
        (body,) = sent(bench, "update", "pods")
        assert body["metadata"]["labels"] == {**LABELS, "controller-revision-hash": "new", POD_NAME: "s-0", **number}
        assert [reason for reason, _ in bench.events.notes] == ["SuccessfulUpdate"]
    bench = begin(parent(1), adopted, client=recording_client(update=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "s")))
    assert [reason for reason, _ in bench.events.notes] == ["FailedUpdate"]


# -- claims


def claim(number: int = 0, *owners: Entry) -> Entry:
    return {"metadata": {"name": f"data-s-{number}", "namespace": "a", "uid": "c", "ownerReferences": list(owners)}}


def retained(deleted: str = "Retain", scaled: str = "Retain") -> Entry:
    return {**CLAIMING, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": scaled}}


def test_claims_are_made_before_their_pod() -> None:
    """Those that there are stay as they are."""
    bench = begin(parent(**CLAIMING))
    result_of(bench.controller.reconcile(("a", "s")))
    assert [(what, name) for verb, what, name in bench.client.calls if verb == "create"] == [
        ("persistentvolumeclaims", "data-s-0"),
        ("pods", "s-0"),
    ]
    assert bench.events.notes[0] == ("SuccessfulCreate", "create Claim data-s-0 Pod s-0 in StatefulSet s success")
    bench = begin(parent(**CLAIMING), claims=[claim()])
    result_of(bench.controller.reconcile(("a", "s")))
    assert [what for verb, what, _ in bench.client.calls if verb == "create"] == ["pods"]


@pytest.mark.parametrize(
    ("phase", "changes", "made"),
    [("Pending", {"release": NEWEST}, True), ("Running", {"release": NEWEST}, False), ("Pending", {}, False)],
)
def test_lost_claims_of_pending_pods(phase: str, changes: Entry, made: bool) -> None:
    """Later releases make them again."""
    bench = begin(parent(1, **CLAIMING), pod(0, phase), **changes)
    result_of(bench.controller.reconcile(("a", "s")))
    assert bool(names(bench, "create", "persistentvolumeclaims")) == made


RETENTION = {"StatefulSetAutoDeletePVC": True}
POD_OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "s-0", "uid": "s-0"}


@pytest.mark.parametrize(
    ("spec", "features", "owners", "waits"),
    [
        (retained(), RETENTION, [POD_OWNER], True),
        (retained(), RETENTION, [], False),
        (retained(), {}, [POD_OWNER], False),
        (CLAIMING, RETENTION, [POD_OWNER], False),
    ],
)
def test_claims_of_former_pods_are_waited_for(spec: Entry, features: Any, owners: list[Entry], waits: bool) -> None:
    """A claim that the former pod of the number owns is about to be deleted."""
    bench = begin(parent(**spec), claims=[claim(0, *owners)], features=features)
    result_of(bench.controller.reconcile(("a", "s")))
    assert names(bench, "create") == ([] if waits else ["s-0"])


@pytest.mark.parametrize(
    ("spec", "features", "pods", "written"),
    [
        (retained("Delete"), RETENTION, [pod(0)], {"data-s-0": ["s"]}),
        (retained("Delete"), RETENTION, [], {"data-s-0": ["s"]}),
        (retained("Delete"), {}, [pod(0)], {}),
        (retained(), RETENTION, [pod(0)], {}),
        (retained("Retain", "Delete"), RETENTION, [pod(0), pod(1)], {"data-s-1": ["s-1"]}),
        (retained("Delete", "Delete"), RETENTION, [pod(0), pod(1)], {"data-s-0": ["s"], "data-s-1": ["s-1"]}),
    ],
)
def test_owners_of_claims_are_written(spec: Entry, features: Any, pods: list[Entry], written: Entry) -> None:
    """As the retention policy says."""
    bench = begin(parent(1, **spec), *pods, claims=[claim(0), claim(1)], features=features)
    result_of(bench.controller.reconcile(("a", "s")))
    bodies = sent(bench, "update", "persistentvolumeclaims")
    assert {
        body["metadata"]["name"]: [each["uid"] for each in body["metadata"]["ownerReferences"]] for body in bodies
    } == {name: (uids if pods else ["s"]) for name, uids in written.items()}
    updates = [reason for reason, _ in bench.events.notes if reason == "SuccessfulUpdate"]
    assert updates == (["SuccessfulUpdate"] if pods and "data-s-0" in written else [])
