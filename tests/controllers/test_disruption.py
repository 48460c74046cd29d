"""Disruption budgets: the arithmetic by table, and the controller with the eviction subresource."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.disruption import budget as counting
from orchd.controllers.objects import DEPLOYMENTS, PODS
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.testing.doubles.server import run
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("disruption", "deployment", "replicaset")

BUDGETS = ResourceRef("policy", "v1", "poddisruptionbudgets")
EVENTS = ResourceRef("", "v1", "events")
DEFINITIONS = ResourceRef("apiextensions.orch.io", "v1", "customresourcedefinitions")
SQUADS = ResourceRef("example.com", "v1", "squads")


@pytest.mark.parametrize(
    ("spec", "pods", "scale", "expected", "healthy"),
    [
        ({"minAvailable": 2}, 5, 0, 5, 2),
        ({"minAvailable": "50%"}, 5, 5, 5, 3),
        ({"minAvailable": "0%"}, 5, 5, 5, 0),
        ({"maxUnavailable": 2}, 5, 7, 7, 5),
        ({"maxUnavailable": 9}, 5, 7, 7, 0),
        ({"maxUnavailable": "30%"}, 5, 7, 7, 4),
        ({}, 5, 7, 0, 0),
    ],
)
def test_desired_and_expected_counts(spec: dict[str, Any], pods: int, scale: int, expected: int, healthy: int) -> None:
    """Integers of minAvailable refer to the pods, percentages and maxUnavailable to the owners' sizes; percentages are
    rounded up."""
    assert counting.compute_desired({"metadata": {}, "spec": spec}, pods, scale) == (expected, healthy)


def budget(selector: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": selector or {"a": "b"}}, **spec}}


def numbers(cluster: Cluster) -> tuple[int, int, int, int]:
    """Expected, desired and healthy pods, and the allowed disruptions."""
    cluster.settle()
    budget = cluster.get(BUDGETS, "b")
    assert budget is not None
    status = budget["status"]
    return status["expectedPods"], status["desiredHealthy"], status["currentHealthy"], status["disruptionsAllowed"]


def deployment(replicas: int) -> dict[str, Any]:
    selector = {"matchLabels": {"a": "b"}}
    return {
        "metadata": {"name": "d"},
        "spec": {"replicas": replicas, "selector": selector, "template": template({"a": "b"})},
    }


def test_expected_count_is_the_deployments_size(cluster: Cluster) -> None:
    """The expected size is the deployment's, not that of its sets; the condition says whether disruptions are
    allowed."""
    cluster.create(DEPLOYMENTS, deployment(4))
    cluster.settle()
    cluster.create(BUDGETS, budget(maxUnavailable="25%"))
    assert numbers(cluster) == (4, 3, 0, 0)
    cluster.make_ready()
    assert numbers(cluster) == (4, 3, 4, 1)
    stored_budget = cluster.get(BUDGETS, "b")
    assert stored_budget is not None
    assert [
        (c["type"], c["status"], c["reason"], c["observedGeneration"]) for c in stored_budget["status"]["conditions"]
    ] == [("DisruptionAllowed", "True", "SufficientPods", 1)]
    cluster.patch(DEPLOYMENTS, "d", {"spec": {"replicas": 2}})
    assert numbers(cluster)[:2] == (2, 1)


def evict(cluster: Cluster, name: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "a"}}
    run(cluster.client.create(PODS, "a", body, name=name, subresource="eviction"))


def test_eviction_uses_up_the_allowance_until_the_pod_is_replaced(cluster: Cluster) -> None:
    """An eviction reduces the allowed disruptions; they are restored when the replacement pod is ready."""
    cluster.create(DEPLOYMENTS, deployment(3))
    cluster.settle()
    cluster.create(BUDGETS, budget(minAvailable=2))
    cluster.make_ready()
    assert numbers(cluster) == (3, 2, 3, 1)
    first, second, _ = cluster.names(PODS)
    evict(cluster, first)
    with pytest.raises(ApiError) as caught:
        evict(cluster, second)
    assert caught.value.code == 429
    assert numbers(cluster) == (3, 2, 2, 0)
    cluster.make_ready()
    assert numbers(cluster) == (3, 2, 3, 1)
    stored_budget = cluster.get(BUDGETS, "b")
    assert stored_budget is not None and "disruptedPods" not in stored_budget["status"]
    evict(cluster, second)


def test_eviction_without_deletion_expires_after_two_minutes(cluster: Cluster) -> None:
    """Two minutes after an eviction a pod that still exists counts as healthy again, with an Event."""
    cluster.create(PODS, {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": template({})["spec"]})
    cluster.create(BUDGETS, budget(minAvailable=0))
    cluster.make_ready()
    stored_budget = cluster.get(BUDGETS, "b")
    assert stored_budget is not None
    at = stored_budget["status"]["conditions"][0]["lastTransitionTime"]
    cluster.patch(BUDGETS, "b", {"status": {"disruptedPods": {"p": at}}}, subresource="status")
    assert numbers(cluster) == (1, 0, 0, 0)
    cluster.settle(130)
    assert numbers(cluster) == (1, 0, 1, 1)
    assert "NotDeleted" in [e["reason"] for e in cluster.items(EVENTS)]


def test_budget_without_pods_allows_nothing(cluster: Cluster) -> None:
    """A budget without pods allows no disruptions, with an Event."""
    cluster.create(BUDGETS, budget(maxUnavailable=1))
    assert numbers(cluster) == (0, 0, 0, 0)
    assert [e["message"] for e in cluster.items(EVENTS)] == ["No matching pods found"]


def test_unknown_owner_size_allows_no_eviction(cluster: Cluster) -> None:
    """If an owner's size is unknown no disruption is allowed, and the condition has the reason."""
    owner = {"apiVersion": "example.com/v1", "kind": "Squad", "name": "s", "uid": "1", "controller": True}
    pod = {"metadata": {"name": "p", "labels": {"a": "b"}, "ownerReferences": [owner]}, "spec": template({})["spec"]}
    cluster.create(PODS, pod)
    cluster.create(BUDGETS, budget(maxUnavailable=1))
    cluster.settle(0.01)
    stored_budget = cluster.get(BUDGETS, "b")
    assert stored_budget is not None
    (condition,) = stored_budget["status"]["conditions"]
    assert (condition["reason"], condition["message"]) == (
        "SyncFailed",
        'no matches for kind "Squad" in version "example.com/v1"',
    )


