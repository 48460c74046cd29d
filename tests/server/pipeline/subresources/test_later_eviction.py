"""Evictions in release 1.35: the condition that announces them, and unhealthy pods that may always be evicted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.doubles.server import make_server, run
from tests.server.pipeline.subresources.test_pod_endpoints import BUDGETS, MERGE, PODS, allow, evict, pod


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Any]:
    """``call("GET", path, body)`` returns the response of a server of release 1.35."""
    server = make_server(tmp_path, "--emulated-version=1.35", "--disable-admission-plugins=ServiceAccount")

    def send(method: str, path: str, body: Any = None, **more: Any) -> Any:
        return run(server.request(method, path, body=body, **more))

    send("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
    try:
        yield send
    finally:
        server.stop()


def start(call: Any, ready: str, **spec: Any) -> None:
    """A running pod that stays with a finalizer, and a budget for it."""
    waiting = pod("p", "n")
    waiting["metadata"]["finalizers"] = ["example.com/wait"]
    assert call("POST", PODS, waiting).code == 201
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    assert call("PATCH", f"{PODS}/p/status", {"status": status}, headers=MERGE).code == 200
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}, **spec}
    assert call("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec}).code == 201


def targets(call: Any) -> list[Any]:
    """Status, reason and message of the pod's condition DisruptionTarget."""
    conditions = call("GET", f"{PODS}/p").json["status"]["conditions"]
    return [(c["status"], c["reason"], c["message"]) for c in conditions if c["type"] == "DisruptionTarget"]


def test_evicted_pod_says_why_it_is_deleted(call: Any) -> None:
    """The condition is set before the pod is deleted, in a write of its own, and no manager owns it."""
    start(call, "True")
    allow(call, 1)
    before = call("GET", f"{PODS}/p").json["metadata"]
    assert evict(call, "p", preconditions={"resourceVersion": before["resourceVersion"]}).code == 201
    assert targets(call) == [("True", "EvictionByEvictionAPI", "Eviction API: evicting")]
    after = call("GET", f"{PODS}/p").json["metadata"]
    assert after["deletionTimestamp"]
    assert after["managedFields"] == before["managedFields"]
    assert int(after["resourceVersion"]) >= int(before["resourceVersion"]) + 2


def test_refused_and_dry_evictions_leave_the_pod(call: Any) -> None:
    """Neither a refused eviction nor a dry run sets the condition."""
    start(call, "True")
    allow(call, 0, healthy=1)
    assert evict(call, "p").code == 429
    allow(call, 1)
    assert evict(call, "p", dryRun=["All"]).code == 201
    wrong = evict(call, "p", preconditions={"uid": "another"})
    assert wrong.code == 409
    assert targets(call) == []


@pytest.mark.parametrize(("policy", "code"), [({}, 429), ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, 201)])
def test_unhealthy_pods_may_always_be_evicted(call: Any, policy: dict[str, str], code: int) -> None:
    """With AlwaysAllow a pod that is not ready is evicted although too few pods are healthy, and the budget stays as it
    is."""
    start(call, "False", **policy)
    allow(call, 0, healthy=0)
    assert evict(call, "p").code == code
    assert call("GET", f"{BUDGETS}/b").json["status"].get("disruptedPods") is None
