"""TaintToleration: taints reject pods, or lower the score of a node.

Nodes usually share few lists of taints, so each list is judged once per template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.kinds.objects.placement import find_untolerated_taint
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IColumnScore, IHandle, IPreScore, IRowFilter, IRowScore
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.scoring import scale, scale_plain
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import MAX_SCORE, Action, ClusterEvent, Columns, CycleState, Status, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Effects that reject a pod, and the one that only lowers the score.
_HARD, _SOFT = ("NoSchedule", "NoExecute"), "PreferNoSchedule"
Taints = Sequence[Mapping[str, str]]


def name_taint(taint: Mapping[str, str]) -> Status:
    """The status for the first taint that is not tolerated, with the taint."""
    return unresolvable(
        f"node(s) had taint {{{taint.get('key', '')}: {taint.get('value') or ''}}}, that the pod didn't tolerate"
    )


def summarize_taints(taint: Mapping[str, str]) -> Status:
    """The same status for all taints, so that messages about many nodes stay short."""
    return unresolvable("node(s) had untolerated taint(s)")


#: By the release that begins a rule.
_REFUSALS: Final[Sequence[tuple[str, Callable[[Mapping[str, str]], Status]]]] = (
    ("", name_taint), ("1.35", summarize_taints),
)  # fmt: skip


@implementer(IColumnFilter, IPreScore, IColumnScore)
class TaintToleration:
    name = "TaintToleration"
    #: Error of the score in a profile in which the plugin is not enabled as a pre-score.
    unscored = 'failed to read "PreScoreTaintToleration" from cycleState: not found'
    events = (ClusterEvent("nodes", Action.ADD | Action.UPDATE_TAINT),)
    shared = True

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._refusal = handle.release.choose(_REFUSALS)

    @property
    def epoch(self) -> int:
        """Filters are recompiled for a new list of taints."""
        return self._snapshot.taint_version

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        taint = find_untolerated_taint(node.facts.taints, pod.template.tolerations, _HARD)
        return None if taint is None else self._refusal(taint)

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        tolerations = pod.template.tolerations
        untolerated = [find_untolerated_taint(taints, tolerations, _HARD) for taints in self._snapshot.taint_lists]
        return self._tainted(untolerated) if any(taint is not None for taint in untolerated) else None

    def _tainted(self, untolerated: Sequence[Mapping[str, str] | None]) -> _Tainted:
        return _Tainted(self._snapshot, [None if taint is None else self._refusal(taint) for taint in untolerated])

    def pre_score(self, state: CycleState, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        return _soft(pod.template)(node.facts.taints)

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return scale_plain(scores, reverse=True)

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        counts = list(map(_soft(pod.template), self._snapshot.taint_lists))
        return _Untolerated(self._snapshot, np.array(counts, dtype=np.int64)) if any(counts) else MAX_SCORE


def _soft(template: PodTemplate) -> Callable[[Taints], int]:
    """Counts the PreferNoSchedule taints of a list that the template does not tolerate."""

    def count(taints: Taints) -> int:
        return sum(taint.get("effect") == _SOFT and not template.tolerations.has(taint) for taint in taints)

    return count


@implementer(IRowFilter)
class _Tainted:
    """The code of a row is 1 plus the number of its taint list."""

    local = True
    columns = Columns.NODE

    def __init__(self, snapshot: Snapshot, statuses: Sequence[Status | None]) -> None:
        self._snapshot = snapshot
        self._statuses = statuses
        self._codes = np.array([0 if each is None else 1 + n for n, each in enumerate(statuses)], dtype=np.int64)

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        lists = self._snapshot.taints if rows is None else self._snapshot.taints[rows]
        codes: NDArray[np.int64] = self._codes[lists]
        return codes

    def status(self, code: int) -> Status:
        status = self._statuses[code - 1]
        assert status is not None
        return status


@implementer(IRowScore)
class _Untolerated:
    local = True
    columns = Columns.NODE

    def __init__(self, snapshot: Snapshot, counts: NDArray[np.int64]) -> None:
        self._snapshot = snapshot
        self._counts = counts

    def scores(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        lists = self._snapshot.taints if rows is None else self._snapshot.taints[rows]
        scores: NDArray[np.int64] = self._counts[lists]
        return scores

    def normalize(self, raw: NDArray[np.int64]) -> NDArray[np.int64] | int:
        return scale(raw, reverse=True)
