"""The arithmetic of disruption budgets."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.disruption import budget as arithmetic
from orchd.controllers.disruption.budget import DELETION_TIMEOUT

NOW = 1_000_000.0
AT = "1970-01-12T13:46:40Z"


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "status": {}}


def budget(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "b"}, "spec": {}, "status": status}


@pytest.mark.parametrize(
    ("passed", "pending", "failed", "left"),
    [
        (0.0, {"evicted": AT}, [], DELETION_TIMEOUT),
        (DELETION_TIMEOUT, {"evicted": AT}, [], 0.0),
        (DELETION_TIMEOUT + 0.5, {}, ["evicted"], None),
    ],
)
def test_evictions_time_out(passed: float, pending: dict[str, str], failed: list[str], left: float | None) -> None:
    """An eviction counts for two minutes, unless its pod is being deleted; other pods are neither pending nor
    failed."""
    evicted = budget(disruptedPods={"evicted": AT, "leaving": AT, "gone": AT})
    pods = [pod("other"), pod("leaving", deletionTimestamp=AT), pod("evicted")]
    evictions = arithmetic.sort_evictions(evicted, pods, NOW + passed)
    assert (evictions[0], [each["metadata"]["name"] for each in evictions[1]], evictions[2]) == (pending, failed, left)


def test_an_eviction_without_a_time_has_timed_out() -> None:
    """An eviction without a time counts as one of the epoch's start."""
    evicted, pods = budget(disruptedPods={"p": ""}), [pod("p")]
    assert arithmetic.sort_evictions(evicted, pods, NOW)[1] == pods
    assert arithmetic.sort_evictions(evicted, pods, DELETION_TIMEOUT)[2] == 0.0


def test_status_after_a_failed_sync() -> None:
    """A failed sync allows no disruption and keeps the other numbers; without earlier ones they are zero."""
    first = arithmetic.make_failed_status(budget(), "no scale", NOW)
    assert {key: value for key, value in first.items() if key != "conditions"} == {
        "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, "disruptionsAllowed": 0,
    }  # fmt: skip
    (condition,) = first["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SyncFailed", "no scale")
    assert "observedGeneration" not in condition
    numbers = {"currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 4, "observedGeneration": 7}
    later = arithmetic.make_failed_status(budget(**numbers, disruptionsAllowed=1), "no scale", NOW)
    assert later == {**numbers, "disruptionsAllowed": 0, "conditions": later["conditions"]}
    assert later["conditions"][0]["observedGeneration"] == 7
    assert arithmetic.has_failed(budget(**later))


@pytest.mark.parametrize("expected", [0, 4])
def test_status_after_a_sync(expected: int) -> None:
    """Disruptions are allowed for pods beyond the desired ones, if any are expected; the failure before is
    forgotten."""
    before = budget(**arithmetic.make_failed_status(budget(), "no scale", NOW))
    fresh = arithmetic.next_status(before, expected=expected, desired=2, current=3, pending={}, now=NOW)
    assert (fresh["disruptionsAllowed"], fresh["conditions"][0]["status"]) == (
        (1, "True") if expected else (0, "False")
    )
    assert "observedGeneration" not in fresh and "observedGeneration" not in fresh["conditions"][0]
    assert not arithmetic.has_failed(budget(**fresh)) and not arithmetic.has_failed(budget())
