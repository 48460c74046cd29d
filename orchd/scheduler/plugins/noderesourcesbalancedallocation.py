"""NodeResourcesBalancedAllocation: prefers nodes whose resources would have similar utilization."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from zope.interface import implementer

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.config.model import NodeResourcesBalancedAllocationArgs
from orchd.scheduler.interfaces import IColumnScore, IHandle, IRowScore, ISingleRow
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.utilization import Amounts, Fullness
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import MAX_SCORE, Columns, CycleState

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: The first release in which pods that request none of the resources are not scored.
_SKIPS_SINCE: Final = "1.33"


@implementer(IColumnScore)
class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"
    events = ()
    shared = True
    epoch = 0

    def __init__(self, handle: IHandle, args: NodeResourcesBalancedAllocationArgs) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._skips_idle = handle.release.includes(_SKIPS_SINCE)
        # Weights do not count here.
        self.fullness = Fullness(self._snapshot, [(each.name, 1) for each in args.resources], nonzero=False)

    def _counts(self, template: PodTemplate) -> bool:
        """False if pods of a template score nothing, lest those that request nothing gather on one node."""
        return not self._skips_idle or self.fullness.adds(template)

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        if not self._counts(pod.template):
            return 0
        return _balance(self.fullness.plain(pod.template, node))

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return scores

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        if not self._counts(pod.template):
            return 0
        return _Balance(self, pod.template) if self.fullness.counts(pod.template) else MAX_SCORE


def _balance(amounts: Sequence[Amounts]) -> int:
    """The score of a node."""
    parts = [min(each.requested / each.capacity, 1.0) for each in amounts]
    deviation = 0.0
    if len(parts) == 2:
        deviation = abs((parts[0] - parts[1]) / 2)
    elif len(parts) > 2:
        mean = sum(parts) / len(parts)
        deviation = sqrt(sum((part - mean) * (part - mean) for part in parts) / len(parts))
    return int((1 - deviation) * MAX_SCORE)


@implementer(IRowScore, ISingleRow)
class _Balance:
    local = True
    columns = Columns.NODE | Columns.RESOURCES

    def __init__(self, plugin: NodeResourcesBalancedAllocation, template: PodTemplate) -> None:
        self._fullness = plugin.fullness
        self._template = template

    def at(self, row: int) -> int:
        return _balance(self._fullness.at(self._template, row))

    def scores(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        amounts = self._fullness.columns(self._template, rows)
        parts = np.array([np.minimum(each.requested / np.maximum(each.capacity, 1), 1.0) for each in amounts])
        has = np.array([each.capacity != 0 for each in amounts])
        if len(parts) == 2:
            deviation = np.where(has[0] & has[1], np.abs((parts[0] - parts[1]) / 2), 0.0)
        else:
            deviation = _deviation(parts, has)
        scores: NDArray[np.int64] = ((1 - deviation) * MAX_SCORE).astype(np.int64)
        return scores

    def normalize(self, raw: NDArray[np.int64]) -> NDArray[np.int64] | int:
        return raw


def _deviation(parts: NDArray[np.float64], has: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Standard deviation per column over the resources of the node; of two resources half their difference."""
    parts = np.where(has, parts, 0.0)
    count = has.sum(axis=0)
    several = np.maximum(count, 1)
    # Summed one by one, as in the plain form, so that both round equally.
    total = np.zeros(parts.shape[1])
    for part in parts:
        total = total + part
    mean = total / several
    squares = np.zeros(parts.shape[1])
    for part, present in zip(parts, has, strict=True):
        squares = squares + np.where(present, (part - mean) * (part - mean), 0.0)
    deviation = np.sqrt(squares / several)
    spread = np.where(has, parts, -np.inf).max(axis=0, initial=-np.inf) - np.where(has, parts, np.inf).min(
        axis=0, initial=np.inf
    )
    return np.where(count < 2, 0.0, np.where(count == 2, spread / 2, deviation))
