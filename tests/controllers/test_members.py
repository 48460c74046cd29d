"""Counts of pods by owner, updated with every change, and the index of selectors."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from orchd.controllers.members import Census, Members
from orchd.controllers.pods import deletion_order
from orchd.controllers.selection import index_by_selector, list_selecting
from orchd.kinds.fields import spec
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.times import seconds_of
from orchd.testing.doubles.informers import MemoryInformer

COST = "example/cost"
_NEW = 1_700_000_000.0


def pod(
    name: str,
    *,
    owner: str = "o",
    kind: str = "ReplicaSet",
    node: str = "",
    ready: str = "",
    phase: str = "Running",
    deleting: bool = False,
    cost: str = "",
    **labels: str,
) -> dict[str, Any]:
    """`ready` is the time at which it became so."""
    metadata: dict[str, Any] = {"namespace": "a", "name": name, "uid": f"uid-{name}", "labels": labels}
    metadata["creationTimestamp"] = "2023-01-01T00:00:00Z"
    if owner:
        metadata["ownerReferences"] = [{"kind": kind, "name": owner, "uid": owner, "controller": True}]
    if deleting:
        metadata["deletionTimestamp"] = "2023-01-01T00:00:00Z"
    if cost:
        metadata["annotations"] = {COST: cost}
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": ready}] if ready else []
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase, "conditions": conditions}}


def census(members: Members, owner: str = "o") -> Census:
    return Census(members.of_owner("a", owner).classes.values())


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (pod("p", ready="2023-01-01T00:00:00Z"), (2, 1)),
        (pod("p", phase="Succeeded"), (1, 0)),
        (pod("p", phase="Failed"), (1, 0)),
        (pod("p", deleting=True, ready="2023-01-01T00:00:00Z"), (1, 0)),
        (pod("p", owner=""), (1, 0)),
        (pod("p", owner="other"), (1, 0)),
        (pod("p", kind="Job"), (1, 0)),
        (None, (1, 0)),
    ],
)
def test_counts_follow_pod_changes(changed: dict[str, Any] | None, expected: tuple[int, int]) -> None:
    """Active and ready pods of an owner after a change of one of its two pods."""
    members = Members("ReplicaSet", COST)
    first = pod("p")
    members.observe(None, first)
    members.observe(None, pod("q"))
    members.observe(first, changed)
    counts = census(members)
    assert (counts.active, counts.ready) == expected


def test_repeated_pod_counts_once() -> None:
    """After a relist, known pods are reported again; a pod of the same name with another uid replaces the old one."""
    members = Members("ReplicaSet", COST)
    members.observe(None, pod("p"))
    members.observe(None, pod("p"))
    assert census(members).active == 1
    again = pod("p")
    again["metadata"]["uid"] = "another"
    members.observe(pod("p"), again)
    assert [member.uid for member in census(members)] == ["another"]


def test_available_and_labeled_counts() -> None:
    """Pods count as available after minReadySeconds, and as labeled if they have all labels of the template."""
    members = Members("ReplicaSet", COST)
    members.observe(None, pod("p", ready="2023-11-14T22:13:20Z", a="b", c="d"))
    members.observe(None, pod("q", ready="2023-11-14T22:13:10Z", a="b"))
    members.observe(None, pod("r", a="b"))
    counts = census(members)
    assert [counts.count_available(least, _NEW) for least in (0, 5, 10, 11)] == [2, 1, 1, 0]
    assert [counts.count_labeled(labels) for labels in ({}, {"a": "b"}, {"c": "d"}, {"a": "d"})] == [3, 3, 1, 0]


def test_adopted_pod_counts_before_the_informer_has_it() -> None:
    """A pod that was adopted counts before the informer shows it."""
    members = Members("ReplicaSet", COST)
    members.observe(None, pod("p"))
    late = members.describe(pod("q", ready="2023-01-01T00:00:00Z"))
    census = Census(members.of_owner("a", "o").classes.values(), [late])
    assert (census.active, census.ready) == (2, 1)


def test_surplus_is_in_deletion_order() -> None:
    """The order is that of deletion for any number of pods."""
    random, members, pods = Random(3), Members("ReplicaSet", COST), []
    for number in range(200):
        times = ["", "2023-01-01T00:00:00Z", "2023-01-02T00:00:00Z"]
        found = pod(
            f"p{number}",
            node=random.choice(["", "m", "n"]),
            ready=random.choice(times),
            phase=random.choice(["Pending", "Running"]),
            cost=random.choice(["", "5", "-3", "x"]),
        )
        pods.append(found)
        members.observe(None, found)
    crowd = members.of_owner("a", "o").nodes
    assert crowd == {node: sum(1 for p in pods if spec(p)["nodeName"] == node) for node in ("", "m", "n")}
    key = deletion_order(COST, crowd)
    chosen = census(members).choose_surplus(50, crowd)
    assert [m.name for m in chosen] == [p["metadata"]["name"] for p in sorted(pods, key=key)[:50]]


def ranked(*pods: dict[str, Any], now: float | None) -> list[str]:
    members = Members("ReplicaSet", COST)
    for each in pods:
        members.observe(None, each)
    return [member.name for member in census(members).choose_surplus(len(pods), {}, now)]


def test_pods_of_about_the_same_age_go_in_random_order() -> None:
    """With a time given, ages of the same binary logarithm are equal: then the uid decides. Otherwise the youngest goes
    first."""
    # Seconds that each pod has been ready at the given time: 9 and 10 have the same logarithm in nanoseconds.
    now = seconds_of("2023-01-01T01:00:00Z")
    assert now is not None
    pods = (
        pod("b", ready="2023-01-01T00:59:51Z"),
        pod("a", ready="2023-01-01T00:59:50Z"),
        pod("old", ready="2023-01-01T00:00:00Z"),
        pod("new", ready="2023-01-01T00:59:59Z"),
    )
    assert ranked(*pods, now=None) == ["new", "b", "a", "old"]
    assert ranked(*pods, now=now) == ["new", "a", "b", "old"]


def test_cost_annotation_is_ignored_without_its_name() -> None:
    """The annotation ranks pods; without the name of the annotation it does not."""
    for cost, expected in ((COST, ["cheap", "dear"]), ("", ["dear", "cheap"])):
        members = Members("ReplicaSet", cost)
        for each in (
            pod("dear", cost="5", ready="2023-01-01T00:00:02Z"),
            pod("cheap", cost="-5", ready="2023-01-01T00:00:01Z"),
        ):
            members.observe(None, each)
        assert [member.name for member in census(members).choose_surplus(2, {})] == expected


def test_selecting_objects_are_found_by_pod_labels() -> None:
    """Each object whose selector matches is found once, in the pod's namespace only."""
    informer = MemoryInformer()
    selectors: dict[str, Any] = {
        "one": {"matchLabels": {"a": "b"}},
        "both": {"matchLabels": {"a": "b", "c": "d"}},
        "other": {"matchLabels": {"a": "c"}},
        "in": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]},
        "missing": {"matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]},
        "all": {},
        "none": None,
    }

    def select(obj: dict[str, Any]) -> LabelSelector:
        return LabelSelector.from_object(obj["spec"]["selector"])

    for within in ("a", "b"):
        for name, selector in selectors.items():
            informer.put({"metadata": {"namespace": within, "name": name}, "spec": {"selector": selector}})
    index_by_selector(informer, select)

    def found(**labels: str) -> list[tuple[str, str]]:
        chosen = list_selecting(informer, select, {"metadata": {"namespace": "a", "name": "p", "labels": labels}})
        return sorted((each["metadata"]["namespace"], each["metadata"]["name"]) for each in chosen)

    assert found(a="b", c="d") == [("a", "all"), ("a", "both"), ("a", "in"), ("a", "one")]
    assert found(a="b") == [("a", "all"), ("a", "in"), ("a", "missing"), ("a", "one")]
    assert found() == [("a", "all"), ("a", "missing")]


def test_groups_without_pods_are_dropped() -> None:
    """Owners come and go: nothing is kept of one whose last pod went, by deletion or to another owner."""
    members = Members("ReplicaSet", COST)
    nothing = members.of_owner("a", "absent")
    first, second = pod("x"), pod("x", owner="p")
    members.observe(None, first)
    assert members.of_owner("a", "o") is not nothing
    members.observe(first, second)
    assert members.of_owner("a", "o") is nothing
    members.observe(second, None)
    assert members.of_owner("a", "p") is nothing
