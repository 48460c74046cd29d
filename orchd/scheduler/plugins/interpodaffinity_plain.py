"""Plain form of inter-pod affinity: counts by topology pair that what-if runs change, and weights by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import PodTemplate
from orchd.scheduler.values import MAX_SCORE, Status, unresolvable, unschedulable

AFFINITY = unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY = unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

#: Topology key -> value -> weight.
Weights = Mapping[str, Mapping[str | None, int]]


@dataclass(frozen=True, slots=True)
class Contribution:
    """One pod counts under a key for one of the three rules."""

    rule: Status
    key: str


class Counts:
    """Pods per rule and topology pair. `required(template, other)` returns the contribution of a pod of `other`."""

    def __init__(
        self,
        template: PodTemplate,
        required: Callable[[PodTemplate, PodTemplate], Iterable[Contribution]],
        snapshot: Snapshot | None = None,
        *,
        first_of_group: bool,
    ) -> None:
        self._template = template
        self._required = required
        self._first_of_group = first_of_group
        self._pairs: dict[tuple[Status, str, str], int] = {}
        self._by_template: dict[PodTemplate, tuple[Contribution, ...]] = {}
        if snapshot is not None:
            self._begin(snapshot)

    def _begin(self, snapshot: Snapshot) -> None:
        """Count existing pods by template."""
        for other, rows in snapshot.tallies.population.items():
            if self._contributions(other):
                for row, pods in rows.items():
                    facts = snapshot.nodes[row]
                    assert facts is not None
                    self.change(other, facts.labels, pods)

    def clone(self) -> Counts:
        copy = Counts(self._template, self._required, first_of_group=self._first_of_group)
        copy._pairs, copy._by_template = dict(self._pairs), self._by_template
        return copy

    def change(self, other: PodTemplate, labels: Mapping[str, str], pods: int) -> None:
        """Add pods of `other` to a node with these labels, or remove them if negative."""
        contributions = self._by_template.get(other)
        if contributions is None:
            contributions = self._contributions(other)
        for each in contributions:
            value = labels.get(each.key)
            if value is not None:
                pair = (each.rule, each.key, value)
                self._pairs[pair] = self._pairs.get(pair, 0) + pods

    def _contributions(self, other: PodTemplate) -> tuple[Contribution, ...]:
        contributions = self._by_template.get(other)
        if contributions is None:
            contributions = self._by_template[other] = tuple(self._required(self._template, other))
        return contributions

    def judge(self, node: NodeView) -> Status | None:
        """The filter's status for a node."""
        labels, pairs = node.labels, self._pairs
        if not pairs and not self._template.affinity:
            return None
        for term in self._template.affinity:
            if term.topology_key not in labels:
                return AFFINITY
        if not all(
            pairs.get((AFFINITY, t.topology_key, labels[t.topology_key]), 0) > 0 for t in self._template.affinity
        ):
            anywhere = any(pods > 0 for (rule, _, _), pods in pairs.items() if rule is AFFINITY)
            if anywhere or not self._first_of_group:
                return AFFINITY
        for rule in (ANTI_AFFINITY, EXISTING):
            if any(
                kind is rule and pods > 0 and labels.get(key) == value for (kind, key, value), pods in pairs.items()
            ):
                return rule
        return None


def weights(
    template: PodTemplate,
    attracted: Callable[[PodTemplate, PodTemplate], Iterable[tuple[str, int]]],
    snapshot: Snapshot,
) -> Weights:
    """Sum of weights per topology pair."""
    by_key: dict[str, dict[str | None, int]] = {}
    for row in snapshot.rows():
        node = snapshot.node(int(row))
        for pod in node.pods.values():
            for key, weight in attracted(template, pod.template):
                value = node.labels.get(key)
                if value is not None:
                    values = by_key.setdefault(key, {})
                    values[value] = values.get(value, 0) + weight
    return by_key


def normalize(scores: Sequence[int]) -> list[int]:
    """Scores of any sign, stretched to 0..100; 0 if all are equal."""
    least, most = min(scores, default=0), max(scores, default=0)
    if least == most:
        return [0] * len(scores)
    return [int(MAX_SCORE * ((score - least) / (most - least))) for score in scores]
