"""Plain form of topology spread: counts by domain that what-if runs change, and scores one node at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.nodes import required_matches
from orchd.scheduler.pods import Pod, PodTemplate, SpreadConstraint
from orchd.scheduler.values import MAX_SCORE, Status, unresolvable, unschedulable

SKEWED = unschedulable("node(s) didn't match pod topology spread constraints")
MISSING_LABEL = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
#: The raw score of a node that lacks a topology key.
IGNORED = -1


def counts_as(other: Pod, template: PodTemplate, constraint: SpreadConstraint) -> bool:
    """True if a constraint of the template counts the other pod."""
    return (
        not other.deleting
        and other.namespace == template.namespace
        and constraint.selector.matches(other.template.labels)
    )


class Counts:
    """Pods per domain of each DoNotSchedule constraint, as the filter of one cycle counts them."""

    def __init__(
        self, template: PodTemplate, constraints: Sequence[SpreadConstraint], snapshot: Snapshot | None = None
    ) -> None:
        self._template = template
        self._constraints = tuple(constraints)
        self._domains: list[dict[str, int]] = [{} for _ in constraints]
        if snapshot is not None:
            self._begin(snapshot)

    def _begin(self, snapshot: Snapshot) -> None:
        """Find the domains, then count existing pods by template."""
        for facts in snapshot.nodes:
            if facts is not None and required_matches(self._template, facts) and self._has_keys(facts.labels):
                for constraint, domains in zip(self._constraints, self._domains, strict=True):
                    domains.setdefault(facts.labels[constraint.topology_key], 0)
        for other, rows in snapshot.tallies.population.items():
            if other.namespace != self._template.namespace:
                continue
            deleting = snapshot.tallies.deleting.get(other, {})
            for constraint, domains in zip(self._constraints, self._domains, strict=True):
                if not constraint.selector.matches(other.labels):
                    continue
                for row, pods in rows.items():
                    facts = snapshot.nodes[row]
                    value = None if facts is None else facts.labels.get(constraint.topology_key)
                    if value in domains:
                        domains[value] += pods - deleting.get(row, 0)

    def _has_keys(self, labels: Mapping[str, str]) -> bool:
        return all(each.topology_key in labels for each in self._constraints)

    def clone(self) -> Counts:
        copy = Counts(self._template, self._constraints)
        copy._domains = [dict(domains) for domains in self._domains]
        return copy

    def change(self, other: Pod, node: NodeView, pods: int) -> None:
        """Add `other` to a node, or remove it."""
        if not self._has_keys(node.labels):
            return
        for constraint, domains in zip(self._constraints, self._domains, strict=True):
            value = node.labels[constraint.topology_key]
            if value in domains and counts_as(other, self._template, constraint):
                domains[value] += pods

    def judge(self, node: NodeView) -> Status | None:
        """The filter's status for a node."""
        for constraint, domains in zip(self._constraints, self._domains, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                return MISSING_LABEL
            if domains:
                own = int(constraint.selector.matches(self._template.labels))
                if domains.get(value, 0) + own - min(domains.values()) > constraint.max_skew:
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
    ) -> None:
        self._template = template
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
        if not required_matches(self._template, node.facts) or (all_keys and not self._has_keys(node)):
            return
        for constraint, domains in zip(self._constraints, self._domains, strict=True):
            value = node.labels.get(constraint.topology_key, "")
            if value in domains:
                domains[value] += self._pods(node, constraint)

    def _pods(self, node: NodeView, constraint: SpreadConstraint) -> int:
        return sum(counts_as(each, self._template, constraint) for each in node.pods.values())

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
        return int(total)


def normalize(scores: Sequence[int]) -> list[int]:
    """Fewer pods in the domain score higher; ignored nodes score 0."""
    counted = [score for score in scores if score != IGNORED]
    most, least = max(counted, default=0), min(counted, default=0)
    if most == 0:
        return [0 if score == IGNORED else MAX_SCORE for score in scores]
    return [0 if score == IGNORED else MAX_SCORE * (most + least - score) // most for score in scores]
