"""NodeAffinity: node selectors and node affinity of pods, and an affinity that the configuration adds to every pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from zope.interface import implementer

from orchd.kinds.objects.node_selectors import NodeTerms, matches_terms
from orchd.scheduler.columns.labels import MOST_TERMS
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.config.model import NodeAffinityArgs
from orchd.scheduler.interfaces import (
    IColumnFilter,
    IColumnScore,
    IHandle,
    IPreFilter,
    IPreFilterNodes,
    IPreScore,
    IRowFilter,
    IRowScore,
)
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.nodes import required_matches, required_rows
from orchd.scheduler.plugins.scoring import scale, scale_plain
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED = unresolvable("node(s) didn't match Pod's node affinity/selector")
REFUSED_ADDED = unresolvable("node(s) didn't match scheduler-enforced node affinity")
_POD, _ADDED = 1, 2
#: The first release in which a pod that names its nodes is not compared with the others.
_NAMES_SINCE = "1.25"
CONFLICT = unresolvable("pod affinity terms conflict")
Terms = tuple[Mapping[str, Any], ...]


def named_nodes(terms: Terms) -> frozenset[str] | None:
    """The nodes that required terms name; None if any term names none, since one term is enough."""
    names = set[str]()
    for term in terms:
        lists = [
            frozenset(each.get("values") or ())
            for each in term.get("matchFields") or ()
            if each.get("key") == "metadata.name" and each.get("operator") == "In"
        ]
        if not lists:
            return None
        names |= frozenset.intersection(*lists)
    return frozenset(names) if terms else None


@implementer(IPreFilter, IPreFilterNodes, IColumnFilter, IPreScore, IColumnScore)
class NodeAffinity:
    name = "NodeAffinity"
    events = (ClusterEvent("nodes", Action.ADD | Action.UPDATE_LABEL),)
    shared = True
    epoch = 0

    def __init__(self, handle: IHandle, args: NodeAffinityArgs) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._names = handle.release.includes(_NAMES_SINCE)
        added = args.added_affinity or {}
        required = added.get("requiredDuringSchedulingIgnoredDuringExecution")
        self._added: Terms | None = None if required is None else tuple(required.get("nodeSelectorTerms") or ())
        self._added_preferred = tuple(
            (int(each["weight"]), each.get("preference") or {})
            for each in added.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        )

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        return CONFLICT if self.only_nodes(pod) == frozenset() else None

    def only_nodes(self, pod: Pod) -> frozenset[str] | None:
        terms = pod.template.node_affinity
        return named_nodes(terms) if self._names and terms is not None else None

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        if self._added is not None and not matches_terms(self._added, node.labels, node.name):
            return REFUSED_ADDED
        return None if required_matches(pod.template, node.facts) else REFUSED

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        template = pod.template
        if self._added is None and not template.node_selector and template.node_affinity is None:
            return None
        return _Required(self._snapshot, pod, self._added)

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        return sum(
            weight
            for weight, term in (*self._added_preferred, *pod.template.preferred_nodes)
            if matches_terms((term,), node.labels, node.name)
        )

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return scale_plain(scores)

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        preferred = (*self._added_preferred, *pod.template.preferred_nodes)
        return _Preferred(self._snapshot, preferred) if preferred else 0


@implementer(IRowFilter)
class _Required:
    local = True
    columns = Columns.NODE

    def __init__(self, snapshot: Snapshot, pod: Pod, added: Terms | None) -> None:
        self._snapshot = snapshot
        self._template = pod.template
        self._added = added

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        codes = np.zeros(self._snapshot.size, dtype=np.int64)
        own = required_rows(self._snapshot, self._template)
        if own is not None:
            codes[~own] = _POD
        if self._added is not None:
            codes[~self._snapshot.match_selector(self._added)] = _ADDED
        return codes if rows is None else codes[rows]

    def status(self, code: int) -> Status:
        return REFUSED if code == _POD else REFUSED_ADDED


@implementer(IRowScore)
class _Preferred:
    local = True
    columns = Columns.NODE

    def __init__(self, snapshot: Snapshot, preferred: Sequence[tuple[int, Mapping[str, Any]]]) -> None:
        self._snapshot = snapshot
        self._preferred = preferred
        self._terms = NodeTerms(term for _, term in preferred)

    def scores(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        scores = np.zeros(self._snapshot.size, dtype=np.int64)
        if len(self._preferred) > MOST_TERMS:
            weights = [weight for weight, _ in self._preferred]
            for row in self._snapshot.rows() if rows is None else rows:
                node = self._snapshot.nodes[row]
                if node is not None:
                    scores[row] = sum(weights[index] for index in self._terms.matching(node.labels, node.name))
        else:
            for weight, term in self._preferred:
                scores += weight * self._snapshot.match_selector((term,))
        return scores if rows is None else scores[rows]

    def normalize(self, raw: NDArray[np.int64]) -> NDArray[np.int64] | int:
        return scale(raw)
