"""PodTopologySpread: spreads the pods that a selector matches over topology domains, as a filter and as a score."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np
from zope.interface import implementer

from orchd.kinds.objects.placement import find_untolerated_taint
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.columns.tallies import Tally, by_domain
from orchd.scheduler.config.model import SYSTEM_DEFAULTING, PodTopologySpreadArgs
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
from orchd.scheduler.plugins import podtopologyspread_plain
from orchd.scheduler.plugins.defaultspread import DefaultSelectors
from orchd.scheduler.plugins.nodes import required_rows
from orchd.scheduler.plugins.podtopologyspread_plain import HARD, MISSING_LABEL, SKEWED, SPREAD_RULES
from orchd.scheduler.pods import Pod, PodTemplate, SpreadConstraint
from orchd.scheduler.values import MAX_SCORE, Action, ClusterEvent, Columns, CycleState, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

_PLAIN = "PodTopologySpread/plain"
_PLAIN_SCORE = "PodTopologySpread/plain score"
_SKEWED, _MISSING = 1, 2


@implementer(IPreFilter, IPreFilterExtensions, IColumnFilter, IPreScore, IColumnScore)
class PodTopologySpread:
    name = "PodTopologySpread"
    #: Error of the score in a profile in which the plugin is not enabled as a pre-score.
    unscored = 'error reading "PreScorePodTopologySpread" from cycleState: not found'
    #: Error of the filter in a profile in which the plugin is not enabled as a pre-filter.
    unprepared = 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    events = (ClusterEvent("pods", Action.ALL), ClusterEvent("nodes", Action.ADD | Action.DELETE | Action.UPDATE_LABEL))
    shared = True

    def __init__(self, handle: IHandle, args: PodTopologySpreadArgs) -> None:
        self._snapshot: Snapshot = handle.snapshot
        dialect = handle.dialect
        self.rule = handle.release.choose(SPREAD_RULES)
        self._hostname = dialect("{long}.io/hostname")
        self._system = args.defaulting_type == SYSTEM_DEFAULTING
        constraints = (
            (("{long}.io/hostname", 3, False), ("topology.{long}.io/zone", 5, False))
            if self._system
            else [
                (each["topologyKey"], int(each["maxSkew"]), each["whenUnsatisfiable"] == "DoNotSchedule")
                for each in args.default_constraints
            ]
        )
        #: Topology key, skew and hardness of the default constraints.
        self._defaults = tuple((dialect(key), skew, hard) for key, skew, hard in constraints)
        self._selectors = DefaultSelectors(handle) if self._defaults else None
        self._tallies: WeakValueDictionary[object, Tally] = WeakValueDictionary()

    @property
    def epoch(self) -> int:
        return 0 if self._selectors is None else self._selectors.epoch

    def constraints(self, template: PodTemplate, *, hard: bool) -> tuple[SpreadConstraint, ...]:
        """The constraints of one sort that apply to a template."""
        if template.spread:
            return tuple(each for each in template.spread if each.hard == hard)
        if self._selectors is None or not any(each[2] == hard for each in self._defaults):
            return ()
        selector = self._selectors.selector(template)
        if selector is None:
            return ()
        return tuple(
            SpreadConstraint(key, skew, is_hard, selector) for key, skew, is_hard in self._defaults if is_hard == hard
        )

    def all_keys(self, template: PodTemplate) -> bool:
        """True if only nodes with all topology keys are scored."""
        return bool(template.spread) or not self._system

    def count_pods(self, template: PodTemplate, constraint: SpreadConstraint) -> Tally:
        """Pods of the template's namespace that a constraint counts, per row."""
        namespace, selector = template.namespace, constraint.selector
        key = (namespace, selector)
        tally = self._tallies.get(key)
        if tally is None:
            nothing = selector.everything and not self.rule.counts_everything

            def rule(other: PodTemplate) -> Sequence[tuple[str, int]]:
                return _ONE if other.namespace == namespace and not nothing and selector.matches(other.labels) else ()

            tally = self._tallies[key] = self._snapshot.tally(rule, live=True)
        return tally

    # -- filter

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        return None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        constraints = self.constraints(pod.template, hard=True)
        return _Skews(self, self._snapshot, pod.template, constraints) if constraints else None

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        constraints = self.constraints(pod.template, hard=True)
        if not constraints:
            return None
        if state.get(_PLAIN) is None:
            self.prepare_plain(state, pod)
        counts: podtopologyspread_plain.Counts = state.read(_PLAIN)
        return counts.judge(node)

    def prepare_plain(self, state: CycleState, pod: Pod) -> None:
        constraints = self.constraints(pod.template, hard=True)
        if constraints:
            state.write(_PLAIN, podtopologyspread_plain.Counts(pod.template, constraints, self.rule, self._snapshot))

    def add_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        counts = state.get(_PLAIN)
        if counts is not None:
            counts.change(other, node, 1)

    def remove_pod(self, state: CycleState, pod: Pod, other: Pod, node: NodeView) -> None:
        counts = state.get(_PLAIN)
        if counts is not None:
            counts.change(other, node, -1)

    # -- score

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        constraints = self.constraints(pod.template, hard=False)
        if not constraints:
            return MAX_SCORE
        return _Spread(self, self._snapshot, pod.template, constraints, self._hostname)

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        constraints = self.constraints(pod.template, hard=False)
        state.write(
            _PLAIN_SCORE,
            podtopologyspread_plain.Scores(
                pod.template, constraints, self._snapshot, nodes,
                all_keys=self.all_keys(pod.template), hostname=self._hostname, rule=self.rule,
            ),
        )  # fmt: skip
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        scores: podtopologyspread_plain.Scores = state.read(_PLAIN_SCORE)
        return scores.score(node)

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return podtopologyspread_plain.normalize(scores)


