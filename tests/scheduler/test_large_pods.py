"""Pods with thousands of terms, constraints or tolerations: the work does not grow with their number for each node or
template."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.release import SPECIFICATION
from orchd.scheduler.columns.snapshot import Snapshot
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
    """No term that selects a pod is passed over, or counted twice; those that select the same pods are compared
    once."""
    few = [term(n, each) for n, each in enumerate(selectors)]
    others = [term(n, {"matchLabels": {"x": f"{n}"}}) for n in range(100, 140)]
    many, other = AffinityTerms([*few, *others]), template(**labels)
    expected = sorted(each.topology_key for each in few if each.matches(other, {}))
    assert sorted(each.topology_key for each in many.near(other) if each.matches(other, {})) == expected
    alike = {str(each) for each in selectors}
    assert len(many.selections) == len(alike) + len(others)


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
