"""Single passes of the replica set controller over pods that its informer has."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.objects import PODS, REPLICA_SETS
from orchd.controllers.replicaset import ReplicaSetController
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.recording_support import FORBIDDEN, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
LABELS = {"app": "x"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
TIME = timestamp(NOW)
FAILURE = {
    "type": "ReplicaFailure",
    "status": "True",
    "reason": "FailedCreate",
    "message": "m",
    "lastTransitionTime": TIME,
}


def parent(replicas: int | None = 2, status: Entry | None = None, metadata: Entry | None = None, **spec: Any) -> Entry:
    template = {"metadata": {"labels": LABELS}, "spec": {}}
    whole = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template, **spec}
    return {
        "metadata": {"name": "r", "namespace": "a", "uid": "r", "generation": 7, **(metadata or {})},
        "spec": {key: value for key, value in whole.items() if value is not None},
        "status": status or {},
    }


def pod(name: str, phase: str = "Running", ready: float | None = None, node: str = "n", **metadata: Any) -> Entry:
    """A pod of the set, ready for some seconds, None for not ready."""
    status = {"type": "Ready", "status": str(ready is not None), "lastTransitionTime": timestamp(NOW - (ready or 0))}
    return {
        "metadata": {
            "name": name, "namespace": "a", "uid": name, "resourceVersion": "1", "labels": LABELS,
            "ownerReferences": [OWNER], "creationTimestamp": timestamp(NOW - 5000), **metadata,
        },
        "spec": {"nodeName": node},
        "status": {"phase": phase, "conditions": [status]},
    }  # fmt: skip


def begin(obj: Entry, *pods: Entry, client: Any = None, **changes: Any) -> ControllerBench:
    bench = ControllerBench(ReplicaSetController, client, **changes)
    result_of(bench.controller.listen())
    bench.informers.put(REPLICA_SETS, obj)
    bench.informers.put(PODS, *pods)
    bench.client.objects["r"] = obj
    return bench


def names(bench: ControllerBench, verb: str) -> list[str]:
    return [name for called, what, name in bench.client.calls if (called, what) == (verb, "pods")]


def status(bench: ControllerBench) -> Entry | None:
    calls = zip(bench.client.calls, bench.client.bodies, strict=True)
    statuses: list[Entry] = [body["status"] for (_, what, _), body in calls if what == "replicasets/status"]
    return statuses[-1] if statuses else None


#: Set, pods; then the number of created pods, the deleted ones, the status and the time of the next pass.
PASSES: dict[str, tuple[Entry, list[Entry], int, list[str], Entry | None, float | None]] = {
    "first": (parent(), [], 2, [], {"replicas": 0}, None),
    "one by default": (parent(None), [], 1, [], {"replicas": 0}, None),
    "missing": (parent(3), [pod("p", ready=9)], 2, [], {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}, None),
    "complete": (
        parent(1, {"replicas": 1, "fullyLabeledReplicas": 1, "observedGeneration": 7}),
        [pod("p")],
        0,
        [],
        None,
        None,
    ),
    "surplus": (parent(1), [pod("p", ready=9), pod("q"), pod("r", ready=8)], 0, ["q", "r"], {"replicas": 3, "readyReplicas": 2, "availableReplicas": 2}, None),
    "deleted": (parent(2, metadata={"deletionTimestamp": TIME}), [pod("p")], 0, [], {"replicas": 1}, None),
    "ended pods": (parent(1), [pod("p", "Failed"), pod("q", deletionTimestamp=TIME)], 1, [], {"replicas": 0}, None),
    "not available yet": (
        parent(2, minReadySeconds=10),
        [pod("p", ready=9), pod("q", ready=10)],
        0,
        [],
        {"replicas": 2, "readyReplicas": 2, "availableReplicas": 1},
        10.0,
    ),
    "available": (
        parent(1, minReadySeconds=10),
        [pod("q", ready=10)],
        0,
        [],
        {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1},
        None,
    ),
    "failure is over": (parent(0, {"conditions": [FAILURE]}), [], 0, [], {"replicas": 0}, None),
    "other conditions": (
        parent(0, {"conditions": [{"type": "Other"}, FAILURE]}),
        [],
        0,
        [],
        {"replicas": 0, "conditions": [{"type": "Other"}]},
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_one_pass(name: str) -> None:
    """Pods are created or deleted up to the size; the status has the counts from before."""
    obj, pods, created, deleted, expected, wait = PASSES[name]
    bench = begin(obj, *pods)
    assert result_of(bench.controller.reconcile(("a", "r"))) == wait
    assert (len(names(bench, "create")), names(bench, "delete")) == (created, deleted)
    if expected is not None:
        labeled = {"fullyLabeledReplicas": expected["replicas"]} if expected["replicas"] else {}
        expected = {"observedGeneration": 7, **labeled, **expected}
    assert status(bench) == expected


def test_status_without_a_generation() -> None:
    obj = parent(0)
    del obj["metadata"]["generation"]
    bench = begin(obj)
    result_of(bench.controller.reconcile(("a", "r")))
    assert status(bench) == {"replicas": 0}


def test_terminating_pods_are_counted_in_later_releases() -> None:
    pods = [pod("p", deletionTimestamp=TIME)]
    for changes, expected in (({"release": NEWEST}, 1), ({}, None)):
        bench = begin(parent(0), *pods, **changes)
        result_of(bench.controller.reconcile(("a", "r")))
        written = status(bench)
        assert written is not None and written.get("terminatingReplicas") == expected


@pytest.mark.parametrize(
    ("obj", "pods", "failing", "reason"),
    [(parent(1), [], "create", "FailedCreate"), (parent(0), [pod("p")], "delete", "FailedDelete")],
)
@pytest.mark.parametrize("before", [[], [FAILURE]])
def test_failed_writes_are_in_a_condition(
    obj: Entry, pods: list[Entry], failing: str, reason: str, before: list[Entry]
) -> None:
    """Of the first failure; the pass is tried again."""
    obj = {**obj, "status": {"conditions": before}}
    bench = begin(obj, *pods, client=recording_client(**{failing: FORBIDDEN}))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "r")))
    written = status(bench)
    fresh = {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": TIME,
        "reason": reason,
        "message": "refused",
    }
    if not before:
        assert written is not None and written["conditions"] == [fresh]
        assert bench.events.notes[0][0] == reason
    else:
        assert written is not None and written["conditions"] == [FAILURE]


def test_set_of_a_terminating_namespace_is_not_retried() -> None:
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    bench = begin(parent(1), client=recording_client(create=ApiError(403, "Forbidden", "ends", details=cause)))
    assert result_of(bench.controller.reconcile(("a", "r"))) is None
    assert status(bench) == {"replicas": 0, "observedGeneration": 7}


def test_informer_that_lags_delays_a_set() -> None:
    """Neither are pods created nor deleted twice."""
    bench = begin(parent(1))
    for wait in (None, 60.0):
        assert result_of(bench.controller.reconcile(("a", "r"))) == wait
    assert len(names(bench, "create")) == 1
    bench = begin(parent(0), pod("p"))
    for wait in (None, 60.0):
        assert result_of(bench.controller.reconcile(("a", "r"))) == wait
    assert names(bench, "delete") == ["p"]
    bench.informers.informer(REPLICA_SETS).remove("a", "r")
    bench.informers.put(REPLICA_SETS, parent(1))
    assert result_of(bench.controller.reconcile(("a", "r"))) is None
    assert result_of(bench.controller.reconcile(("a", "missing"))) is None


def test_one_pass_creates_and_deletes_five_hundred_pods() -> None:
    bench = begin(parent(501))
    result_of(bench.controller.reconcile(("a", "r")))
    assert len(names(bench, "create")) == 500
    bench = begin(parent(0), *(pod(f"p{n}") for n in range(501)))
    result_of(bench.controller.reconcile(("a", "r")))
    assert len(names(bench, "delete")) == 500


def test_pods_beside_others_of_the_family_go_first() -> None:
    """Those on nodes with more pods of sets of the same deployment."""
    above = [{"kind": "Deployment", "name": "d", "uid": "d", "controller": True}]
    brother = parent(0, metadata={"name": "b", "uid": "b", "ownerReferences": above})
    for owners, deleted in ((above, "q"), ([], "p")):
        bench = begin(parent(1, metadata={"ownerReferences": owners}), pod("p"), pod("q", node="m"))
        bench.informers.put(REPLICA_SETS, brother)
        bench.informers.put(PODS, pod("b", node="m", ownerReferences=[{**OWNER, "name": "b", "uid": "b"}]))
        if not owners:
            bench.informers.put(PODS, pod("p2", node="n"))
            bench.informers.put(REPLICA_SETS, parent(2, metadata={"ownerReferences": owners}))
        result_of(bench.controller.reconcile(("a", "r")))
        assert names(bench, "delete")[0][0] == deleted


def test_ages_of_deleted_pods_are_measured() -> None:
    """Relative to that of the youngest ready pod; pods that are not ready do not count."""
    bench = begin(parent(0), pod("p", ready=100), pod("q", ready=400), pod("r"))
    result_of(bench.controller.reconcile(("a", "r")))
    (ratios,) = bench.values()["replicaset_controller_sorting_deletion_age_ratio"].values()
    assert (ratios.count, ratios.sum) == (2, 5.0)
    bench = begin(parent(0), pod("p", ready=0), pod("q", ready=400))
    result_of(bench.controller.reconcile(("a", "r")))
    (ratios,) = bench.values()["replicaset_controller_sorting_deletion_age_ratio"].values()
    assert ratios.count == 0


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, pod("p"), True),
        (pod("p"), None, True),
        (None, pod("p", ownerReferences=[{**OWNER, "kind": "Other"}]), False),
        (None, pod("p", ownerReferences=[]), True),
        (None, pod("p", ownerReferences=[], labels={"app": "y"}), False),
        (None, pod("p", ownerReferences=[], deletionTimestamp=TIME), False),
        (pod("p", ownerReferences=[]), pod("p", ownerReferences=[], resourceVersion="2"), False),
        (pod("p", ownerReferences=[], labels={}), pod("p", ownerReferences=[]), True),
        (pod("p", ownerReferences=[]), None, False),
        (pod("p"), pod("p", ownerReferences=[{**OWNER, "name": "o", "uid": "o"}]), True),
    ],
)
def test_changes_of_pods_queue_their_sets(old: Entry | None, new: Entry | None, queued: bool) -> None:
    """The owners before and after, and the sets that may adopt a pod."""
    bench = begin(parent())
    if old is not None:
        bench.informers.put(PODS, old)
    bench.queued()
    if new is None:
        bench.informers.informer(PODS).remove("a", "p")
    else:
        bench.informers.put(PODS, new)
    keys = bench.queued()
    assert (("a", "r") in keys) == queued
    if new is not None and new["metadata"]["ownerReferences"] and new["metadata"]["ownerReferences"][0]["name"] == "o":
        assert keys == [("a", "o"), ("a", "r")]
