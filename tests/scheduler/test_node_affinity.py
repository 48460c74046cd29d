"""Node affinity of pods and of a profile: required and preferred terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchd.kinds.release import SPECIFICATION
from orchd.scheduler.framework.refusals import Refusals
from orchd.scheduler.retries import node_changes
from orchd.scheduler.values import Code, CycleState, Status
from tests.scheduler.scheduler_support import SchedulerHarness, node, pod

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(key: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def preference(weight: int, key: str, *values: str) -> Object:
    return {"weight": weight, "preference": term(key, *values)}


def harness_with(added: Object | None = None) -> SchedulerHarness:
    """A scheduler whose profile adds an affinity, with nodes on two sorts of disks in three rooms."""
    arguments = [{"name": "NodeAffinity", "args": {"addedAffinity": added}}] if added else []
    harness = SchedulerHarness({"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": arguments}]})
    for name, disk, room in (("a", "ssd", "1"), ("b", "hdd", "2"), ("c", "ssd", "3"), ("d", "none", "4")):
        harness.put(node(name, labels={"disk": disk, "room": room}))
    return harness


def scores(harness: SchedulerHarness, spec: Object) -> dict[str, int]:
    """The scores of the plugin, which are the same by columns and node by node."""
    snapshot = harness.scheduler.snapshot
    plugin: Any = harness.scheduler.lanes["default-scheduler"].profile.plugins["NodeAffinity"]
    incoming = harness.scheduler.templates.pod(pod("new", affinity={"nodeAffinity": spec}))
    rows = snapshot.rows()
    names = [snapshot.name_of(row) for row in rows.tolist()]
    plain = [plugin.score(CycleState(), incoming, snapshot.node(row)) for row in rows.tolist()]
    compiled = plugin.compile_score(CycleState(), incoming)
    columns = [compiled] * len(names) if isinstance(compiled, int) else compiled.scores(rows).tolist()
    assert columns == plain
    return dict(sorted(zip(names, plain, strict=True)))


@pytest.mark.parametrize(
    "added, own, expected",
    [
        ([], [], (0, 0, 0, 0)),
        ([], [preference(3, "disk", "ssd")], (3, 0, 3, 0)),
        ([], [preference(3, "disk", "ssd"), preference(5, "room", "2", "3")], (3, 5, 8, 0)),
        ([preference(7, "disk", "hdd")], [], (0, 7, 0, 0)),
        ([preference(7, "disk", "hdd"), preference(1, "room", "1")], [preference(3, "disk", "ssd")], (4, 7, 3, 0)),
        ([{"weight": 7, "preference": {}}], [], (0, 0, 0, 0)),
    ],
)
def test_preferences(added: list[Object], own: list[Object], expected: tuple[int, ...]) -> None:
    """The weights of the preferences that a node meets are added, those of the profile too."""
    harness = harness_with({PREFERRED: added} if added else None)
    assert tuple(scores(harness, {PREFERRED: own}).values()) == expected


@pytest.mark.parametrize(
    "added, own, where",
    [
        (None, {"nodeSelectorTerms": [term("room", "2")]}, "b"),
        ({"nodeSelectorTerms": [term("room", "3")]}, None, "c"),
        ({"nodeSelectorTerms": [term("disk", "ssd")]}, {"nodeSelectorTerms": [term("room", "3", "2")]}, "c"),
        ({"nodeSelectorTerms": [term("room", "1")]}, {"nodeSelectorTerms": [term("room", "2")]}, ""),
    ],
)
def test_required_terms(added: Object | None, own: Object | None, where: str) -> None:
    """A node has to meet the terms of the pod and those of the profile; the message tells them apart."""
    harness = harness_with({REQUIRED: added} if added else None)
    harness.put(pod("p", affinity={"nodeAffinity": {REQUIRED: own}} if own else {}))
    harness.settle(2)
    assert harness.where("p") == where
    if not where:
        message = harness.message("p")
        assert "didn't match scheduler-enforced node affinity" in message
        assert "didn't match Pod's node affinity/selector" in message


def test_reasons_of_rows() -> None:
    """A reason for the pod as a whole holds for all rows, one of a single row before those of columns."""
    harness = harness_with()
    snapshot = harness.scheduler.snapshot
    rows = snapshot.rows()
    whole = Status(Code.UNSCHEDULABLE, ("all",), "P")
    single = Status(Code.UNSCHEDULABLE, ("one",), "Q")
    everywhere = Refusals(snapshot, rows, [], {}, whole)
    assert everywhere.statuses() == dict.fromkeys(rows.tolist(), whole)
    assert [everywhere.status(row) for row in rows.tolist()] == [whole] * len(rows)
    first, *others = rows.tolist()
    incoming = harness.scheduler.templates.pod(
        pod("p", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term("x", "y")]}}})
    )
    plugin: Any = harness.scheduler.lanes["default-scheduler"].profile.plugins["NodeAffinity"]
    judge = plugin.compile_filter(CycleState(), incoming)
    some = Refusals(snapshot, rows, [("NodeAffinity", judge, judge.codes(None))], {first: single})
    assert some.status(first) == single
    assert {some.status(row) for row in others} == {Status(Code.UNRESOLVABLE, judge.status(1).reasons, "NodeAffinity")}
    none = Refusals(snapshot, rows, [("NodeAffinity", judge, np.zeros(snapshot.size, dtype=np.int64))], {})
    assert [none.status(row) for row in rows.tolist()] == [None] * len(rows)


@pytest.mark.parametrize(
    "changes, labels",
    [
        ({}, []),
        ({"labels": {"x": "y"}}, ["NodeLabelChange"]),
        ({"cpu": 9}, ["NodeAllocatableChange"]),
        ({"cpu": 9, "labels": {"x": "y"}}, ["NodeAllocatableChange", "NodeLabelChange"]),
    ],
)
def test_changes_of_nodes(changes: Object, labels: list[str]) -> None:
    """What changed of a node that may help pods, the most important first."""
    harness = SchedulerHarness(release=SPECIFICATION)
    harness.put(node("n", cpu=2))
    before = harness.scheduler.snapshot.node(harness.scheduler.snapshot.rows()[0]).facts
    harness.put(node("n", **{"cpu": 2, **changes}))
    after = harness.scheduler.snapshot.node(harness.scheduler.snapshot.rows()[0]).facts
    assert [event.label for event in node_changes(before, after)] == labels
    assert len(node_changes(None, after)) == 1
