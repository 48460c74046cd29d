"""Disruption budgets without a server: which of them a change queues, and what one pass writes."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.disruption.controller import BUDGETS, DisruptionController
from orchd.controllers.objects import DEPLOYMENTS, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from orchd.txkit.coroutines import start
from tests.controllers.recording_support import FORBIDDEN, MISSING, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
LABELS = {"app": "x"}
GONE: Entry = {"deletionTimestamp": timestamp(NOW)}
FAILED = {"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]}


def budget(status: Entry | None = None, labels: Any = None, **spec: Any) -> Entry:
    return {
        "metadata": {"name": "b", "namespace": "a", "uid": "b", "generation": 3},
        "spec": {"selector": {"matchLabels": labels or LABELS}, **spec},
        "status": status or {},
    }


def reference(kind: str, name: str = "r", version: str = "apps/v1", uid: str = "") -> Entry:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid or name, "controller": True}


def pod(name: str, *owners: Entry, ready: bool = True, labels: Any = None, **metadata: Any) -> Entry:
    own = {"name": name, "namespace": "a", "uid": name, "labels": labels or LABELS, "ownerReferences": list(owners)}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
    return {"metadata": {**own, **metadata}, "spec": {}, "status": status}


def sized(name: str, replicas: int | None, *owners: Entry) -> Entry:
    metadata = {"name": name, "namespace": "a", "uid": name, "ownerReferences": list(owners)}
    return {"metadata": metadata, "spec": {} if replicas is None else {"replicas": replicas}}


def begin(*objects: tuple[ResourceRef, Entry], client: Any = None) -> ControllerBench:
    bench = ControllerBench(DisruptionController, client)
    result_of(bench.controller.listen())
    for ref, obj in objects:
        bench.informers.put(ref, obj)
    bench.queued()
    return bench


def status(bench: ControllerBench) -> Entry | None:
    """The written status, with status and reason of its only condition."""
    result_of(bench.controller.reconcile(("a", "b")))
    written: list[Entry] = [dict(body["status"]) for body in bench.client.bodies if body is not None]
    if not written:
        return None
    (condition,) = written[-1].pop("conditions")
    return {**written[-1], "condition": (condition["status"], condition["reason"])}


SET = reference("ReplicaSet")
#: Objects, budget; then expected, desired and current pods, and allowed disruptions.
COUNTS: dict[str, tuple[Entry, list[tuple[ResourceRef, Entry]], tuple[int, int, int, int]]] = {
    "no pods": (budget(minAvailable=1), [], (0, 1, 0, 0)),
    "at least": (budget(minAvailable=1), [(PODS, pod("p")), (PODS, pod("q"))], (2, 1, 2, 1)),
    "one is not ready": (budget(minAvailable=1), [(PODS, pod("p")), (PODS, pod("q", ready=False))], (2, 1, 1, 0)),
    "one is being deleted": (budget(minAvailable=1), [(PODS, pod("p")), (PODS, pod("q", **GONE))], (2, 1, 1, 0)),
    "no limits": (budget(), [(PODS, pod("p"))], (0, 0, 1, 0)),
    "share of the size": (
        budget(minAvailable="50%"),
        [(REPLICA_SETS, sized("r", 5)), (PODS, pod("p", SET)), (PODS, pod("q", SET))],
        (5, 3, 2, 0),
    ),
    "at most": (
        budget(maxUnavailable=1),
        [(REPLICA_SETS, sized("r", 2)), (PODS, pod("p", SET)), (PODS, pod("q", SET))],
        (2, 1, 2, 1),
    ),
    "more than there are": (budget(maxUnavailable=9), [(REPLICA_SETS, sized("r", 2)), (PODS, pod("p", SET))], (2, 0, 1, 1)),
    "size by default": (budget(maxUnavailable=0), [(REPLICA_SETS, sized("r", None)), (PODS, pod("p", SET))], (1, 1, 1, 0)),
    "two owners": (
        budget(maxUnavailable=1),
        [
            (REPLICA_SETS, sized("r", 2)),
            (STATEFUL_SETS, sized("s", 3)),
            (PODS, pod("p", SET)),
            (PODS, pod("q", reference("StatefulSet", "s"))),
            (PODS, pod("alone")),
        ],
        (5, 4, 3, 0),
    ),
    "replication controller": (
        budget(maxUnavailable=1),
        [(REPLICATION_CONTROLLERS, sized("r", 2)), (PODS, pod("p", reference("ReplicationController", version="v1")))],
        (2, 1, 1, 0),
    ),
    "deployment": (
        budget(maxUnavailable=1),
        [
            (DEPLOYMENTS, sized("d", 4)),
            (REPLICA_SETS, sized("r", 2, reference("Deployment", "d"))),
            (REPLICA_SETS, sized("r2", 3, reference("Deployment", "d"))),
            (PODS, pod("p", SET)),
            (PODS, pod("q", reference("ReplicaSet", "r2"))),
        ],
        (4, 3, 2, 0),
    ),
    "owner of a set that is no deployment": (
        budget(maxUnavailable=1),
        [(REPLICA_SETS, sized("r", 2, reference("Other", "d"))), (PODS, pod("p", SET))],
        (2, 1, 1, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    """Relative budgets count the sizes of the top-level owners, each once; pods without an owner do not count."""
    obj, objects, (expected, desired, current, allowed) = COUNTS[name]
    bench = begin((BUDGETS, obj), *objects)
    assert status(bench) == {
        "disruptionsAllowed": allowed,
        "currentHealthy": current,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "observedGeneration": 3,
        "condition": ("True", "SufficientPods") if allowed else ("False", "InsufficientPods"),
    }
    reasons = [reason for reason, _ in bench.events.notes]
    assert reasons == (["NoPods"] if not objects else [])


@pytest.mark.parametrize(
    ("objects", "owner", "message"),
    [
        ([], SET, 'found no controllers for pod "p"'),
        ([(REPLICA_SETS, sized("r", 2))], {**SET, "uid": "former"}, 'found no controllers for pod "p"'),
        ([(REPLICA_SETS, sized("r", 2, reference("Deployment", "d")))], SET, 'found no controllers for pod "p"'),
        (
            [(REPLICA_SETS, sized("r", 2, reference("Deployment", "d", uid="former"))), (DEPLOYMENTS, sized("d", 4))],
            SET,
            'found no controllers for pod "p"',
        ),
        ([], reference("Other", version="example.com/v1"), 'no matches for kind "Other" in version "example.com/v1"'),
        ([], reference("ConfigMap", version="v1"), "configmaps does not implement the scale subresource"),
        ([], reference("DaemonSet"), "daemonsets.apps does not implement the scale subresource"),
        ([], reference("Deployment"), 'found no controllers for pod "p"'),
    ],
)
def test_owners_without_a_size(objects: list[Any], owner: Entry, message: str) -> None:
    """The budget allows nothing, and an Event says why."""
    bench = begin((BUDGETS, budget({"expectedPods": 7}, maxUnavailable=1)), *objects, (PODS, pod("p", owner)))
    assert status(bench) == {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 7,
        "condition": ("False", "SyncFailed"),
    }
    note = f"Failed to calculate the number of expected pods: {message}"
    assert bench.events.notes == [("CalculateExpectedPodCountFailed", note)]


def test_size_of_another_kind_is_asked_for() -> None:
    """From its subresource scale; errors are those of the budget."""
    scale = {"metadata": {"name": "r", "uid": "r"}, "spec": {"replicas": 6}}
    objects = ((BUDGETS, budget(maxUnavailable=1)), (PODS, pod("p", reference("Deployment"))))
    for given, expected in (
        (scale, 6),
        ({**scale, "spec": {}}, 0),
        ({**scale, "metadata": {"name": "r", "uid": "x"}}, None),
    ):
        bench = begin(*objects, client=recording_client(given))
        written = status(bench)
        assert written is not None
        assert written["expectedPods"] == (expected or 0)
        assert (written["condition"][1] == "SyncFailed") == (expected is None)
    bench = begin(*objects, client=recording_client(get=FORBIDDEN))
    written = status(bench)
    assert bench.events.notes[0][1] == "Failed to calculate the number of expected pods: refused"


def test_unchanged_status_is_not_written() -> None:
    bench = begin((BUDGETS, budget(minAvailable=1)), (PODS, pod("p")))
    result_of(bench.controller.reconcile(("a", "b")))
    (body,) = bench.client.bodies
    again = begin((BUDGETS, body), (PODS, pod("p")))
    result_of(again.controller.reconcile(("a", "b")))
    assert not again.client.bodies
    assert result_of(again.controller.reconcile(("a", "missing"))) is None
    gone = begin((BUDGETS, budget(minAvailable=1)), client=recording_client(update=MISSING))
    result_of(gone.controller.reconcile(("a", "b")))
    refused = begin((BUDGETS, budget(minAvailable=1)), client=recording_client(update=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(refused.controller.reconcile(("a", "b")))


def test_evictions_are_pending_for_two_minutes() -> None:
    """Pods that were not deleted by then count again, with an Event about each."""
    disrupted = {name: timestamp(NOW - ago) for name, ago in (("p", 20), ("q", 121), ("r", 120), ("gone", 5))}
    pods = [pod("p"), pod("q"), pod("r"), pod("s"), pod("t", **GONE)]
    top = budget({"disruptedPods": {**disrupted, "t": timestamp(NOW)}}, minAvailable=1)
    bench = begin((BUDGETS, top), *((PODS, each) for each in pods))
    assert result_of(bench.controller.reconcile(("a", "b"))) == 0.0
    (body,) = bench.client.bodies
    assert body["status"]["disruptedPods"] == {name: disrupted[name] for name in "pr"}
    assert (body["status"]["currentHealthy"], body["status"]["disruptionsAllowed"]) == (2, 1)
    assert bench.events.notes == [("NotDeleted", "Pod was expected by PDB a/b to be deleted but it wasn't")]


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, pod("p"), True),
        (None, pod("p", labels={"app": "y"}), False),
        (pod("p"), pod("p", ready=False), True),
        (pod("p"), pod("p", labels={"app": "y"}), True),
        (pod("p", labels={"app": "y"}), pod("p", labels={"app": "z"}), False),
        (pod("p"), None, True),
    ],
)
def test_changes_of_pods_queue_their_budgets(old: Entry | None, new: Entry | None, queued: bool) -> None:
    """Those that select a pod now, or did before."""
    bench = begin((BUDGETS, budget()), *([(PODS, old)] if old else []))
    if new is None:
        bench.informers.informer(PODS).remove("a", "p")
    else:
        bench.informers.put(PODS, new)
    assert bench.queued() == ([("a", "b")] if queued else [])


@pytest.mark.parametrize(
    ("of", "old", "new", "queued"),
    [
        (budget(maxUnavailable=1), 2, 3, True),
        (budget(maxUnavailable=1), 2, 2, False),
        (budget(minAvailable=1), 2, 3, False),
        (budget(minAvailable="1%"), 2, 3, True),
        (budget(maxUnavailable=1), None, 3, False),
        (budget(FAILED, maxUnavailable=1), None, 3, True),
        (budget(FAILED, minAvailable=1), None, 3, False),
        (budget(FAILED, maxUnavailable=1), 2, None, False),
    ],
)
def test_changes_of_owners_queue_budgets(of: Entry, old: int | None, new: int | None, queued: bool) -> None:
    """A new size those that are relative to it, a new owner those that missed one."""
    bench = begin((BUDGETS, of), *([(REPLICA_SETS, sized("r", old))] if old else []))
    if new is None:
        bench.informers.informer(REPLICA_SETS).remove("a", "r")
    else:
        bench.informers.put(REPLICA_SETS, {**sized("r", new), "status": {}})
    assert bench.queued() == ([("a", "b")] if queued else [])


def test_budget_follows_its_selector() -> None:
    """Pods of the former one no longer count."""
    bench = begin((BUDGETS, budget(minAvailable=1)), (PODS, pod("p")), (PODS, pod("q", labels={"app": "y"})))
    result_of(bench.controller.reconcile(("a", "b")))
    bench.informers.put(BUDGETS, budget(minAvailable=1, labels={"app": "y"}))
    assert bench.queued() == [("a", "b")]
    bench.informers.put(PODS, pod("r", labels={"app": "y"}))
    result_of(bench.controller.reconcile(("a", "b")))
    assert [body["status"]["expectedPods"] for body in bench.client.bodies] == [1, 2]
    bench.informers.informer(BUDGETS).remove("a", "b")
    assert bench.queued() == [("a", "b")]


def test_writes_of_large_budgets_are_spread() -> None:
    """Passes wait after writes that cover many pods."""
    bench = begin((BUDGETS, budget(minAvailable=1)), *((PODS, pod(f"p{n}")) for n in range(3)))
    for ready in (True, False) * 600:
        bench.informers.put(PODS, pod("p0", ready=ready))
        result_of(bench.controller.reconcile(("a", "b")))
    assert len(bench.controller.queue) == 1
    taken: list[Any] = []
    start(bench.controller.queue.get()).addCallback(taken.append)
    assert not taken
    bench.clock.advance(60)
    assert taken == [("a", "b")]
