"""Plain form of topology spread: counts by domain that what-if runs change, and scores one node at a time; and the
rules of releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log
from typing import Final

from orchd.kinds.objects.placement import find_untolerated_taint
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeFacts, NodeView
from orchd.scheduler.plugins.nodes import required_matches
from orchd.scheduler.pods import Pod, PodTemplate, SpreadConstraint
from orchd.scheduler.values import MAX_SCORE, Status, unresolvable, unschedulable

SKEWED = unschedulable("node(s) didn't match pod topology spread constraints")
MISSING_LABEL = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
#: The raw score of a node that lacks a topology key.
IGNORED = -1


#: Effects of taints that keep a pod off a node.
HARD: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRule:
    """`eligible_only`: the pods of a domain are those of its eligible nodes, not of all its nodes. `counts_everything`:
    a selector that selects every pod counts them, instead of none. `rounded`: raw scores are rounded, not cut off."""

    eligible_only: bool
    counts_everything: bool
    rounded: bool

    def whole(self, score: float) -> int:
        """A raw score as a whole number."""
        return floor(score + 0.5) if self.rounded else int(score)


#: By the release that begins a rule.
SPREAD_RULES: Final = (
    ("", SpreadRule(eligible_only=False, counts_everything=True, rounded=False)),
    ("1.26", SpreadRule(eligible_only=True, counts_everything=False, rounded=True)),
)


def selects(other: Pod, template: PodTemplate, constraint: SpreadConstraint) -> bool:
    """True if the selector of a constraint of the template selects the other pod."""
    return (
        not other.deleting
        and other.namespace == template.namespace
        and constraint.selector.matches(other.template.labels)
    )


def is_eligible(template: PodTemplate, constraint: SpreadConstraint, facts: NodeFacts) -> bool:
    """True if the policies of a constraint of the template include a node."""
    if constraint.honors_affinity and not required_matches(template, facts):
        return False
    return not constraint.honors_taints or find_untolerated_taint(facts.taints, template.tolerations, HARD) is None


class Counts:
    """Pods per domain of each DoNotSchedule constraint, as the filter of one cycle counts them."""

    def __init__(
        self,
        template: PodTemplate,
        constraints: Sequence[SpreadConstraint],
        rule: SpreadRule,
        snapshot: Snapshot | None = None,
    ) -> None:
        self._template = template
        self._constraints = tuple(constraints)
        self._rule = rule
        self._domains: list[dict[str, int]] = [{} for _ in constraints]
        if snapshot is not None:
            self._begin(snapshot)

    def _begin(self, snapshot: Snapshot) -> None:
        """Find the domains, then count existing pods by template."""
        eligible: list[set[int]] = [set() for _ in self._constraints]
        for row, facts in enumerate(snapshot.nodes):
            if facts is None or not self._has_keys(facts.labels):
                continue
            for constraint, domains, rows in zip(self._constraints, self._domains, eligible, strict=True):
                if is_eligible(self._template, constraint, facts):
                    domains.setdefault(facts.labels[constraint.topology_key], 0)
                    rows.add(row)
        for other, rows_of in snapshot.tallies.population.items():
            if other.namespace != self._template.namespace:
                continue
            deleting = snapshot.tallies.deleting.get(other, {})
            for constraint, domains, rows in zip(self._constraints, self._domains, eligible, strict=True):
                selector = constraint.selector
                if not selector.matches(other.labels) or (selector.everything and not self._rule.counts_everything):
                    continue
                for row, pods in rows_of.items():
                    facts = snapshot.nodes[row]
                    value = None if facts is None else facts.labels.get(constraint.topology_key)
                    if value in domains and (row in rows or not self._rule.eligible_only):
                        domains[value] += pods - deleting.get(row, 0)

    def _has_keys(self, labels: Mapping[str, str]) -> bool:
        return all(each.topology_key in labels for each in self._constraints)

    def clone(self) -> Counts:
        copy = Counts(self._template, self._constraints, self._rule)
        copy._domains = [dict(domains) for domains in self._domains]
        return copy

    def change(self, other: Pod, node: NodeView, pods: int) -> None:
        """Add `other` to a node, or remove it."""
        if not self._has_keys(node.labels):
            return
        for constraint, domains in zip(self._constraints, self._domains, strict=True):
            value = node.labels[constraint.topology_key]
            if not selects(other, self._template, constraint) or value not in domains:
                continue
            if not self._rule.eligible_only or is_eligible(self._template, constraint, node.facts):
                domains[value] += pods

    def judge(self, node: NodeView) -> Status | None:
        """The filter's status for a node."""
        for constraint, domains in zip(self._constraints, self._domains, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                return MISSING_LABEL
            if domains:
                own = int(constraint.selector.matches(self._template.labels))
                least = min(domains.values()) if len(domains) >= constraint.min_domains else 0
                if domains.get(value, 0) + own - least > constraint.max_skew:
                    return SKEWED
        return None


class Scores:
    """Raw scores of the nodes that passed, for ScheduleAnyway constraints."""

    def __init__(
        self,
        template: PodTemplate,
        constraints: Sequence[SpreadConstraint],
        snapshot: Snapshot,
        nodes: Sequence[NodeView],
        *,
        all_keys: bool,
        hostname: str,
        rule: SpreadRule,
    ) -> None:
        self._template = template
        self._rule = rule
        self._constraints = tuple(constraints)
        self._hostname = hostname
        self._ignored = {node.name for node in nodes if all_keys and not self._has_keys(node)}
        left = [node for node in nodes if node.name not in self._ignored]
        self._domains: list[dict[str, int]] = []
        self._weights: list[float] = []
        for constraint in self._constraints:
            is_host = constraint.topology_key == hostname
            domains = {} if is_host else {node.labels.get(constraint.topology_key, ""): 0 for node in left}
            self._domains.append(domains)
            self._weights.append(log((len(left) if is_host else len(domains)) + 2))
        for row in snapshot.rows() if constraints else ():
            self._count(snapshot.node(int(row)), all_keys=all_keys)

    def _has_keys(self, node: NodeView) -> bool:
        return all(each.topology_key in node.labels for each in self._constraints)

    def _count(self, node: NodeView, *, all_keys: bool) -> None:
        if all_keys and not self._has_keys(node):
            return
        for constraint, domains in zip(self._constraints, self._domains, strict=True):
            value = node.labels.get(constraint.topology_key, "")
            if value in domains and is_eligible(self._template, constraint, node.facts):
                domains[value] += self._pods(node, constraint)

    def _pods(self, node: NodeView, constraint: SpreadConstraint) -> int:
        if constraint.selector.everything and not self._rule.counts_everything:
            return 0
        return sum(selects(each, self._template, constraint) for each in node.pods.values())

    def score(self, node: NodeView) -> int:
        if not self._constraints:
            return 0
        if node.name in self._ignored:
            return IGNORED
        total = 0.0
        for constraint, domains, weight in zip(self._constraints, self._domains, self._weights, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is not None:
                is_host = constraint.topology_key == self._hostname
                count = self._pods(node, constraint) if is_host else domains[value]
                total += count * weight + (constraint.max_skew - 1)
        return self._rule.whole(total)


def normalize(scores: Sequence[int]) -> list[int]:
    """Fewer pods in the domain score higher; ignored nodes score 0."""
    counted = [score for score in scores if score != IGNORED]
    most, least = max(counted, default=0), min(counted, default=0)
    if most == 0:
        return [0 if score == IGNORED else MAX_SCORE for score in scores]
    return [0 if score == IGNORED else MAX_SCORE * (most + least - score) // most for score in scores]