_ONE = (("", 1),)


class _Eligible:
    """The nodes that the policies of constraints include."""

    def __init__(self, snapshot: Snapshot, template: PodTemplate) -> None:
        self._snapshot = snapshot
        self._template = template

    def rows(self, constraint: SpreadConstraint) -> NDArray[np.bool_]:
        """True for eligible rows, in a new array."""
        at = self._snapshot
        eligible = at.alive.copy()
        if constraint.honors_affinity:
            chosen = required_rows(at, self._template)
            if chosen is not None:
                eligible &= chosen
        if constraint.honors_taints:
            tolerations = self._template.tolerations
            passing = [find_untolerated_taint(taints, tolerations, HARD) is None for taints in at.taint_lists]
            eligible &= np.array(passing, dtype=np.bool_)[at.taints]
        return eligible


class _Counted:
    """Constraints with the pods that they count. These are counted when nodes have all topology keys: a pod may name
    thousands that none has."""

    def __init__(
        self, plugin: PodTopologySpread, template: PodTemplate, constraints: Sequence[SpreadConstraint]
    ) -> None:
        self._plugin = plugin
        self._template = template
        self._constraints = constraints
        self._counted: list[tuple[SpreadConstraint, Tally]] | None = None

    def keys_exist(self, snapshot: Snapshot) -> bool:
        """True if each topology key is a label of some node."""
        return all(snapshot.has_label(each.topology_key) for each in self._constraints)

    def constraints(self) -> list[tuple[SpreadConstraint, Tally]]:
        if self._counted is None:
            self._counted = [(each, self._plugin.count_pods(self._template, each)) for each in self._constraints]
        return self._counted


def _column(tally: Tally, size: int) -> Numbers:
    counts = tally.rows.get("")
    return np.zeros(size, dtype=np.int64) if counts is None else counts


