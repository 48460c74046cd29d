"""Binding and eviction subresources of pods."""

from __future__ import annotations

from typing import Any

import pytest

PODS = "/api/v1/namespaces/a/pods"
BUDGETS = "/apis/policy/v1/namespaces/a/poddisruptionbudgets"
MERGE = {"content-type": "application/merge-patch+json"}


def pod(name: str, node: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": False}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name, "labels": {"app": "x"}}, "spec": spec}


def binding(name: str, node: str = "n", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}


# -- binding


@pytest.mark.parametrize("path", [f"{PODS}/p/binding", "/api/v1/namespaces/a/bindings"])
def test_binding_sets_the_node(call: Any, path: str) -> None:
    """Both endpoints set the node, copy annotations and set the PodScheduled condition."""
    call("POST", PODS, pod("p"))
    response = call("POST", path, binding("p", annotations={"k": "v"}))
    assert (response.code, response.json["status"]) == (201, "Success")
    live = call("GET", f"{PODS}/p").json
    assert live["spec"]["nodeName"] == "n"
    assert live["metadata"]["annotations"] == {"k": "v"}
    assert [(c["type"], c["status"]) for c in live["status"]["conditions"]] == [("PodScheduled", "True")]


def test_second_binding_is_a_conflict(call: Any) -> None:
    """Binding a bound pod is a conflict."""
    call("POST", PODS, pod("p", "n"))
    response = call("POST", f"{PODS}/p/binding", binding("p", "m"))
    assert response.code == 409
    assert response.json["details"] == {"name": "p", "kind": "pods/binding"}


def test_dry_run_binds_nothing(call: Any) -> None:
    """A dry run answers 201 and leaves the pod without a node."""
    call("POST", PODS, pod("p"))
    assert call("POST", f"{PODS}/p/binding?dryRun=All", binding("p")).code == 201
    assert "nodeName" not in call("GET", f"{PODS}/p").json["spec"]


def test_binding_without_a_name_is_400(call: Any) -> None:
    response = call("POST", "/api/v1/namespaces/a/bindings", binding(""))
    assert (response.code, response.json["message"]) == (400, "Name parameter required.")


def test_binding_checks_the_resource_version(call: Any) -> None:
    """A resourceVersion in the Binding must be that of the pod."""
    call("POST", PODS, pod("p"))
    assert call("POST", f"{PODS}/p/binding", binding("p", resourceVersion="1")).code == 409


# -- eviction


def evict(call: Any, name: str, **options: Any) -> Any:
    body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options:
        body["deleteOptions"] = options
    return call("POST", f"{PODS}/{name}/eviction", body)


@pytest.fixture
def running(call: Any) -> None:
    """A ready pod with a budget that allows one disruption."""
    call("POST", PODS, pod("p", "n"))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    assert call("PATCH", f"{PODS}/p/status", {"status": status}, headers=MERGE).code == 200
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    assert call("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec}).code == 201
    allow(call, 1)


def allow(call: Any, disruptions: int, healthy: int = 2) -> None:
    status = {
        "observedGeneration": 1, "disruptionsAllowed": disruptions, "currentHealthy": healthy, "desiredHealthy": 1,
        "expectedPods": 2,
    }  # fmt: skip
    assert call("PATCH", f"{BUDGETS}/b/status", {"status": status}, headers=MERGE).code == 200


def test_eviction_uses_the_budgets_allowance(call: Any, running: None) -> None:
    """The budget records the pod, allows one disruption less and sets its condition; the pod is deleted."""
    assert evict(call, "p", gracePeriodSeconds=0).code == 201
    status = call("GET", f"{BUDGETS}/b").json["status"]
    assert list(status["disruptedPods"]) == ["p"]
    assert status["disruptionsAllowed"] == 0
    assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
        ("DisruptionAllowed", "False", "InsufficientPods")
    ]
    assert call("GET", f"{PODS}/p").code == 404


def test_exhausted_budget_is_429(call: Any, running: None) -> None:
    """The 429 has the numbers as a cause and no Retry-After."""
    allow(call, 0, healthy=1)
    response = evict(call, "p")
    assert response.code == 429
    assert (
        response.json["details"]["causes"][0]["message"]
        == "The disruption budget b needs 1 healthy pods and has 1 currently"
    )
    assert "Retry-After" not in response.headers


def test_unobserved_budget_is_429_with_retry_after(call: Any, running: None) -> None:
    """A budget that its controller has not observed gives 429 with Retry-After of ten seconds."""
    spec = {"spec": {"minAvailable": 2}}
    assert call("PATCH", f"{BUDGETS}/b", spec, headers=MERGE).code == 200
    response = evict(call, "p")
    assert (response.code, response.headers["Retry-After"]) == (429, "10")


def test_unready_pod_is_evicted_while_enough_are_healthy(call: Any, running: None) -> None:
    """An unready pod uses nothing of the budget while enough pods are healthy."""
    status = {"conditions": [{"type": "Ready", "status": "False"}]}
    call("PATCH", f"{PODS}/p/status", {"status": status}, headers=MERGE)
    allow(call, 0)
    assert evict(call, "p").code == 201
    assert call("GET", f"{BUDGETS}/b").json["status"].get("disruptedPods") is None


def test_dry_run_evicts_nothing(call: Any, running: None) -> None:
    """A dry run answers 201 and changes neither pod nor budget."""
    assert evict(call, "p", dryRun=["All"]).code == 201
    assert call("GET", f"{BUDGETS}/b").json["status"]["disruptionsAllowed"] == 1
    assert "deletionTimestamp" not in call("GET", f"{PODS}/p").json["metadata"]


def test_pending_pod_is_evicted_regardless_of_budgets(call: Any, running: None) -> None:
    """A pending pod is evicted although the budget is exhausted."""
    allow(call, 0, healthy=1)
    call("POST", PODS, pod("q"))
    assert evict(call, "q").code == 201
    assert call("GET", f"{PODS}/q").code == 404


def test_eviction_with_two_budgets_is_500(call: Any, running: None) -> None:
    """A pod that two budgets select cannot be evicted."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    call("POST", BUDGETS, {"metadata": {"name": "c"}, "spec": spec})
    assert evict(call, "p").code == 500
