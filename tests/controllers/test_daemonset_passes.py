"""Single passes of the daemon set controller over pods and nodes that its informers have."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers import revisions
from orchd.controllers.daemonset.controller import DaemonSetController
from orchd.controllers.objects import DAEMON_SETS, NODES, PODS, REVISIONS
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW
from tests.controllers.recording_support import FORBIDDEN, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
LABELS = {"app": "x"}
HASH = "controller-revision-hash"
OWNER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
GONE: Entry = {"deletionTimestamp": timestamp(NOW)}
TAINT = [{"key": "k", "effect": "NoSchedule"}]


def parent(
    status: Entry | None = None, metadata: Entry | None = None, rolling: Entry | None = None, **spec: Any
) -> Entry:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c"}]}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1} if rolling is None else rolling}
    whole = {"selector": {"matchLabels": LABELS}, "template": template, "updateStrategy": strategy, **spec}
    return {
        "metadata": {"name": "d", "namespace": "a", "uid": "d", "generation": 3, **(metadata or {})},
        "spec": {key: value for key, value in whole.items() if value is not None},
        "status": status or {},
    }


def revision(name: str, number: int, obj: Entry | None = None) -> Entry:
    data = {"spec": {}} if obj is None else revisions.data_of(obj)
    metadata = {
        "name": name,
        "namespace": "a",
        "uid": name,
        "labels": {**LABELS, HASH: name},
        "ownerReferences": [OWNER],
    }
    return {"metadata": metadata, "revision": number, "data": data}


def node(name: str, taints: Any = ()) -> Entry:
    return {"metadata": {"name": name}, "spec": {"taints": list(taints)}}


def pod(
    name: str, on: str, phase: str = "Running", ready: float | None = 1000, revision: str = "new", **metadata: Any
) -> Entry:
    """A pod on a node, ready for some seconds, None for not ready."""
    condition = {"type": "Ready", "status": str(ready is not None), "lastTransitionTime": timestamp(NOW - (ready or 0))}
    return {
        "metadata": {
            "name": name, "namespace": "a", "uid": name, "resourceVersion": "1", "labels": {**LABELS, HASH: revision},
            "ownerReferences": [OWNER], "creationTimestamp": timestamp(NOW - 5000), **metadata,
        },
        "spec": {"nodeName": on},
        "status": {"phase": phase, "conditions": [condition]},
    }  # fmt: skip


def begin(obj: Entry, nodes: list[Entry], *pods: Entry, client: Any = None, **changes: Any) -> ControllerBench:
    bench = ControllerBench(DaemonSetController, client, **changes)
    result_of(bench.controller.listen())
    bench.informers.put(DAEMON_SETS, obj)
    bench.informers.put(NODES, *nodes)
    bench.informers.put(PODS, *pods)
    bench.informers.put(REVISIONS, revision("old", 1), revision("new", 2, obj))
    bench.client.objects["d"] = obj
    return bench


def target(body: Entry) -> str:
    affinity = body["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    name: str = affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
    return name


def look(bench: ControllerBench) -> tuple[list[str], list[str], Entry | None]:
    """Nodes of created pods, deleted pods, and the last status."""
    calls = list(zip(bench.client.calls, bench.client.bodies, strict=True))
    created = [target(body) for (verb, what, _), body in calls if (verb, what) == ("create", "pods")]
    deleted = [name for (verb, what, name), _ in calls if (verb, what) == ("delete", "pods")]
    statuses = [body["status"] for (_, what, _), body in calls if what == "daemonsets/status"]
    return created, deleted, statuses[-1] if statuses else None


def counts(current: int, misplaced: int, desired: int, ready: int, **more: int) -> Entry:
    names = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    return {**dict(zip(names, (current, misplaced, desired, ready), strict=True)), "observedGeneration": 3, **more}


M, N = node("m"), node("n")
#: Set, nodes, pods; then the nodes that get a pod, the deleted pods, the status and the time of the next pass.
PASSES: dict[str, tuple[Entry, list[Entry], list[Entry], list[str], list[str], Entry | None, float | None]] = {
    "first": (parent(), [M, N], [], ["m", "n"], [], counts(0, 0, 2, 0, numberUnavailable=2), None),
    "complete": (
        parent(),
        [M, N],
        [pod("p", "m"), pod("q", "n")],
        [],
        [],
        counts(2, 0, 2, 2, updatedNumberScheduled=2, numberAvailable=2),
        None,
    ),
    "not ready": (
        parent(),
        [M],
        [pod("p", "m", ready=None)],
        [],
        [],
        counts(1, 0, 1, 0, updatedNumberScheduled=1, numberUnavailable=1),
        None,
    ),
    "not available yet": (
        parent(minReadySeconds=10),
        [M],
        [pod("p", "m", ready=9)],
        [],
        [],
        counts(1, 0, 1, 1, updatedNumberScheduled=1, numberUnavailable=1),
        10.0,
    ),
    "available": (
        parent(minReadySeconds=10),
        [M],
        [pod("p", "m", ready=10)],
        [],
        [],
        counts(1, 0, 1, 1, updatedNumberScheduled=1, numberAvailable=1),
        None,
    ),
    "tainted node": (parent(), [node("t", TAINT)], [], [], [], counts(0, 0, 0, 0), None),
    "pod on a tainted node": (parent(), [node("t", TAINT)], [pod("p", "t")], [], [], counts(0, 1, 0, 0), None),
    "pod on a node that evicts": (
        parent(),
        [node("t", [{"key": "k", "effect": "NoExecute"}])],
        [pod("p", "t"), pod("q", "t", **GONE)],
        [],
        ["p"],
        counts(0, 1, 0, 0),
        None,
    ),
    "two pods on a node": (
        parent(),
        [M],
        [pod("young", "m"), pod("old", "m", creationTimestamp=timestamp(NOW - 9000))],
        [],
        ["young"],
        counts(1, 0, 1, 1, updatedNumberScheduled=1, numberAvailable=1),
        None,
    ),
    "deleted pod on a node": (
        parent(),
        [M],
        [pod("p", "m", **GONE)],
        [],
        [],
        counts(1, 0, 1, 1, updatedNumberScheduled=1, numberAvailable=1),
        None,
    ),
    "failed pod": (
        parent(),
        [M],
        [pod("p", "m", "Failed", None)],
        [],
        ["p"],
        counts(1, 0, 1, 0, updatedNumberScheduled=1, numberUnavailable=1),
        None,
    ),
    "update": (
        parent(),
        [M, N],
        [pod("p", "m", revision="old"), pod("q", "n", revision="old")],
        [],
        ["p"],
        counts(2, 0, 2, 2, numberAvailable=2),
        None,
    ),
    "update of two": (
        parent(rolling={"maxUnavailable": "100%"}),
        [M, N],
        [pod("p", "m", revision="old"), pod("q", "n", revision="old")],
        [],
        ["p", "q"],
        counts(2, 0, 2, 2, numberAvailable=2),
        None,
    ),
    "update by default": (
        parent(rolling={}),
        [M, N],
        [pod("p", "m", revision="old"), pod("q", "n", revision="old")],
        [],
        ["p"],
        counts(2, 0, 2, 2, numberAvailable=2),
        None,
    ),
    "update, one is not available": (
        parent(),
        [M, N],
        [pod("p", "m"), pod("q", "n", revision="old"), pod("r", "m", **GONE)],
        [],
        ["q"],
        counts(2, 0, 2, 2, updatedNumberScheduled=1, numberAvailable=2),
        None,
    ),
    "update, new one is not available": (
        parent(),
        [M, N],
        [pod("p", "m", ready=None), pod("q", "n", revision="old")],
        [],
        [],
        counts(2, 0, 2, 1, updatedNumberScheduled=1, numberAvailable=1, numberUnavailable=1),
        None,
    ),
    "update of one that is not available": (
        parent(),
        [M, N],
        [pod("p", "m", revision="old"), pod("q", "n", ready=None, revision="old")],
        [],
        ["q", "p"],
        counts(2, 0, 2, 1, numberAvailable=1, numberUnavailable=1),
        None,
    ),
    "update on delete": (
        parent(updateStrategy={"type": "OnDelete"}),
        [M],
        [pod("p", "m", revision="old")],
        [],
        [],
        counts(1, 0, 1, 1, numberAvailable=1),
        None,
    ),
    "surge": (
        parent(rolling={"maxSurge": 1}),
        [M, N],
        [pod("p", "m", revision="old"), pod("q", "n", revision="old")],
        ["m"],
        [],
        counts(2, 0, 2, 2, numberAvailable=2),
        None,
    ),
    "surge, new one is not ready": (
        parent(rolling={"maxSurge": 1}),
        [M, N],
        [pod("p", "m", revision="old"), pod("new", "m", ready=None), pod("q", "n", revision="old")],
        [],
        [],
        counts(2, 0, 2, 1, updatedNumberScheduled=1, numberAvailable=1, numberUnavailable=1),
        None,
    ),
    "surge, new one is available": (
        parent(rolling={"maxSurge": 1}),
        [M],
        [pod("p", "m", revision="old"), pod("new", "m")],
        [],
        ["p"],
        counts(1, 0, 1, 1, updatedNumberScheduled=1, numberAvailable=1),
        None,
    ),
    "surge, old one is not ready": (
        parent(rolling={"maxSurge": 1}),
        [M],
        [pod("p", "m", ready=None, revision="old"), pod("new", "m", ready=None)],
        [],
        ["p"],
        counts(1, 0, 1, 0, updatedNumberScheduled=1, numberUnavailable=1),
        None,
    ),
    "no generation": (parent(metadata={"generation": 0}), [], [], [], [], {**counts(0, 0, 0, 0), "observedGeneration": 0}, None),
    "conditions": (
        parent({"conditions": [{"type": "X"}]}),
        [],
        [],
        [],
        [],
        {**counts(0, 0, 0, 0), "conditions": [{"type": "X"}]},
        None,
    ),
    "unchanged": (parent({**counts(0, 0, 0, 0), "collisionCount": 0}), [], [], [], [], None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_one_pass(name: str) -> None:
    """Every suitable node gets one pod; updates replace as many as may be unavailable, or surge."""
    obj, nodes, pods, created, deleted, status, wait = PASSES[name]
    bench = begin(obj, nodes, *pods)
    assert result_of(bench.controller.reconcile(("a", "d"))) == wait
    if status is not None and not status["observedGeneration"]:
        status = {key: value for key, value in status.items() if key != "observedGeneration"}
    assert look(bench) == (created, deleted, status)


def test_surge_is_ignored_while_its_gate_is_off() -> None:
    pods = [pod("p", "m", revision="old"), pod("q", "n", revision="old")]
    bench = begin(parent(rolling={"maxSurge": 1}), [M, N], *pods, features={"DaemonSetUpdateSurge": False})
    result_of(bench.controller.reconcile(("a", "d")))
    assert look(bench)[:2] == ([], ["p"])


def test_informer_that_lags_delays_a_set() -> None:
    """The status of such a pass keeps the generation that was observed before."""
    bench = begin(parent({"observedGeneration": 2}), [M])
    assert result_of(bench.controller.reconcile(("a", "d"))) is None
    assert result_of(bench.controller.reconcile(("a", "d"))) == 60.0
    created, _, status = look(bench)
    assert created == ["m"] and status == {**counts(0, 0, 1, 0, numberUnavailable=1), "observedGeneration": 2}


def test_failed_pods_are_replaced_with_a_pause() -> None:
    """The first one on a node at once, later ones after seconds; Events say so."""
    bench = begin(parent(), [M], pod("p", "m", "Failed"))
    assert result_of(bench.controller.reconcile(("a", "d"))) is None
    note = "Found failed daemon pod a/p on node m, will try to kill it"
    assert bench.events.notes[0] == ("FailedDaemonPod", note)
    bench.informers.informer(PODS).remove("a", "p")
    bench.informers.put(PODS, pod("q", "m", "Failed"))
    assert result_of(bench.controller.reconcile(("a", "d"))) == 1.0
    assert look(bench)[1] == ["p"]


@pytest.mark.parametrize(("failing", "pods"), [("create", []), ("delete", [pod("p", "m"), pod("q", "m")])])
def test_failed_writes_are_retried(failing: str, pods: list[Entry]) -> None:
    """In a terminating namespace they are no failure."""
    bench = begin(parent(), [M], *pods, client=recording_client(**{failing: FORBIDDEN}))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "d")))
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    ends = ApiError(403, "Forbidden", "ends", details=cause)
    bench = begin(parent(), [M], *pods, client=recording_client(**{failing: ends}))
    assert result_of(bench.controller.reconcile(("a", "d"))) is None


def test_one_pass_creates_and_deletes_so_many_pods() -> None:
    bench = begin(parent(), [node(f"n{n}") for n in range(251)])
    result_of(bench.controller.reconcile(("a", "d")))
    assert len(look(bench)[0]) == 250
    evicts = node("t", [{"key": "k", "effect": "NoExecute"}])
    bench = begin(parent(), [evicts], *(pod(f"p{n}", "t") for n in range(251)))
    result_of(bench.controller.reconcile(("a", "d")))
    assert len(look(bench)[1]) == 250


def test_sets_that_are_left_alone() -> None:
    """A deleted one, and one that selects everything, with an Event."""
    bench = begin(parent(metadata=GONE), [M])
    assert result_of(bench.controller.reconcile(("a", "d"))) is None and not bench.client.calls
    bench = begin(parent(selector={}), [M])
    assert result_of(bench.controller.reconcile(("a", "d"))) is None and not bench.client.calls
    note = "This daemon set is selecting all pods. A non-empty selector is required."
    assert bench.events.notes == [("SelectingAll", note)]
    assert result_of(bench.controller.reconcile(("a", "missing"))) is None


@pytest.mark.parametrize(
    ("limit", "used", "deleted"),
    [(0, ["new"], ["older", "old"]), (1, ["new"], ["older"]), (0, ["older"], ["old"]), (2, ["new"], []), (None, ["new"], [])],
)  # fmt: skip
def test_unused_revisions_are_deleted(limit: int | None, used: list[str], deleted: list[str]) -> None:
    """The oldest beyond the limit, which is ten by default; those of pods stay."""
    pods = [pod(f"p{n}", f"n{n}", revision=each) for n, each in enumerate(used)]
    obj = parent(revisionHistoryLimit=limit, updateStrategy={"type": "OnDelete"})
    bench = begin(obj, [node(f"n{n}") for n in range(len(used))], *pods)
    bench.informers.put(REVISIONS, revision("older", 0))
    result_of(bench.controller.reconcile(("a", "d")))
    assert [
        name for verb, what, name in bench.client.calls if (verb, what) == ("delete", "controllerrevisions")
    ] == deleted


def test_nodes_queue_the_sets_whose_fit_changes() -> None:
    bench = begin(parent(), [M])
    bench.queued()
    for change, queued in ((node("m"), False), (node("m", TAINT), True), (node("n"), True)):
        bench.informers.put(NODES, change)
        assert bench.queued() == ([("a", "d")] if queued else [])
    bench.informers.informer(NODES).remove("", "n")
    assert bench.queued() == [("a", "d")]
    bench.informers.informer(DAEMON_SETS).remove("a", "d")
    bench.queued()
    bench.informers.put(NODES, node("x"))
    assert not bench.queued()
