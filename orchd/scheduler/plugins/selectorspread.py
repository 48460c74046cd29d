"""SelectorSpread: prefers nodes and zones with few pods of the services and owners of a pod. It spreads pods by default
where the feature gate DefaultPodTopologySpread is off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

import numpy as np
from zope.interface import implementer

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.columns.tallies import Tally
from orchd.scheduler.interfaces import IColumnScore, IHandle, IPreScore, IRowScore
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.defaultspread import DefaultSelectors
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import MAX_SCORE, Columns, CycleState, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

#: The part of a score that depends on the node's zone, if it has one.
_OF_ZONE: Final = 2.0 / 3.0
#: Labels of region and zone, and their former names.
_REGION: Final = ("topology.{long}.io/region", "failure-domain.beta.{long}.io/region")
_ZONE: Final = ("topology.{long}.io/zone", "failure-domain.beta.{long}.io/zone")
_NODES: Final = "SelectorSpread nodes"
_ONE: Final = (("", 1),)


@implementer(IPreScore, IColumnScore)
class SelectorSpread:
    name = "SelectorSpread"
    #: Error of the score in a profile in which the plugin is not enabled as a pre-score.
    unscored = 'reading "PreScoreSelectorSpread" from cycleState: not found'
    events = ()
    shared = True

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._selectors = DefaultSelectors(handle)
        self._region, self._zone = tuple(map(handle.dialect, _REGION)), tuple(map(handle.dialect, _ZONE))
        self._tallies: WeakValueDictionary[object, Tally] = WeakValueDictionary()

    @property
    def epoch(self) -> int:
        return self._selectors.epoch

    def zone_of(self, node: NodeView) -> tuple[str, str] | None:
        """Region and zone of a node, None without both."""
        region, zone = (
            next((node.labels[key] for key in keys if node.labels.get(key)), "") for keys in (self._region, self._zone)
        )
        return (region, zone) if region or zone else None

    def count_pods(self, template: PodTemplate) -> Tally | None:
        """The pods of the template's namespace that its services and owner select, per row; None if nothing selects
        any."""
        selector, namespace = self._selectors.selector(template), template.namespace
        if selector is None:
            return None
        tally = self._tallies.get((namespace, selector))
        if tally is None:

            def rule(other: PodTemplate) -> Sequence[tuple[str, int]]:
                return _ONE if other.namespace == namespace and selector.matches(other.labels) else ()

            tally = self._tallies[(namespace, selector)] = self._snapshot.tally(rule, live=True)
        return tally

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        state.write(_NODES, nodes)
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        selector = None if pod.template.spread else self._selectors.selector(pod.template)
        if selector is None:
            return 0
        templates = (other.template for other in node.pods.values() if not other.deleting)
        return sum(each.namespace == pod.namespace and selector.matches(each.labels) for each in templates)

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        if pod.template.spread:
            return scores
        nodes: Sequence[NodeView] = state.read(_NODES)
        return spread_scores(scores, [self.zone_of(node) for node in nodes])

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        return 0 if pod.template.spread else _Counts(self, self._snapshot, pod.template)


def spread_scores(counts: Sequence[int], zones: Sequence[tuple[str, str] | None]) -> list[int]:
    """Scores of nodes with so many pods each, in these zones."""
    of_zone: Counter[tuple[str, str]] = Counter()
    for count, zone in zip(counts, zones, strict=True):
        if zone is not None:
            of_zone[zone] += count
    most, most_in_zone = max(counts, default=0), max(of_zone.values(), default=0)
    out = []
    for count, zone in zip(counts, zones, strict=True):
        score = float(MAX_SCORE) if not most else MAX_SCORE * ((most - count) / most)
        if zone is not None:
            by_zone = (
                float(MAX_SCORE) if not most_in_zone else MAX_SCORE * ((most_in_zone - of_zone[zone]) / most_in_zone)
            )
            score = score * (1.0 - _OF_ZONE) + _OF_ZONE * by_zone
        out.append(int(score))
    return out


@implementer(IRowScore)
class _Counts:
    """Scores of the rows that passed the filters: each depends on the pods of all of them."""

    local = False
    columns = Columns.ALL

    def __init__(self, plugin: SelectorSpread, snapshot: Snapshot, template: PodTemplate) -> None:
        self._plugin = plugin
        self._snapshot = snapshot
        self._tally = plugin.count_pods(template)

    def scores(self, rows: NDArray[np.intp] | None) -> Numbers:
        at = self._snapshot
        rows = at.rows() if rows is None else rows
        column = None if self._tally is None else self._tally.rows.get("")
        counts = [0] * len(rows) if column is None else column[rows].tolist()
        zones = [self._plugin.zone_of(at.node(row)) for row in rows.tolist()]
        return np.array(spread_scores(counts, zones), dtype=np.int64)

    def normalize(self, raw: Numbers) -> Numbers | int:
        return raw
