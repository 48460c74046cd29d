"""NodeUnschedulable: rejects cordoned nodes for pods without the toleration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from zope.interface import implementer

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IRowFilter
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED = unresolvable("node(s) were unschedulable")


@implementer(IColumnFilter)
class NodeUnschedulable:
    name = "NodeUnschedulable"
    events = (ClusterEvent("nodes", Action.ADD | Action.UPDATE_TAINT),)
    shared = True
    epoch = 0

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot
        self._taint = {"key": handle.dialect("node.{long}.io/unschedulable"), "effect": "NoSchedule"}

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        return REFUSED if node.facts.unschedulable and not self._tolerated(pod.template) else None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        return None if self._tolerated(pod.template) else _Cordoned(self._snapshot)

    def _tolerated(self, template: PodTemplate) -> bool:
        return template.tolerations.has(self._taint)


@implementer(IRowFilter)
class _Cordoned:
    local = True
    columns = Columns.NODE

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        column = self._snapshot.unschedulable
        return (column if rows is None else column[rows]).astype(np.int64)

    def status(self, code: int) -> Status:
        return REFUSED
