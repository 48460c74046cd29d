"""The scheduling cycle: filters and scores that choose the node of a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from orchd.kinds.jsonvalues import Object
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.framework.evaluation import Evaluation, Evaluations
from orchd.scheduler.framework.profile import Profile
from orchd.scheduler.framework.refusals import MESSAGES, Refusals
from orchd.scheduler.framework.sampling import Sampling
from orchd.scheduler.framework.whatif import WhatIf
from orchd.scheduler.interfaces import ExtenderError, IColumnFilter, IExtender, INominator, IRowFilter, IRowScore
from orchd.scheduler.metrics import SchedulerMetrics
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import MAX_SCORE, Code, CycleState, Status, unresolvable, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Rows = NDArray[np.intp]

#: Returns the API object of the pod; None after its deletion.
PodObjectSource = Callable[[], Object | None]

#: With more nominated nodes than this, nodes that fail without their nominated pods are not evaluated a second time.
_FEW_NOMINATED = 64
NO_NODES = "no nodes available to schedule pods"
#: Extenders score 0..10, plugins 0..100.
_EXTENDER_SCALE = MAX_SCORE // 10


class CycleError(Exception):
    """A plugin or extender failed; the text is the reference's."""


class NoNodesError(CycleError):
    """The cluster has no node."""


class UnfitError(Exception):
    """No node passed the filters. Its text is the message, with what was explained since."""

    def __init__(self, refusals: Refusals, message: Callable[[Refusals], str]) -> None:
        super().__init__(refusals)
        self.refusals = refusals
        self._message = message

    def __str__(self) -> str:
        return self._message(self.refusals)


@dataclass(frozen=True, slots=True)
class Scored:
    """Normalised and weighted scores of one plugin: per feasible row, or one value for all."""

    plugin: str
    weighted: Numbers | int


@dataclass(slots=True)
class Decision:
    """The chosen node and its reasons. `rows` passed the filters; `refusals` covers the evaluated rows that did not."""

    node: str
    names: tuple[str, ...]
    rows: Rows
    scores: list[Scored] = field(default_factory=list)
    extenders: list[Numbers] = field(default_factory=list)
    total: Numbers | None = None
    refusals: Refusals | None = None

    def size(self) -> int:
        """Bytes of its arrays, roughly."""
        scores = sum(8 if isinstance(each.weighted, int) else each.weighted.nbytes for each in self.scores)
        return 500 + self.rows.nbytes + scores + (0 if self.refusals is None else self.refusals.size())


