"""Deployments without a server: which of them a change queues, and what one reconcile does."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.deployment.controller import DeploymentController
from orchd.controllers.objects import DEPLOYMENTS, PODS, REPLICA_SETS
from orchd.errors import ApiError
from orchd.testing.doubles.results import result_of
from tests.controllers.recording_support import FORBIDDEN, MISSING, recording_client
from tests.controllers.test_rollout_steps import KEYS, TIME, deployment, replica_set
from tests.controllers.unit_support import ControllerBench

LABELS = {"app": "x"}
SELECTOR = {"matchLabels": LABELS}
GONE = {"deletionTimestamp": TIME}


def owner(kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


OWN = owner("Deployment", "d", "u")


def named(name: str, owners: Any = (), labels: Any = None, **metadata: Any) -> dict[str, Any]:
    """A set or pod."""
    tags = {} if labels is None else {"labels": labels}
    return {
        "metadata": {"name": name, "namespace": "a", "uid": name, **tags, "ownerReferences": list(owners), **metadata}
    }


def begin(*objects: tuple[Any, dict[str, Any]], client: Any = None) -> ControllerBench:
    """A controller whose informers have these objects."""
    bench = ControllerBench(DeploymentController, client)
    result_of(bench.controller.listen())
    for ref, obj in objects:
        bench.informers.put(ref, obj)
    bench.queued()
    return bench


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, named("r", OWN), ["d"]),
        (named("r", OWN), named("r", owner("Deployment", "e", "e")), ["d", "e"]),
        (None, named("r", owner("Other", "d", "u")), []),
        (named("r", OWN), None, ["d"]),
        (None, named("r", labels=LABELS), ["d"]),
        (None, named("r", labels={"app": "y"}), []),
        (None, named("r", labels=LABELS, **GONE), []),
        (named("r", labels=LABELS), named("r", labels=LABELS, resourceVersion="2"), []),
        (named("r"), named("r", labels=LABELS), ["d"]),
        (named("r", owner("Other", "o", "o"), LABELS), named("r", labels=LABELS), ["d"]),
        (named("r", labels=LABELS), None, []),
    ],
)
def test_changes_of_sets_queue_deployments(old: Any, new: Any, queued: list[str]) -> None:
    """Those that own them, or owned them; of a set without an owner those that select it, if it is new to them."""
    other = deployment(selector={"matchLabels": {"app": "z"}})
    other["metadata"] |= {"name": "z", "uid": "z"}
    bench = begin((DEPLOYMENTS, deployment(selector=SELECTOR)), (DEPLOYMENTS, other))
    if old is not None:
        bench.informers.put(REPLICA_SETS, old)
        bench.queued()
    if new is None:
        bench.informers.informer(REPLICA_SETS).remove("a", "r")
    else:
        bench.informers.put(REPLICA_SETS, new)
    assert bench.queued() == [("a", each) for each in queued]


RECREATE = {"type": "Recreate"}


@pytest.mark.parametrize(
    ("strategy", "set_owners", "pod_owners", "deleted", "queued"),
    [
        (RECREATE, OWN, owner("ReplicaSet", "r", "r"), True, True),
        (RECREATE, OWN, owner("ReplicaSet", "r", "r"), False, False),
        ({}, OWN, owner("ReplicaSet", "r", "r"), True, False),
        (RECREATE, OWN, owner("Job", "r", "r"), True, False),
        (RECREATE, OWN, [], True, False),
        (RECREATE, OWN, owner("ReplicaSet", "missing", "r"), True, False),
        (RECREATE, [], owner("ReplicaSet", "r", "r"), True, False),
        (RECREATE, owner("Other", "d", "u"), owner("ReplicaSet", "r", "r"), True, False),
        (RECREATE, owner("Deployment", "missing", "u"), owner("ReplicaSet", "r", "r"), True, False),
    ],
)
def test_last_pod_of_a_recreated_deployment_queues_it(
    strategy: Any, set_owners: Any, pod_owners: Any, deleted: bool, queued: bool
) -> None:
    """Only its deletion, and only of the pods of its sets."""
    bench = begin(
        (DEPLOYMENTS, deployment(selector=SELECTOR, strategy=strategy)),
        (REPLICA_SETS, named("r", set_owners)),
        (PODS, named("p", pod_owners)),
    )
    if deleted:
        bench.informers.informer(PODS).remove("a", "p")
    else:
        bench.informers.put(PODS, named("p", pod_owners, resourceVersion="2"))
    assert bench.queued() == ([("a", "d")] if queued else [])


def test_changed_deployments_are_queued() -> None:
    bench = begin()
    bench.informers.put(DEPLOYMENTS, deployment())
    assert bench.queued() == [("a", "d")]


def owned(*args: Any, **more: Any) -> dict[str, Any]:
    """A set of the deployment."""
    each = replica_set(*args, **more)
    each["metadata"] |= {"labels": LABELS, "ownerReferences": OWN, "resourceVersion": "1"}
    return each


def ending(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], **GONE}}


MARKED = {KEYS.desired: "3", KEYS.most: "4"}
#: Deployment, sets and pods; then sizes of sets that are written, numbers of sets that are created, names of those that
#: are deleted, and the reasons of the conditions that are written.
RECONCILES: dict[str, tuple[dict[str, Any], list[Any], list[Any], dict[str, int], int, list[str], list[str] | None]] = {
    "first": (deployment(), [], [], {}, 1, [], ["MinimumReplicasUnavailable"]),
    "deleted": (
        ending(deployment(5)),
        [owned("n", 3, image="new"), owned("o", 1)],
        [],
        {},
        0,
        [],
        ["MinimumReplicasUnavailable"],
    ),
    "rolling": (
        deployment(),
        [owned("o", 3, annotations=MARKED), owned("n", 0, image="new", annotations=MARKED)],
        [],
        {"n": 1},
        0,
        [],
        ["MinimumReplicasAvailable"],
    ),
    "scaled": (
        deployment(5, progressDeadlineSeconds=600),
        [owned("n", 3, image="new", annotations=MARKED), owned("old", 0, annotations=MARKED)],
        [],
        {"n": 5},
        0,
        [],
        ["FoundNewReplicaSet", "MinimumReplicasUnavailable"],
    ),
    "scaled before it has a new set": (deployment(5), [owned("o", 3, annotations=MARKED)], [], {"o": 5}, 0, [], ["MinimumReplicasUnavailable"]),
    "paused": (
        deployment(2, paused=True, progressDeadlineSeconds=600, revisionHistoryLimit=0),
        [owned("o", 3), owned("p", 0)],
        [],
        {"o": 2},
        0,
        ["p"],
        ["DeploymentPaused", "MinimumReplicasAvailable"],
    ),
    "scaled, with surplus sets": (
        deployment(5, revisionHistoryLimit=0),
        [owned("n", 3, image="new", annotations=MARKED), owned("old", 0, annotations=MARKED)],
        [],
        {"n": 5},
        0,
        [],
        ["MinimumReplicasUnavailable"],
    ),
    "complete": (
        deployment(revisionHistoryLimit=0, status={"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "observedGeneration": 1}),
        [owned("n", 3, image="new", annotations=MARKED), owned("o", 0, annotations=MARKED)],
        [],
        {},
        0,
        ["o"],
        ["MinimumReplicasAvailable"],
    ),
    "incomplete": (
        deployment(revisionHistoryLimit=0),
        [owned("n", 3, 1, image="new", annotations=MARKED), owned("o", 0, annotations=MARKED)],
        [],
        {},
        0,
        [],
        ["MinimumReplicasUnavailable"],
    ),
    "recreated": (deployment(strategy=RECREATE), [owned("o", 3)], [], {"o": 0}, 0, [], ["MinimumReplicasAvailable"]),
    "recreated and complete": (
        deployment(strategy=RECREATE, revisionHistoryLimit=0, status={"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "observedGeneration": 1}),
        [owned("n", 3, image="new", annotations={KEYS.desired: "3", KEYS.most: "3"}), owned("o", 0)],
        [],
        {},
        0,
        ["o"],
        ["MinimumReplicasAvailable"],
    ),
    "recreated after it was complete, old pods run": (
        deployment(strategy=RECREATE, revisionHistoryLimit=0, status={"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3, "observedGeneration": 1}),
        [owned("o", 0)],
        [{"phase": "Running"}],
        {},
        0,
        [],
        ["MinimumReplicasUnavailable"],
    ),
    "recreated, old pods run": (
        deployment(strategy=RECREATE),
        [owned("o", 0)],
        [{"phase": "Succeeded"}, {"phase": "Running"}],
        {},
        0,
        [],
        ["MinimumReplicasUnavailable"],
    ),
    "recreated, old pods have ended": (
        deployment(strategy=RECREATE),
        [owned("o", 0)],
        [{"phase": "Succeeded"}, {"phase": "Failed"}],
        {},
        1,
        [],
        ["MinimumReplicasUnavailable"],
    ),
    "recreated set of another size": (
        deployment(strategy=RECREATE),
        [owned("o", 0), owned("n", 1, image="new", annotations={KEYS.desired: "3", KEYS.most: "3"})],
        [],
        {"n": 3},
        0,
        [],
        ["MinimumReplicasUnavailable"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECONCILES)
def test_reconcile(name: str) -> None:
    """What is done depends on deletion, pause, scale and strategy; old sets go when the rollout is complete."""
    top, sets, pods, sizes, created, deleted, reasons = RECONCILES[name]
    top = {**top, "spec": {**top["spec"], "selector": SELECTOR}}
    bench = begin((DEPLOYMENTS, top), *((REPLICA_SETS, each) for each in sets))
    for number, status in enumerate(pods):
        bench.informers.put(PODS, {**named(f"p{number}", owner("ReplicaSet", "o", "o")), "status": status})
    result_of(bench.controller.reconcile(("a", "d")))
    calls = list(zip(bench.client.calls, bench.client.bodies, strict=True))
    assert {
        called: body["spec"]["replicas"]
        for (verb, what, called), body in calls
        if (verb, what) == ("update", "replicasets")
        and body["spec"]["replicas"] != {e["metadata"]["name"]: e for e in sets}[called]["spec"]["replicas"]
    } == sizes
    assert len([verb for (verb, _, _), _ in calls if verb == "create"]) == created
    assert [called for (verb, _, called), _ in calls if verb == "delete"] == deleted
    statuses = [body["status"] for (_, what, _), body in calls if what == "deployments/status"]
    assert sorted(each["reason"] for each in statuses[-1]["conditions"]) == reasons


@pytest.mark.parametrize(("observed", "written"), [(None, True), (0, True), (1, False), (2, False)])
def test_deployment_that_selects_everything_is_refused(observed: int | None, written: bool) -> None:
    """With an Event; only the observed generation is written."""
    top = deployment(status={} if observed is None else {"observedGeneration": observed})
    bench = begin((DEPLOYMENTS, top))
    assert result_of(bench.controller.reconcile(("a", "d"))) is None
    note = "This deployment is selecting all pods. A non-empty selector is required."
    assert bench.events.notes == [("SelectingAll", note)]
    assert [body["status"] for body in bench.client.bodies] == ([{"observedGeneration": 1}] if written else [])


def test_deployment_that_is_gone() -> None:
    """One that the informer does not have, or the server no longer, is no error; others are retried."""
    bench = begin(client=recording_client(update=MISSING))
    assert result_of(bench.controller.reconcile(("a", "d"))) is None and not bench.client.calls
    bench.informers.put(DEPLOYMENTS, deployment(selector=SELECTOR))
    assert result_of(bench.controller.reconcile(("a", "d"))) is None
    bench = begin((DEPLOYMENTS, deployment(selector=SELECTOR)), client=recording_client(update=FORBIDDEN))
    with pytest.raises(ApiError):
        result_of(bench.controller.reconcile(("a", "d")))


@pytest.mark.parametrize("strategy", [{}, RECREATE])
def test_set_that_a_terminating_namespace_refuses(strategy: dict[str, str]) -> None:
    """Nothing more is done in this pass."""
    cause = {"causes": [{"reason": "NamespaceTerminating"}]}
    client = recording_client(create=ApiError(403, "Forbidden", "ends", details=cause))
    bench = begin((DEPLOYMENTS, deployment(selector=SELECTOR, strategy=strategy)), client=client)
    assert result_of(bench.controller.reconcile(("a", "d"))) is None
    assert [what for _, what, _ in bench.client.calls][:1] == ["replicasets"]


def test_recreated_deployment_marks_its_new_set_first() -> None:
    """Before old sets have ended."""
    top = deployment(selector=SELECTOR, strategy=RECREATE)
    bench = begin((DEPLOYMENTS, top), *((REPLICA_SETS, each) for each in (owned("o", 3), owned("n", 0, image="new"))))
    result_of(bench.controller.reconcile(("a", "d")))
    assert bench.client.calls[0] == ("update", "replicasets", "n")
    assert bench.client.bodies[0]["metadata"]["annotations"] == {KEYS.revision: "1"}
