"""InterPodAffinity: required and preferred affinity and anti-affinity to other pods.

Which pods a term selects is counted per row by tallies, once per template, and summed over topology domains when it is
asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np
from zope.interface import implementer

from orchd.client.interfaces import IInformer, ResourceRef
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.columns.tallies import Rule, Tally, by_domain
from orchd.scheduler.config.model import InterPodAffinityArgs
from orchd.scheduler.interfaces import (
    IColumnFilter,
    IColumnScore,
    IHandle,
    IPreFilter,
    IPreFilterExtensions,
    IPreScore,
    IRowFilter,
    IRowScore,
)
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins import interpodaffinity_plain
from orchd.scheduler.plugins.interpodaffinity_plain import AFFINITY, ANTI_AFFINITY, EXISTING, Contribution
from orchd.scheduler.pods import AffinityTerm, AffinityTerms, Pod, PodTemplate
from orchd.scheduler.values import MAX_SCORE, Action, ClusterEvent, Columns, CycleState, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

NAMESPACES = ResourceRef("", "v1", "namespaces")
_PLAIN = "InterPodAffinity/plain"
_PLAIN_SCORE = "InterPodAffinity/plain score"
_STATUS = {1: AFFINITY, 2: ANTI_AFFINITY, 3: EXISTING}


@implementer(IPreFilter, IPreFilterExtensions, IColumnFilter, IPreScore, IColumnScore)
class InterPodAffinity:
    name = "InterPodAffinity"
    #: Error of the score in a profile in which the plugin is not enabled as a pre-score.
    unscored = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    #: Error of the filter in a profile in which the plugin is not enabled as a pre-filter.
    unprepared = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    events = (ClusterEvent("pods", Action.ALL), ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL))
    shared = True

    def __init__(self, handle: IHandle, args: InterPodAffinityArgs) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._hard_weight = args.hard_pod_affinity_weight
        self._tallies: WeakValueDictionary[object, Tally] = WeakValueDictionary()
        self._namespaces: IInformer = handle.informer(NAMESPACES)
        self._namespaces.add_listener(self._namespace_changed)
        #: Number of changes of namespace labels.
        self.epoch = 0

    def _namespace_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if event == "MODIFIED" and old is not None and new is not None:
            if old["metadata"].get("labels") != new["metadata"].get("labels"):
                self.epoch += 1
        elif event == "ADDED":
            self.epoch += 1

    def _labels_of(self, namespace: str) -> Mapping[str, str]:
        obj = self._namespaces.get("", namespace)
        return {} if obj is None else obj["metadata"].get("labels") or {}

    def matches(self, term: AffinityTerm, template: PodTemplate) -> bool:
        """True if the term selects pods of the template."""
        return term.matches(template, {} if term.namespace_selector is None else self._labels_of(template.namespace))

    def matches_all(self, terms: AffinityTerms, template: PodTemplate) -> bool:
        met = set[object]()
        for term in terms:
            # There may be thousands that differ in their topology keys.
            selection = term[:3]
            if selection not in met:
                if not self.matches(term, template):
                    return False
                met.add(selection)
        return bool(terms)

    # -- effects of existing pods

    def repelled(self, template: PodTemplate, other: PodTemplate) -> list[tuple[str, int]]:
        """Topology keys of the anti-affinity terms with which pods of `other` reject the template."""
        return [(term.topology_key, 1) for term in other.anti_affinity.near(template) if self.matches(term, template)]

    def attracted(self, template: PodTemplate, other: PodTemplate) -> list[tuple[str, int]]:
        """Topology keys with the weight that a pod of `other` gives to its domain."""
        contributions = [
            (term.topology_key, sign * term.weight)
            for terms, sign in ((template.preferred_affinity, 1), (template.preferred_anti_affinity, -1))
            for term in terms.near(other)
            if self.matches(term, other)
        ]
        if not other.has_affinity:
            return contributions
        weighted = [(term, self._hard_weight) for term in other.affinity.near(template) if self._hard_weight]
        weighted += [(term, term.weight) for term in other.preferred_affinity.near(template)]
        weighted += [(term, -term.weight) for term in other.preferred_anti_affinity.near(template)]
        return contributions + [
            (term.topology_key, weight) for term, weight in weighted if self.matches(term, template)
        ]

    def required(self, template: PodTemplate, other: PodTemplate) -> list[Contribution]:
        """The contribution of a pod of `other` to the filter's counts."""
        contributions = [Contribution(EXISTING, key) for key, _ in self.repelled(template, other)]
        if self.matches_all(template.affinity, other):
            contributions += [Contribution(AFFINITY, term.topology_key) for term in template.affinity]
        contributions += [
            Contribution(ANTI_AFFINITY, term.topology_key)
            for term in template.anti_affinity.near(other)
            if self.matches(term, other)
        ]
        return contributions

    def count_matching(self, terms: AffinityTerms) -> Tally:
        """Pods per row that all terms select; shared between equal callers while no namespace label changes."""
        return self._shared(("all", terms), lambda other: _ONE if self.matches_all(terms, other) else ())

    def count_repelling(self, terms: AffinityTerms) -> Tally:
        """Pods per row that any of the terms selects, by its topology key; shared likewise."""
        return self._shared(
            ("any", terms),
            lambda other: [(term.topology_key, 1) for term in terms.near(other) if self.matches(term, other)],
        )

    def _shared(self, key: object, rule: Rule) -> Tally:
        tally = self._tallies.get((key, self.epoch))
        if tally is None:
            tally = self._tallies[key, self.epoch] = self._snapshot.tally(rule)
        return tally

    # -- filter

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        return None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        return _Required(self, self._snapshot, pod.template)

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        if state.get(_PLAIN) is None:
            self.prepare_plain(state, pod)
        counts: interpodaffinity_plain.Counts = state.read(_PLAIN)
        return counts.judge(node)

    def prepare_plain(self, state: CycleState, pod: Pod) -> None:
        first = self.matches_all(pod.template.affinity, pod.template)
        state.write(
            _PLAIN, interpodaffinity_plain.Counts(pod.template, self.required, self._snapshot, first_of_group=first)
        )

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        counts = state.get(_PLAIN)
        if counts is not None:
            counts.change(other.template, node.labels, 1)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        counts = state.get(_PLAIN)
        if counts is not None:
            counts.change(other.template, node.labels, -1)

    # -- score

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        return _Preferred(self, self._snapshot, pod.template)

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        state.write(_PLAIN_SCORE, interpodaffinity_plain.weights(pod.template, self.attracted, self._snapshot))
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        weights: interpodaffinity_plain.Weights = state.read(_PLAIN_SCORE)
        return sum(values.get(node.labels.get(key), 0) for key, values in weights.items())

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return interpodaffinity_plain.normalize(scores)