class Decider:
    """Chooses nodes for the pods of one profile. `decide` is synchronous unless the profile has extenders."""

    def __init__(
        self,
        profile: Profile,
        snapshot: Snapshot,
        nominator: INominator,
        *,
        extenders: Sequence[IExtender],
        sampling: Sampling,
        random: Random,
    ) -> None:
        self._profile = profile
        self._snapshot = snapshot
        self._nominator = nominator
        self._extenders = extenders
        self._sampling = sampling
        self._random = random
        self._metrics = profile.handle.metrics
        self._prefers_nominated = profile.handle.feature("PreferNominatedNode")
        self._message = profile.handle.release.choose(MESSAGES)
        self._evaluations = Evaluations(
            snapshot,
            [(n, each) for n, each in profile.columnar_filters if each.shared],
            [(n, each) for n, each in profile.columnar_scores if each.shared],
        )
        self._unshared = [(n, each) for n, each in profile.columnar_filters if not each.shared]
        self._unshared_scores = [(n, each) for n, each in profile.columnar_scores if not each.shared]
        pre_scored = {plugin.name for plugin in profile.pre_scores}
        #: The first score plugin whose pre-score plugin is not enabled.
        self._without_pre_score = next(
            (each for each in profile.scores if getattr(each, "unscored", "") and each.name not in pre_scored), None
        )
        prepared = {plugin.name for plugin in profile.pre_filters}
        #: The first filter whose pre-filter plugin is not enabled, with its index.
        self._without_pre_filter = next(
            (
                (n, each)
                for n, each in enumerate(profile.filters)
                if getattr(each, "unprepared", "") and each.name not in prepared
            ),
            None,
        )
        self.what_if = WhatIf(profile, nominator, self._active_filters)

    async def decide(self, state: CycleState, pod: Pod, obj: PodObjectSource) -> Decision:
        """Choose the node for a pod. `obj` returns the pod object that is sent to extenders. Raises UnfitError,
        CycleError."""
        at = self._snapshot
        if not at.count:
            raise NoNodesError(NO_NODES)
        metrics, name = self._metrics, self._profile.name
        started = metrics.now()
        refused = self._pre_filter(state, pod)
        metrics.observe_extension_point(
            "PreFilter", name, started, "Success" if refused is None else refused.code.label
        )
        if refused is not None:
            raise UnfitError(Refusals(at, at.rows(), (), {}, refused), self._message)
        started = metrics.now()
        for plugin in self._profile.working:
            await plugin.work_for_filter(state, pod)
        evaluation = self._evaluations.of(state, pod)
        self._check_prepared(evaluation)
        filtering = _Filtering(self, evaluation, state, pod)
        filtering.keep(self._only_nodes(pod))
        metrics.observe_extension_point(
            "Filter", name, started, "Success" if filtering.mask.any() else Code.UNSCHEDULABLE.label
        )
        if state.timed:
            filtering.time_node(metrics, self._sampling.next_row(at))
        rows = await self._nominated_row(filtering, pod, obj)
        if rows is None:
            rows = self._sampling.choose(at, filtering.mask)
            rows = await self._ask_extenders(pod, obj, rows, filtering.single)
        if not len(rows):
            raise UnfitError(filtering.refusals(), self._message)
        decision = Decision("", at.names(), rows, refusals=filtering.refusals() if filtering.any_refused else None)
        if len(rows) == 1:
            decision.node = decision.names[int(rows[0])]
            return decision
        await self._score(evaluation, state, pod, obj, decision)
        total = decision.total
        assert total is not None
        best = np.nonzero(total == total.max())[0]
        chosen = int(best[self._random.randrange(len(best))]) if len(best) > 1 else int(best[0])
        decision.node = decision.names[int(rows[chosen])]
        return decision

    def _check_prepared(self, evaluation: Evaluation) -> None:
        """Raise CycleError if any node reaches a filter whose pre-filter plugin is not enabled."""
        if self._without_pre_filter is None:
            return
        index, plugin = self._without_pre_filter
        reached = self._snapshot.alive.copy()
        for part in evaluation.filters:
            if part.index < index and part.column is not None:
                reached &= part.column == 0
        if reached.any():
            raise CycleError(f'running "{plugin.name}" filter plugin: {plugin.unprepared}')

    def _active_filters(self, state: CycleState, pod: Pod) -> list[Any]:
        """The filters that can reject the pod: compiled ones that apply to it, and all plain ones."""
        idle = {part.index for part in self._evaluations.of(state, pod).filters if part.compiled is None}
        idle |= {index for index, plugin in self._unshared if plugin.compile_filter(state, pod) is None}
        return [plugin for index, plugin in enumerate(self._profile.filters) if index not in idle]

    def _pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        for plugin in self._profile.pre_filters:
            started = self._metrics.now() if state.timed else 0.0
            status: Status | None = plugin.pre_filter(state, pod)
            if state.timed:
                self._metrics.observe_plugin("PreFilter", plugin.name, started, status)
            if status is not None:
                if not status.rejected:
                    raise CycleError(f'running PreFilter plugin "{plugin.name}": {status.message}')
                return Status(status.code, status.reasons, plugin.name)
        return None

    def _only_nodes(self, pod: Pod) -> tuple[frozenset[str], Status] | None:
        """The only nodes on which pre-filter plugins let the pod run, and the status of the others; None for all
        nodes."""
        asked = {plugin.name: plugin.only_nodes(pod) for plugin in self._profile.choosing}
        named = {plugin: names for plugin, names in asked.items() if names is not None}
        if not named:
            return None
        plugins = " ".join(sorted(named))
        return frozenset.intersection(*named.values()), unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")

    async def _nominated_row(self, filtering: _Filtering, pod: Pod, obj: PodObjectSource) -> Rows | None:
        """The row of the pod's nominated node if it passes the filters; it is preferred over all others."""
        if not pod.nominated or not self._prefers_nominated:
            return None
        row = self._snapshot.row_of(pod.nominated)
        if row < 0 or not filtering.mask[row]:
            return None
        rows = await self._ask_extenders(pod, obj, np.array([row], dtype=np.intp), {})
        return rows if len(rows) else None

    # -- extenders

    async def _ask_extenders(self, pod: Pod, obj: PodObjectSource, rows: Rows, single: dict[int, Status]) -> Rows:
        for extender in self._extenders:
            if not len(rows):
                break
            if not extender.filters or not extender.interested(pod):
                continue
            names = [self._snapshot.name_of(row) for row in rows.tolist() if self._snapshot.alive[row]]
            try:
                verdict = await extender.filter(obj() or {}, names)
            except ExtenderError as error:
                if extender.ignorable:
                    continue
                raise CycleError(str(error)) from None
            for name, reason in verdict.unresolvable.items():
                self._note(single, name, unresolvable(reason))
            for name, reason in verdict.failed.items():
                if name not in verdict.unresolvable:
                    self._note(single, name, unschedulable(reason))
            left = (self._snapshot.row_of(name) for name in verdict.nodes)
            rows = np.array([row for row in left if row >= 0], dtype=np.intp)
        return rows

    def _note(self, single: dict[int, Status], name: str, status: Status) -> None:
        row = self._snapshot.row_of(name)
        if row >= 0:
            before = single.get(row)
            reasons = status.reasons if before is None else (*before.reasons, *status.reasons)
            code = status.code if before is None or status.code is Code.UNRESOLVABLE else before.code
            single[row] = Status(code, reasons)

    # -- scores

    async def _score(
        self, evaluation: Evaluation, state: CycleState, pod: Pod, obj: PodObjectSource, decision: Decision
    ) -> None:
        rows, profile, metrics = decision.rows, self._profile, self._metrics
        point_started = metrics.now()
        by_index: dict[int, tuple[IRowScore | int, Numbers | None]] = {
            part.index: (part.compiled, part.column) for part in evaluation.scores
        }
        for index, plugin in self._unshared_scores:
            by_index[index] = (plugin.compile_score(state, pod), None)
        plain = [each for n, each in enumerate(profile.scores) if n not in by_index]
        views = [self._snapshot.node(int(row)) for row in rows] if plain else []
        if plain:
            for plugin in profile.pre_scores:
                started = metrics.now()
                status = plugin.pre_score(state, pod, views)
                if state.timed:
                    metrics.observe_plugin("PreScore", plugin.name, started, status)
                if status is not None:
                    raise CycleError(f'running PreScore plugin "{plugin.name}": {status.message}')
        metrics.observe_extension_point("PreScore", profile.name, point_started)
        if self._without_pre_score is not None:
            missing = self._without_pre_score
            raise CycleError(f'running Score plugins: plugin "{missing.name}" failed with: {missing.unscored}')
        point_started = started = metrics.now()
        total: Numbers | None = None
        constant = 0
        for index, plugin in enumerate(profile.scores):
            if index not in by_index:
                scores: Numbers | int = self._plain_score(state, pod, plugin, views)
            else:
                compiled, raw = by_index[index]
                if isinstance(compiled, int):
                    scores = compiled
                else:
                    scores = compiled.normalize(compiled.scores(rows) if raw is None else raw[rows])
            weighted = scores * profile.weights[index]
            if isinstance(weighted, int):
                constant += weighted
            else:
                total = weighted if total is None else total + weighted
            decision.scores.append(Scored(plugin.name, weighted))
            if state.timed:
                metrics.observe_plugin("Score", plugin.name, started)
                started = metrics.now()
        if not profile.scores and not self._extenders:
            constant = 1
        total = np.full(len(rows), constant, dtype=np.int64) if total is None else total + constant
        metrics.observe_extension_point("Score", profile.name, point_started)
        decision.total = await self._add_extenders(pod, obj, decision, total)

    @staticmethod
    def _plain_score(state: CycleState, pod: Pod, plugin: Any, views: Sequence[Any]) -> Numbers:
        raw = [plugin.score(state, pod, view) for view in views]
        scores = np.array(plugin.normalize(state, pod, raw), dtype=np.int64)
        if ((scores < 0) | (scores > MAX_SCORE)).any():
            wrong = int(scores[(scores < 0) | (scores > MAX_SCORE)][0])
            raise CycleError(
                f'plugin "{plugin.name}" returns an invalid score {wrong}, it should in the range of [0, {MAX_SCORE}]'
                " after normalizing"
            )
        return scores

    async def _add_extenders(self, pod: Pod, obj: PodObjectSource, decision: Decision, total: Numbers) -> Numbers:
        asked = [each for each in self._extenders if each.prioritizes and each.interested(pod)]
        if not asked:
            return total
        names = [decision.names[row] for row in decision.rows.tolist()]
        for extender in asked:
            try:
                scores_by_node = await extender.prioritize(obj() or {}, names)
            except ExtenderError:
                # The reference ignores errors of prioritize calls too.
                continue
            scores = (
                np.array([scores_by_node.get(name, 0) for name in names], dtype=np.int64)
                * extender.weight
                * _EXTENDER_SCALE
            )
            decision.extenders.append(scores)
            total = total + scores
        return total


