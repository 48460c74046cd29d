"""Incremental totals of a quota's usage."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import PODS, SERVICES
from orchd.controllers.resourcequota.charges import Charges, ChargesOfQuotas
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog

CATALOG = builtin_catalog(ORCH)
NOW = 1_700_000_000.0


def pod(name: str, cpu: str = "100m", **changes: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
    return {"metadata": {"name": name, "namespace": "a", **changes}, "spec": spec, "status": {"phase": "Running"}}


def concerned(ref: ResourceRef, *names: str) -> Any:
    resource = CATALOG.resource(ref.group, ref.version, ref.plural)
    assert resource is not None
    return {ref: (resource, list(names))}


def quota(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "q", "namespace": "a"}, "spec": spec}


def total(charges: Charges, now: float = NOW) -> dict[str, str]:
    return {name: str(value) for name, value in charges.total(PODS, now).items()}


def test_total_follows_every_change() -> None:
    """Objects that are created, changed and deleted are counted once; each change returns whether the total changed."""
    charges = Charges(quota(), concerned(PODS, "pods", "requests.cpu"), ORCH)
    changes = [
        (pod("p"), True), (pod("q"), True), (pod("q", labels={"a": "b"}), False), (pod("p", "250m"), True),
    ]  # fmt: skip
    for obj, matters in changes:
        assert charges.put(PODS, ("a", obj["metadata"]["name"]), obj) is matters
    assert total(charges) == {"pods": "2", "requests.cpu": "350m"} and len(charges) == 2
    assert charges.put(PODS, ("a", "p"), None) and not charges.put(PODS, ("a", "p"), None)
    assert total(charges) == {"pods": "1", "requests.cpu": "100m"} and len(charges) == 1


def test_objects_outside_the_scopes_use_nothing() -> None:
    """Objects outside the quota's scopes use nothing until they are within them."""
    charges = Charges(quota(scopes=["BestEffort"]), concerned(PODS, "pods"), ORCH)
    assert charges.put(PODS, ("a", "p"), pod("p")) and total(charges) == {"pods": "0"}
    assert charges.put(PODS, ("a", "p"), {**pod("p"), "spec": {"containers": [{"name": "c"}]}})
    assert total(charges) == {"pods": "1"}


def test_overdue_pod_counts_only_as_an_object() -> None:
    """A pod that exceeds its grace period counts only towards the number of objects."""
    charges = Charges(quota(), concerned(PODS, "count/pods", "pods", "requests.cpu"), ORCH)
    going: dict[str, Any] = {
        "deletionTimestamp": datetime.fromtimestamp(NOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "deletionGracePeriodSeconds": 30,
    }
    charges.put(PODS, ("a", "p"), pod("p"))
    assert not charges.put(PODS, ("a", "p"), pod("p", **going))
    assert total(charges, NOW + 30) == {"count/pods": "1", "pods": "1", "requests.cpu": "100m"}
    assert total(charges, NOW + 31) == {"count/pods": "1", "pods": "0", "requests.cpu": "0"}
    charges.put(PODS, ("a", "p"), None)
    assert total(charges, NOW + 31) == {"count/pods": "0", "pods": "0", "requests.cpu": "0"}


def test_events_during_the_fill_win_over_the_list() -> None:
    """The state of an event is not replaced by an older list; incomplete totals and those of another spec are not
    returned."""
    every, found, one = ChargesOfQuotas(), concerned(PODS, "pods"), quota(hard={"pods": "5"})
    charges = Charges(one, found, ORCH)
    every.begin(charges)
    assert every.get(one, found) is None
    assert every.observe(PODS, ("a", "p"), None) == [] and every.observe(PODS, ("a", "q"), pod("q")) == [("a", "q")]
    for name in "pqr":
        assert every.fill(charges, PODS, pod(name))
    every.finish(charges)
    assert every.get(one, found) is charges and total(charges) == {"pods": "2"} and every.count(("a", "q")) == 2
    assert (
        every.get(quota(hard={"pods": "6"}), found) is None and every.get(one, concerned(SERVICES, "services")) is None
    )
    assert every.observe(PODS, ("b", "p"), pod("p")) == [] and every.observe(SERVICES, ("a", "s"), {}) == []
    every.forget(("a", "q"))
    assert every.get(one, found) is None and not every.fill(charges, PODS, pod("s"))
