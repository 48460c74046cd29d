"""Pods with thousands of terms, constraints or tolerations: the work does not grow with their number for each node or
template."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.objects.node_selectors import NodeTerms, matches_terms
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.scheduler.columns.labels import MOST_TERMS
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.plugins.nodeaffinity import named_nodes
from orchd.scheduler.pods import AffinityTerm, AffinityTerms, PodTemplate, container_rule, template_facts
from orchd.scheduler.values import CycleState
from tests.kinds.test_body_bounds import lines
from tests.scheduler.scheduler_support import HOST, SchedulerHarness, node, pod

HERE = frozenset({"ns"})


def template(**labels: str) -> PodTemplate:
    return PodTemplate(template_facts(pod("p", labels=labels)), b"", container_rule(SPECIFICATION))


def term(number: int, selector: dict[str, Any] | None) -> AffinityTerm:
    return AffinityTerm(HERE, None, LabelSelector.from_object(selector), f"key{number}")


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


_SELECTORS = st.sampled_from(
    [
        None, {}, {"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "1", "a": "2"}}, expression("a", "In", "1", "2"),
        expression("a", "In", "2"), expression("b", "Exists"), expression("b", "NotIn", "1"),
        expression("a", "DoesNotExist"), {"matchLabels": {"c": "1"}, **expression("b", "In", "1")},
    ]
)  # fmt: skip


@given(st.lists(_SELECTORS, max_size=8), st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3))
def test_many_affinity_terms_are_found_like_few(selectors: list[dict[str, Any] | None], labels: dict[str, str]) -> None:
    """No term that selects a pod is passed over, or counted twice."""
    few = [term(n, each) for n, each in enumerate(selectors)]
    others = [term(n, {"matchLabels": {"x": f"{n}"}}) for n in range(100, 140)]
    many, other = AffinityTerms([*few, *others]), template(**labels)
    expected = sorted(each.topology_key for each in few if each.matches(other, {}))
    assert sorted(each.topology_key for each in many.near(other) if each.matches(other, {})) == expected


def test_terms_that_select_the_same_pods_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms of required affinity may differ in their topology keys alone; the first that a pod does not meet
    decides."""
    compared, matches = [0], AffinityTerm.matches

    def count(self: AffinityTerm, *others: Any) -> bool:
        compared[0] += 1
        return matches(self, *others)

    monkeypatch.setattr(AffinityTerm, "matches", count)
    plugin = SchedulerHarness().scheduler.lanes["default-scheduler"].profile.plugins["InterPodAffinity"]
    alike = AffinityTerms(term(n, {"matchLabels": {"a": "1"}}) for n in range(300))
    other = AffinityTerms([*alike, term(0, {"matchLabels": {"b": "2"}}), *alike])
    assert plugin.matches_all(alike, template(a="1")) and compared[0] == 1
    assert plugin.matches_all(other, template(a="1", b="2")) and compared[0] == 3
    assert not plugin.matches_all(other, template(a="1")) and compared[0] == 5
    assert not plugin.matches_all(AffinityTerms(), template()) and alike == AffinityTerms([*alike])
    assert hash(alike) == hash(AffinityTerms([*alike])) and alike != other