def test_custom_owner_is_read_through_its_scale(cluster: Cluster) -> None:
    """The size of a custom owner is read through its scale subresource."""
    version = {
        "name": "v1", "served": True, "storage": True,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-orch-preserve-unknown-fields": True}},
    }  # fmt: skip
    names = {"plural": "squads", "singular": "squad", "kind": "Squad", "listKind": "SquadList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    cluster.create(DEFINITIONS, {"metadata": {"name": "squads.example.com"}, "spec": spec}, "")
    cluster.settle(2)
    squad = {"apiVersion": "example.com/v1", "kind": "Squad", "metadata": {"name": "s"}, "spec": {"replicas": 4}}
    uid = cluster.create(SQUADS, squad)["metadata"]["uid"]
    owner = {"apiVersion": "example.com/v1", "kind": "Squad", "name": "s", "uid": uid, "controller": True}
    for number in range(3):
        metadata = {"name": f"p{number}", "labels": {"a": "b"}, "ownerReferences": [owner]}
        cluster.create(PODS, {"metadata": metadata, "spec": template({})["spec"]})
    cluster.create(BUDGETS, budget(minAvailable="50%"))
    cluster.make_ready()
    assert numbers(cluster) == (4, 2, 3, 1)


def test_budget_that_expects_no_pods_allows_nothing() -> None:
    """Without minAvailable and maxUnavailable no pods are expected, and none may be evicted."""
    status = counting.next_status(budget(), expected=0, desired=0, current=3, pending={}, now=0.0)
    assert (status["disruptionsAllowed"], status["conditions"][0]["status"]) == (0, "False")


@pytest.mark.parametrize(
    ("age", "deleting", "pending", "failed", "left"),
    [(100.0, False, True, False, 20.0), (121.0, False, False, True, None), (121.0, True, False, False, None)],
)
def test_evictions_time_out_unless_the_pod_terminates(
    age: float, deleting: bool, pending: bool, failed: bool, left: float | None
) -> None:
    """An eviction that does not terminate the pod within two minutes is dropped."""
    now = 1_700_000_000.0
    metadata = {"name": "p", **({"deletionTimestamp": timestamp(now)} if deleting else {})}
    found = {**budget(), "status": {"disruptedPods": {"p": timestamp(now - age)}}}
    result = counting.sort_evictions(found, [{"metadata": metadata}], now)
    assert (bool(result[0]), bool(result[1]), result[2]) == (pending, failed, left)
