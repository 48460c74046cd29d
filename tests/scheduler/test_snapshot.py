"""The columns of the cluster after each change."""

from __future__ import annotations

from typing import Any
from weakref import getweakrefcount

import pytest

from orchd.kinds.objects import node_selectors
from orchd.kinds.release import SPECIFICATION
from orchd.scheduler.columns.changes import KEPT_CHANGES, ChangeLog
from orchd.scheduler.columns.labels import LabelColumn, Labels
from orchd.scheduler.columns.tallies import Contributions, Tallies
from orchd.scheduler.pods import PodTemplate, container_rule, template_facts
from orchd.scheduler.values import Columns
from tests.scheduler.scheduler_support import HOST, NODES, PODS, ZONE, SchedulerHarness, node, pod


def test_a_heartbeat_changes_no_row() -> None:
    """A node update without a relevant difference changes no row."""
    harness = SchedulerHarness()
    harness.put(node("n1", zone="a"))
    before = harness.scheduler.snapshot.version
    again = node("n1", zone="a")
    again["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    harness.put(again)
    assert harness.scheduler.snapshot.version == before
    assert harness.scheduler.snapshot.nodes[0] is not None and harness.scheduler.snapshot.nodes[0].conditions == {
        "Ready": "True"
    }
    harness.put(node("n1", zone="b"))
    assert harness.scheduler.snapshot.version > before


def test_keys_of_selectors_do_not_accumulate(monkeypatch: pytest.MonkeyPatch) -> None:
    """No columns are made for keys that no node has, and they are kept for a bounded number of the others."""
    labels, built, build = Labels(2), list[str](), Labels._build

    def note(labels: Labels, key: str) -> LabelColumn:
        built.append(key)
        return build(labels, key)

    monkeypatch.setattr(Labels, "_build", note)
    labels.put(0, {f"k{n}": "v" for n in range(2000)}, "n1")
    labels.put(1, {"k0": "v"}, "n2")
    exists = [{"key": f"none{n}", "operator": "Exists"} for n in range(2000)]
    assert labels.match_labels({f"absent{n}": "v" for n in range(2000)}).tolist() == [False, False]
    assert labels.match_terms([{"matchExpressions": exists}]).tolist() == [False, False]
    assert all(labels.column(f"none{n}").rows.tolist() == [-1, -1] for n in range(2000)) and not built
    for n in range(2000):
        assert labels.match_labels({f"k{n}": "v", "k0": "v"}).tolist() == [True, n == 0]
    assert len(labels._columns) == 1000
    assert labels.match_labels({"k1999": "w"}).tolist() == [False, False]
    # Labels of nodes are compared instead of columns of many keys.
    built.clear()
    assert labels.match_labels({f"k{n}": "v" for n in range(2000)}).tolist() == [True, False]
    assert labels.match_labels({f"k{n}": "v" if n else "w" for n in range(2000)}).tolist() == [False, False]
    assert not built


def test_many_terms_are_found_by_labels_of_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod may have thousands of terms of node affinity."""
    labels, compared, matches = Labels(2), list[object](), node_selectors._matches

    def note(term: Any, *node: Any) -> bool:
        compared.append(term)
        return matches(term, *node)

    monkeypatch.setattr(node_selectors, "_matches", note)
    labels.put(0, {"a": "1"}, "n1")
    labels.put(1, {"a": "2"}, "n2")

    def term(key: str, operator: str, *values: str) -> dict[str, Any]:
        return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}

    none = [term("a", "In", f"v{n}") for n in range(1000)] + [term("b", "Gt", f"{n}") for n in range(1000)]
    assert labels.match_terms([*none, term("a", "In", "9", "2"), term("a", "Gt", "3")]).tolist() == [False, True]
    assert labels.match_terms([*none, term("b", "NotIn", "9")]).tolist() == [True, True]
    assert len(compared) < 10


def test_labels_that_come_and_go() -> None:
    """Columns follow the labels of nodes, also of keys that no node had for a while."""
    labels = Labels(2)
    assert labels.column("a").rows.tolist() == [-1, -1] and not labels.anywhere("a")
    labels.put(0, {"a": "1"}, "n1")
    labels.put(1, {"a": "1", "b": "2"}, "n2")
    assert labels.column("a").rows.tolist() == [0, 0] and labels.anywhere("b")
    labels.put(0, {"b": "3"}, "n1")
    assert (labels.column("a").rows.tolist(), labels.column("b").rows.tolist()) == ([-1, 0], [0, 1])
    labels.put(0, {"b": "3"}, "n1")
    labels.remove(1)
    assert not labels.anywhere("a") and labels.column("a").rows.tolist() == [-1, -1] and labels.anywhere("b")
    labels.grow(4)
    labels.put(3, {"a": "4"}, "n4")
    assert labels.column("a").rows.tolist() == [-1, -1, -1, 0]
    assert labels.match_labels({"b": "3"}).tolist() == [True, False, False, False]


def test_columns_grow_with_the_cluster() -> None:
    """Cached values of labels and pods are kept when the columns are extended."""
    harness = SchedulerHarness()
    harness.put(node("n0", zone="a"), pod("p", cpu=1, on="n0"))
    column = harness.scheduler.snapshot.label(ZONE)
    tally = harness.scheduler.snapshot.tally(lambda template: [("", 1)])
    harness.put(*(node(f"n{n}", zone="b") for n in range(1, 200)), pod("q", cpu=2, on="n150"))
    at = harness.scheduler.snapshot
    assert at.count == 200 and at.size >= 200
    assert len(column) < at.size == len(at.label(ZONE))
    assert at.labels.column(ZONE).values[int(at.label(ZONE)[at.row_of("n150")])] == "b"
    assert at.requested[0, at.row_of("n0")] == 1000 and at.requested[0, at.row_of("n150")] == 2000
    assert tally.rows[""][at.row_of("n0")] == tally.rows[""][at.row_of("n150")] == 1


def test_columns_of_many_resources_are_created_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node with thousands of resources copies the columns once, not once for each."""
    harness, copies = SchedulerHarness(), list[int]()
    at = harness.scheduler.snapshot
    widened = at._widened

    def count(column: Any) -> Any:
        copies.append(len(column))
        return widened(column)

    monkeypatch.setattr(at, "_widened", count)
    large = node("n0")
    large["status"]["allocatable"].update({f"example.com/r{n}": "3" for n in range(2000)})
    harness.put(large)
    assert len(copies) == 2
    assert at.allocatable[at.resources["example.com/r1999"], at.row_of("n0")] == 3
    assert at.allocatable[0, at.row_of("n0")] > 0 and len(at.requested) == len(at.resources)


def test_requests_for_unknown_resources_are_counted_when_a_node_has_them() -> None:
    """Thousands of names that no node has get no columns. Pods that were there before are counted, unless they are
    gone."""
    harness = SchedulerHarness()
    at = harness.scheduler.snapshot
    harness.put(node("n0"), node("n1"))
    for name, on in (("p", "n0"), ("gone", "n0"), ("q", "n1"), ("early", "n2")):
        asking = pod(name, on=on)
        asking["spec"]["containers"][0]["resources"] = {"requests": {f"example.com/r{n}": "2" for n in range(2000)}}
        harness.put(asking)
    assert len(at.requested) == len(at.resources) == 3
    harness.informers.informer(PODS).remove("ns", "gone")
    for name in ("n0", "n2"):
        device = node(name)
        device["status"]["allocatable"]["example.com/r7"] = "5"
        harness.put(device)
    index = at.resource("example.com/r7")
    assert [at.requested[index, at.row_of(name)] for name in ("n0", "n1", "n2")] == [2, 2, 2]
    other = at.resource("example.com/r8")
    assert at.requested[other, at.row_of("n1")] == 2 and len(at.resources) == len(at.requested) == 5
    for name in "pq":
        harness.informers.informer(PODS).remove("ns", name)
    last = at.resource("example.com/r9")
    assert at.requested[index].sum() == at.requested[last].sum() == 2


def test_long_lists_of_taints_are_dropped_with_their_last_node() -> None:
    """Each template is compared with every list. Pods are judged by the list that takes its place."""
    harness = SchedulerHarness()
    at = harness.scheduler.snapshot

    def taints(first: int, effect: str = "PreferNoSchedule") -> list[dict[str, str]]:
        return [{"key": f"k{n}", "effect": effect} for n in range(first, first + 100)]

    harness.put(node("n0", taints=taints(0)), node("n1", taints=taints(0)), pod("a", cpu=1))
    harness.settle()
    number = at.taints[at.row_of("n0")]
    harness.put(node("n0"))
    assert at.taint_lists[number] == tuple(taints(0)) and at.taints[at.row_of("n1")] == number
    harness.put(node("n1", taints=taints(0)[:3]))
    assert at.taint_lists[number] == () and at.taint_lists[at.taints[at.row_of("n1")]] == tuple(taints(0)[:3])
    harness.put(node("n0", taints=taints(500, "NoSchedule")), node("n1", taints=taints(500, "NoSchedule")))
    assert at.taints[at.row_of("n0")] == at.taints[at.row_of("n1")] == number
    harness.put(pod("b", cpu=1))
    harness.settle()
    assert "2 node(s) had" in harness.message("b")
    for name in ("n0", "n1"):
        harness.informers.informer(NODES).remove("", name)
    assert at.taint_lists[number] == ()


def test_reused_row_is_empty() -> None:
    """A node in a reused row has none of the previous node's values."""
    harness = SchedulerHarness()
    harness.put(node("n1", unschedulable=True, labels={"disk": "ssd"}), pod("p", cpu=1, on="n1"))
    at = harness.scheduler.snapshot
    row = at.row_of("n1")
    assert at.label("disk")[row] == 0
    harness.informers.informer(NODES).remove("", "n1")
    harness.put(node("n2"))
    assert at.row_of("n2") == row and at.name_of(row) == "n2"
    assert not at.unschedulable[row] and not at.pods_on[row] and not at.requested[:, row].any()
    assert at.label("disk")[row] == -1


def test_pod_may_be_observed_before_its_node() -> None:
    """A pod may be observed before its node."""
    harness = SchedulerHarness()
    harness.put(pod("p", cpu=1, on="n1"))
    harness.put(node("n1"))
    assert harness.scheduler.snapshot.requested[0, 0] == 1000


def test_reader_beyond_the_change_log_rereads_all_rows() -> None:
    """A reader behind the change log has to read all rows; others get the changed rows."""
    log = ChangeLog()
    log.add(1, Columns.NODE)
    assert list(log.since(0) or ()) == [(1, int(Columns.NODE))]
    assert list(log.since(1) or ()) == []
    for number in range(2 * KEPT_CHANGES):
        log.add(number, Columns.PODS)
    assert log.since(0) is None
    assert list(log.since(log.version - 2) or ()) == [(2 * KEPT_CHANGES - 2, 16), (2 * KEPT_CHANGES - 1, 16)]


def test_tallies_keep_only_what_templates_add_to_them() -> None:
    """Memory grows with the templates that match a tally's rule, not with the product of templates and tallies; a tally
    that is made later has the pods of before."""
    templates = [
        PodTemplate(template_facts(pod(f"p{number}")), b"%d" % number, container_rule(SPECIFICATION))
        for number in range(30)
    ]
    tallies, held = Tallies(4), []
    for template in templates:

        def rule(other: PodTemplate, template: PodTemplate = template) -> Contributions:
            return (("zone", 1),) if other is template else ()

        tallies.count(template, 1, 1, deleting=False)
        tallies.count(template, 2, 1, deleting=True)
        held.append(tallies.tally(rule, live=True))
    for template in templates:
        tallies.count(template, 3, 1, deleting=False)
    assert {tuple(tally.rows["zone"].tolist()) for tally in held} == {(0, 1, 0, 1)}
    assert max(map(getweakrefcount, (*templates, *held))) <= 3


def test_pods_of_a_node_that_is_not_there_yet() -> None:
    """They count when it comes, except those that have gone by then."""
    harness = SchedulerHarness()
    harness.put(node("n1"), pod("a", cpu=1, on="late"), pod("b", cpu=1, on="late"))
    harness.informers.informer(PODS).remove("ns", "a")
    harness.put(node("late"))
    snapshot = harness.scheduler.snapshot
    assert [each.name for each in snapshot.pods(snapshot.row_of("late"))] == ["b"]


def test_pod_that_is_deleted_is_counted_as_such() -> None:
    """Spreading leaves it out, though its node still has it."""
    harness = SchedulerHarness()
    harness.put(node("n1"), pod("a", cpu=1, on="n1"))
    tallies = harness.scheduler.snapshot.tallies
    assert not tallies.deleting
    harness.put(pod("a", cpu=1, on="n1", deleting=True))
    assert [sum(rows.values()) for rows in tallies.deleting.values()] == [1]
    harness.informers.informer(PODS).remove("ns", "a")
    assert not any(sum(rows.values()) for rows in tallies.deleting.values())


def test_pod_with_other_requests_counts_once() -> None:
    harness = SchedulerHarness()
    harness.put(node("n1"), pod("a", cpu=1, on="n1"), pod("b", cpu=1, on="n1"))
    harness.put(pod("a", cpu=2, on="n1", priority=3))
    snapshot = harness.scheduler.snapshot
    view = snapshot.node(snapshot.row_of("n1"))
    assert (view.requested["cpu"], len(view.pods)) == (3000, 2)
    assert snapshot.lowest[snapshot.row_of("n1")] == 0
    assert int(snapshot.requested[snapshot.resources["cpu"], snapshot.row_of("n1")]) == 3000


def test_nodes_without_a_zone_are_no_domain() -> None:
    """A pod on one of them repels no pod from the others; that of a zone does."""
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    harness = SchedulerHarness()
    harness.put(node("n1", unschedulable=True), node("n2", zone="z"), node("n3"))
    harness.put(pod("a", on="n1", labels={"app": "x"}), pod("b", on="n2", labels={"app": "x"}))
    harness.put(pod("p", cpu=1, affinity=apart), pod("q", cpu=1, affinity=apart, nodeSelector={HOST: "n2"}))
    harness.settle()
    assert (harness.where("p"), harness.where("q")) == ("n3", "")