@implementer(IRowFilter)
class _Skews:
    """DoNotSchedule constraints. Never local: one pod anywhere may change the minimum count."""

    local = False
    columns = Columns.ALL

    def __init__(
        self,
        plugin: PodTopologySpread,
        snapshot: Snapshot,
        template: PodTemplate,
        constraints: Sequence[SpreadConstraint],
    ) -> None:
        self._snapshot = snapshot
        self._eligible = _Eligible(snapshot, template)
        self._rule = plugin.rule
        self._counted = _Counted(plugin, template, constraints)
        self._own = [int(each.selector.matches(template.labels)) for each in constraints]

    def codes(self, rows: NDArray[np.intp] | None) -> Numbers:
        at = self._snapshot
        if not self._counted.keys_exist(at):
            return np.full(at.size if rows is None else len(rows), _MISSING, dtype=np.int64)
        constraints = self._counted.constraints()
        labels = [at.label(each.topology_key) for each, _ in constraints]
        keyed = at.alive.copy()
        for column in labels:
            keyed &= column >= 0
        codes = np.zeros(at.size, dtype=np.int64)
        # The first failing constraint determines the code.
        for (constraint, tally), own, column in reversed(list(zip(constraints, self._own, labels, strict=True))):
            # Domains are those of eligible nodes that have all topology keys.
            eligible = keyed & self._eligible.rows(constraint)
            domains = np.bincount(column[eligible], minlength=int(column.max(initial=-1)) + 1) > 0
            pods = by_domain(_column(tally, at.size), column, eligible if self._rule.eligible_only else None)
            counts = np.where(domains, pods, 0)
            if domains.any():
                enough = np.count_nonzero(domains) >= constraint.min_domains
                least = int(counts[domains].min()) if enough else 0
                over = np.append(counts + own - least > constraint.max_skew, False)
                codes[over[column]] = _SKEWED
            codes[column < 0] = _MISSING
        return codes if rows is None else codes[rows]

    def status(self, code: int) -> Status:
        return SKEWED if code == _SKEWED else MISSING_LABEL


@implementer(IRowScore)
class _Spread:
    """ScheduleAnyway constraints, including default ones."""

    local = False
    columns = Columns.ALL

    def __init__(
        self,
        plugin: PodTopologySpread,
        snapshot: Snapshot,
        template: PodTemplate,
        constraints: Sequence[SpreadConstraint],
        hostname: str,
    ) -> None:
        self._snapshot = snapshot
        self._eligible = _Eligible(snapshot, template)
        self._rule = plugin.rule
        self._counted = _Counted(plugin, template, constraints)
        self._all_keys = plugin.all_keys(template)
        self._hostname = hostname

    def scores(self, rows: NDArray[np.intp] | None) -> Numbers:
        at = self._snapshot
        rows = at.rows() if rows is None else rows
        if self._all_keys and not self._counted.keys_exist(at):
            return np.full(len(rows), podtopologyspread_plain.IGNORED, dtype=np.int64)
        constraints = self._counted.constraints()
        labels = [at.label(each.topology_key) for each, _ in constraints]
        keyed = at.alive.copy()
        ignored = np.zeros(len(rows), dtype=np.bool_)
        if self._all_keys:
            for column in labels:
                keyed &= column >= 0
                ignored |= column[rows] < 0
        total = np.zeros(len(rows))
        for (constraint, tally), column in zip(constraints, labels, strict=True):
            here = column[rows]
            if here.max(initial=-1) < 0:
                continue
            pods = _column(tally, at.size)
            if constraint.topology_key == self._hostname:
                size, counts = len(rows) - int(ignored.sum()), pods[rows]
            else:
                # Nodes without the key form one domain.
                size = len(np.unique(here[~ignored]))
                sums = np.append(by_domain(pods, column, keyed & self._eligible.rows(constraint)), 0)
                counts = sums[here]
            credit = counts * log(size + 2) + (constraint.max_skew - 1)
            total += np.where(here >= 0, credit, 0.0)
        scores = (np.floor(total + 0.5) if self._rule.rounded else total).astype(np.int64)
        scores[ignored] = podtopologyspread_plain.IGNORED
        return scores

    def normalize(self, raw: Numbers) -> Numbers | int:
        ignored = raw == podtopologyspread_plain.IGNORED
        most = int(raw.max(initial=0))
        if most <= 0:
            return np.where(ignored, 0, MAX_SCORE).astype(np.int64) if ignored.any() else MAX_SCORE
        least = int(raw[~ignored].min())
        return np.where(ignored, 0, MAX_SCORE * (most + least - raw) // most).astype(np.int64)
