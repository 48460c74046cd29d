"""The order in which surplus pods are deleted: each criterion decides between pods that are equal by the previous
ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from orchd.controllers.pods import deletion_order

COST = "cost"


def pod(
    name: str, *, node: str = "n", phase: str = "Running", ready: str = "True", cost: str = "", since: int = 10, restarts: int = 0, created: int = 10
) -> dict[str, Any]:  # fmt: skip
    metadata: dict[str, Any] = {"name": name, "creationTimestamp": f"2020-01-01T00:00:{created:02}Z"}
    if cost:
        metadata["annotations"] = {COST: cost}
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": f"2020-01-01T00:00:{since:02}Z"}
    status = {
        "phase": phase,
        "conditions": [condition],
        "containerStatuses": [{"restartCount": 0}, {"restartCount": restarts}],
    }
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": status}


# Each pod precedes the next one. Later criteria by which the next one would precede must not count.
ORDER = [
    pod("unassigned", node="", cost="9", created=1),
    pod("pending", phase="Pending", cost="9", created=1),
    pod("unknown", phase="Unknown", cost="9", created=1),
    pod("unready", ready="False", cost="9", created=1),
    pod("cheap", cost="-1", node="m", since=1, created=1),
    pod("default", since=1, created=1),
    pod("wrong-cost", cost="x", node="m", since=20, created=20, restarts=9),
    pod("young-ready", node="m", since=12, created=1),
    pod("restarted", node="m", restarts=2, created=1),
    pod("restarted-less", node="m", restarts=1, created=20),
    pod("young", node="m", created=12),
    pod("old", node="m", created=11),
    pod("dear", cost="1", since=20, restarts=9, created=20),
]


def test_pod_deletion_order() -> None:
    """Pods are deleted in this order: unassigned, not running, not ready, low deletion cost, many on the node, ready
    for a shorter time, more restarts, younger."""
    key = deletion_order(COST, {"n": 2, "m": 1})
    for first, second in pairwise(ORDER):
        assert key(first) < key(second), (first["metadata"]["name"], second["metadata"]["name"])
