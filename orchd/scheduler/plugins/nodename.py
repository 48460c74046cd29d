"""NodeName: a pod whose spec names a node may run only there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from zope.interface import implementer

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IRowFilter
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, unresolvable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED = unresolvable("node(s) didn't match the requested node name")


@implementer(IColumnFilter)
class NodeName:
    name = "NodeName"
    events = (ClusterEvent("nodes", Action.ADD),)
    # The name is the pod's own, not its template's.
    shared = False
    epoch = 0

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        return None if pod.node_name in ("", node.name) else REFUSED

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        node_name = pod.node_name
        return _OnlyRow(self._snapshot, node_name) if node_name else None


@implementer(IRowFilter)
class _OnlyRow:
    local = True
    columns = Columns.ROWS

    def __init__(self, snapshot: Snapshot, node_name: str) -> None:
        self._snapshot = snapshot
        self._node_name = node_name

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        rows = np.arange(self._snapshot.size) if rows is None else rows
        codes: NDArray[np.int64] = (rows != self._snapshot.row_of(self._node_name)).astype(np.int64)
        return codes

    def status(self, code: int) -> Status:
        return REFUSED