def test_terms_for_other_labels_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sort of affinity of a pod to be placed, and of those that run, selects few of the other pods."""
    compared, matches = [0], AffinityTerm.matches

    def count(self: AffinityTerm, *others: Any) -> bool:
        compared[0] += 1
        return matches(self, *others)

    monkeypatch.setattr(AffinityTerm, "matches", count)
    terms = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {f"k{n}": "v"}}} for n in range(300)]
    required, preferred = (f"{sort}DuringSchedulingIgnoredDuringExecution" for sort in ("required", "preferred"))
    weighted = [{"weight": 1, "podAffinityTerm": each} for each in terms]
    affinity = {"podAffinity": {preferred: weighted}, "podAntiAffinity": {required: terms, preferred: weighted}}
    harness = SchedulerHarness()
    harness.put(node("n"), node("m"), pod("large", on="n", affinity=affinity))
    harness.put(*(pod(f"p{number}", on="n", labels={f"k{number}": "v"}) for number in range(50)))
    harness.put(pod("new", affinity=affinity), pod("small", labels={"k7": "v"}))
    harness.settle()
    assert harness.api.bound == [("new", "m")]
    assert 100 < compared[0] < 2000


def test_pods_are_not_counted_for_keys_without_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constraint with a topology key that no node has decides alone, until a node has it."""
    tallies, tally = [0], Snapshot.tally

    def count(self: Snapshot, *rule: Any, **how: Any) -> Any:
        tallies[0] += 1
        return tally(self, *rule, **how)

    monkeypatch.setattr(Snapshot, "tally", count)
    harness = SchedulerHarness()
    harness.put(node("n"))

    def spread(sort: str) -> list[dict[str, Any]]:
        return [
            {
                "topologyKey": f"k{n}",
                "maxSkew": 1,
                "whenUnsatisfiable": sort,
                "labelSelector": {"matchLabels": {"a": f"{n}"}},
            }
            for n in range(100)
        ]

    hard, soft = spread("DoNotSchedule"), spread("ScheduleAnyway")
    harness.put(pod("hard", topologySpreadConstraints=hard), pod("soft", topologySpreadConstraints=soft))
    harness.settle()
    assert harness.api.bound == [("soft", "n")] and 0 < tallies[0] < 10
    harness.put(node("m", labels={f"k{n}": "v" for n in range(100)}))
    harness.settle(60)
    assert harness.api.bound[1:] == [("hard", "m")]


def test_tolerations_are_not_read_for_each_node() -> None:
    """The plain filter of nodes, which preemption uses, compares their taints with what was found for the first."""
    harness = SchedulerHarness()
    harness.put(node("n", taints=[{"key": "k", "effect": "NoSchedule"}]))
    tolerations = [{"key": f"k{number}", "operator": "Exists"} for number in range(200)]
    large, view = harness.scheduler.templates.pod(pod("p", tolerations=tolerations)), harness.scheduler.snapshot.node(0)
    plugin = harness.scheduler.lanes["default-scheduler"].profile.plugins["TaintToleration"]
    first, second = (lines(lambda: plugin.filter(CycleState(), large, view)) for _ in range(2))
    assert first > 200 > second


_NODE_REQUIREMENTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from("ab"),
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Odd"]),
        "values": st.lists(st.sampled_from("123"), max_size=2),
    }
)
_NAMES = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["metadata.name", "other"]),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.lists(st.sampled_from(["n", "m"]), max_size=2),
    }
)
_NODE_TERMS = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(_NODE_REQUIREMENTS, max_size=2),
        "matchFields": st.lists(_NAMES, max_size=1),
    },
)


@given(st.lists(_NODE_TERMS, max_size=4), st.dictionaries(st.sampled_from("ab"), st.sampled_from("123")))
def test_terms_of_node_affinity_are_found_as_compared(terms: list[dict[str, Any]], labels: dict[str, str]) -> None:
    """The terms that a node matches are the same with an index as by comparing each."""
    found = sorted(NodeTerms(terms).matching(labels, "n"))
    assert found == [index for index, each in enumerate(terms) if matches_terms([each], labels, "n")]
    assert NodeTerms(terms).match(labels, "n") == matches_terms(terms, labels, "n")


def test_thousands_of_values_are_not_compared_with_each_node() -> None:
    """A requirement of node affinity may have thousands of values, and a cluster thousands of nodes."""

    class Value(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Value.compared += 1
            return str.__eq__(self, other)

        def __hash__(self) -> int:
            return str.__hash__(self)

    values = [Value(f"v{n}") for n in range(1000)]
    every = {"key": "a", "operator": "In", "values": values}
    terms = NodeTerms([{"matchExpressions": [every, {**every, "key": "b"}]}])
    fitting = [n for n in range(100) if terms.match({"a": f"v{n}", "b": f"v{n}"})]
    assert fitting == [*range(100)] and Value.compared < 1000


def test_thousands_of_terms_about_names_of_nodes() -> None:
    """The names of all terms are collected once."""
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{n}", "m"]}]} for n in range(500)
    ]
    names = named_nodes(NodeTerms(terms))
    assert names is not None and len(names) == 501
    assert named_nodes(NodeTerms([*terms, {}])) is None and named_nodes(NodeTerms()) is None