class _Filtering:
    """The filter phase of one cycle: the rows that pass, and the statuses of those that do not."""

    def __init__(self, decider: Decider, evaluation: Evaluation, state: CycleState, pod: Pod) -> None:
        self._snapshot = decider._snapshot
        self._what_if = decider.what_if
        self._filters = decider._profile.filters
        self.single: dict[int, Status] = {}
        self.mask: NDArray[np.bool_] = evaluation.passing.copy()
        self._codes: list[tuple[int, IRowFilter, Numbers]] = []
        self._may_fail = False
        for part in evaluation.filters:
            if part.compiled is not None:
                self._add(part.index, part.compiled, part.column, joined=part.local)
        # Filters that read other objects may find them invalid, which fails the cycle.
        self._may_fail = True
        for index, plugin in decider._unshared:
            compiled = plugin.compile_filter(state, pod)
            if compiled is not None:
                self._add(index, compiled, None, joined=False)
        self._run_plain(decider._profile.plain_filters, state, pod)
        self._count_nominated(decider._nominator, state, pod)

    def _add(self, index: int, compiled: IRowFilter, codes: Numbers | None, *, joined: bool) -> None:
        if codes is None:
            codes = compiled.codes(None)
        self._codes.append((index, compiled, codes))
        if joined:
            return
        refused = codes != 0
        if not refused.any():
            return
        if self._may_fail:
            for code in np.unique(codes[self.mask & refused]).tolist():
                status = compiled.status(code)
                if not status.rejected:
                    raise CycleError(f'running "{self._filters[index].name}" filter plugin: {status.message}')
        self.mask &= ~refused

    def time_node(self, metrics: SchedulerMetrics, row: int) -> None:
        """Record the duration of each columnar filter for one node, up to the first that rejects it."""
        compiled = {index: each for index, each, _ in self._codes}
        rows = np.array([row], dtype=np.intp)
        for index, plugin in enumerate(self._filters):
            if not IColumnFilter.providedBy(plugin):
                continue
            judge, started = compiled.get(index), metrics.now()
            code = 0 if judge is None else int(judge.codes(rows)[0])
            status = judge.status(code) if code and judge is not None else None
            metrics.observe_plugin("Filter", plugin.name, started, status)
            if status is not None:
                return

    def _run_plain(self, plugins: Iterable[Any], state: CycleState, pod: Pod) -> None:
        """Run plain filters (drop-ins) on the remaining nodes."""
        for plugin in plugins:
            for row in np.nonzero(self.mask)[0].tolist():
                status = plugin.filter(state, pod, self._snapshot.node(row))
                if status is None:
                    continue
                if not status.rejected:
                    raise CycleError(f'running "{plugin.name}" filter plugin: {status.message}')
                self.mask[row] = False
                self.single[row] = Status(status.code, status.reasons, plugin.name)

    def _count_nominated(self, nominator: INominator, state: CycleState, pod: Pod) -> None:
        """Reject nodes on which the pod does not fit together with the nominated pods of at least its priority."""
        prepared, few = False, len(nominator.nodes()) <= _FEW_NOMINATED
        for name in nominator.nodes():
            row = self._snapshot.row_of(name)
            # For a rejected node only the reason could change.
            if row >= 0 and (few or self.mask[row]) and self._what_if.nominated(pod, name):
                if not prepared:
                    self._what_if.prepare(state, pod)
                    prepared = True
                status = self._what_if.run_with_nominated(state, pod, self._snapshot.node(row))
                if status is not None:
                    self.mask[row] = False
                    self.single[row] = status

    def keep(self, only: tuple[frozenset[str], Status] | None) -> None:
        """Reject all rows but those of the named nodes, with the status given."""
        if only is None:
            return
        names, status = only
        kept = {self._snapshot.row_of(name) for name in names}
        for row in self._snapshot.rows().tolist():
            if row not in kept:
                self.mask[row] = False
                self.single[row] = status

    @property
    def any_refused(self) -> bool:
        """True if any node was rejected."""
        return bool(self.single) or int(np.count_nonzero(self.mask)) < self._snapshot.count

    def refusals(self) -> Refusals:
        """Why rows were refused. Codes are copied, so that it stays true."""
        rows = np.nonzero(self._snapshot.alive & ~self.mask)[0]
        judged = [(self._filters[n].name, judge, codes) for n, judge, codes in sorted(self._codes, key=lambda f: f[0])]
        return Refusals(self._snapshot, rows, judged, self.single)