@implementer(IRowFilter)
class _Required:
    """Required terms of the pod and of existing pods. Never local: a pod affects its whole domain."""

    local = False
    columns = Columns.ALL

    def __init__(self, plugin: InterPodAffinity, snapshot: Snapshot, template: PodTemplate) -> None:
        self._snapshot = snapshot
        own = template.affinity
        self._keys = tuple(dict.fromkeys(term.topology_key for term in own))
        self._first_of_group = plugin.matches_all(own, template)
        self._repelling = snapshot.tally(lambda other: plugin.repelled(template, other), with_affinity=True)
        self._near = plugin.count_matching(own) if own else None
        self._apart = plugin.count_repelling(template.anti_affinity) if template.anti_affinity else None

    def codes(self, rows: NDArray[np.intp] | None) -> Numbers:
        at = self._snapshot
        codes = np.zeros(at.size, dtype=np.int64)
        # In reverse order of evaluation, so that the first rejection overwrites later ones.
        for key, counts in self._repelling.rows.items():
            codes[self._occupied(key, counts)] = 3
        for key, counts in self._apart.rows.items() if self._apart is not None else ():
            codes[self._occupied(key, counts)] = 2
        if self._near is not None:
            self._judge_affinity(self._near.rows.get(""), codes)
        return codes if rows is None else codes[rows]

    def _occupied(self, key: str, counts: Numbers) -> NDArray[np.bool_]:
        """Rows whose domain has any of the counted pods."""
        column = self._snapshot.label(key)
        there = counts > 0
        if not there.any():
            return there
        domains = np.zeros(int(column.max(initial=-1)) + 2, dtype=np.bool_)
        domains[column[there]] = True
        domains[-1] = False
        occupied: NDArray[np.bool_] = domains[column]
        return occupied

    def _judge_affinity(self, counts: Numbers | None, codes: Numbers) -> None:
        at = self._snapshot
        everywhere, anywhere = np.ones(at.size, dtype=np.bool_), False
        if not all(map(at.has_label, self._keys)):
            codes[:] = 1
            return
        for key in self._keys:
            codes[at.label(key) < 0] = 1
            matched = np.zeros(at.size, dtype=np.bool_) if counts is None else self._occupied(key, counts)
            everywhere &= matched
            anywhere = anywhere or bool(matched.any())
        # The first pod of a group with affinity to itself may run on any node with the topology keys.
        if anywhere or not self._first_of_group:
            codes[~everywhere] = 1

    def status(self, code: int) -> Status:
        return _STATUS[code]


_ONE = (("", 1),)


@implementer(IRowScore)
class _Preferred:
    local = False
    columns = Columns.ALL

    def __init__(self, plugin: InterPodAffinity, snapshot: Snapshot, template: PodTemplate) -> None:
        self._snapshot = snapshot
        wants = bool(template.preferred_affinity or template.preferred_anti_affinity)

        def rule(other: PodTemplate) -> Sequence[tuple[str, int]]:
            return plugin.attracted(template, other)

        self._tally = snapshot.tally(rule, with_affinity=not wants)

    def scores(self, rows: NDArray[np.intp] | None) -> Numbers:
        at = self._snapshot
        rows = at.rows() if rows is None else rows
        total = np.zeros(len(rows), dtype=np.int64)
        for key, weights in self._tally.rows.items():
            if weights.any():
                column = at.label(key)
                total += np.append(by_domain(weights, column), 0)[column[rows]]
        return total

    def normalize(self, raw: Numbers) -> Numbers | int:
        least, most = (int(raw.min()), int(raw.max())) if len(raw) else (0, 0)
        if least == most:
            return 0
        return (MAX_SCORE * ((raw - least) / (most - least))).astype(np.int64)