def test_many_preferred_terms_score_as_few() -> None:
    """Nodes have the sum of the weights of the terms that they match."""
    harness = SchedulerHarness()
    harness.put(*(node(f"n{n}", labels={"a": f"{n}", "b": "c"}) for n in range(4)))
    preferred = [
        {"weight": n % 7 + 1, "preference": expression("a" if n % 5 else "b", "In", f"{n % 6}", "c")}
        for n in range(MOST_TERMS + 50)
    ]
    sort = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    large = harness.scheduler.templates.pod(pod("p", affinity={"nodeAffinity": sort}))
    plugin = harness.scheduler.lanes["default-scheduler"].profile.plugins["NodeAffinity"]
    snapshot = harness.scheduler.snapshot
    rows = snapshot.rows()
    scores = plugin.compile_score(CycleState(), large).scores(rows)
    assert scores.tolist() == [plugin.score(CycleState(), large, snapshot.node(row)) for row in rows.tolist()]
    assert len(set(scores.tolist())) > 1


def _asking(name: str, **amounts: str) -> Any:
    obj = pod(name)
    obj["spec"]["containers"][0]["resources"]["requests"] = amounts
    return obj


@pytest.mark.parametrize("release", [SPECIFICATION, NEWEST])
@pytest.mark.parametrize("count", [3, 100])
def test_resources_without_nodes_get_no_columns(release: Release, count: int) -> None:
    """A pending pod may name thousands. It is refused for the same reasons as by the plain filter, and fits as soon as
    a node has them all."""
    harness = SchedulerHarness(release=release)
    some = {f"example.com/s{n}": "1" for n in range(count)}
    large, full = node("large"), node("full", pods=0)
    large["status"]["allocatable"] |= some
    harness.put(large, full, node("small"))
    snapshot = harness.scheduler.snapshot
    known = len(snapshot.resources)
    none = {f"example.com/{'az'[n % 2]}{n}": "1" for n in range(count)}
    asking = _asking("p", **{"cpu": "1", **none, **some, "example.com/s1": "2"})
    harness.put(asking)
    harness.settle()
    assert not harness.api.bound and len(snapshot.resources) == known
    record = harness.scheduler.templates.pod(asking)
    plugin = harness.scheduler.lanes["default-scheduler"].profile.plugins["NodeResourcesFit"]
    compiled = plugin.compile_filter(CycleState(), record)
    for name in ("large", "full", "small"):
        row = snapshot.row_of(name)
        plain = plugin.filter(CycleState(), record, snapshot.node(row))
        assert plain is not None and compiled.status(int(compiled.codes(None)[row])) == plain
        assert compiled.status(compiled.at(row)) == plain
    fitting = node("fitting")
    fitting["status"]["allocatable"] |= {**none, **some, "example.com/s1": "2"}
    harness.put(fitting)
    harness.settle(60)
    assert harness.api.bound == [("p", "fitting")] and len(snapshot.resources) == known + count


def test_labels_and_terms_of_large_pods_are_compared_by_the_fewer() -> None:
    """A pod may have thousands of labels, and another one terms; neither is looked at once for each of the other."""

    def work(labels: int, terms: int) -> int:
        other = template(**{f"k{n}": "v" for n in range(labels)})
        many = AffinityTerms(term(n, {"matchLabels": {f"k{n}": "v"}}) for n in range(terms))
        assert len(list(many.near(other))) == min(labels, terms)
        return lines(lambda: list(many.near(other)))

    assert work(1000, 20) < 300 and work(20, 1000) < 300
