"""NodePorts: host ports that a pod requests must be free on the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from zope.interface import implementer

from orchd.scheduler.columns.ports import conflicts
from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnFilter, IHandle, IPreFilter, IRowFilter
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import HostPort, Pod, PodTemplate
from orchd.scheduler.values import Action, ClusterEvent, Columns, CycleState, Status, unschedulable

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFUSED = unschedulable("node(s) didn't have free ports for the requested pod ports")


@implementer(IPreFilter, IColumnFilter)
class NodePorts:
    name = "NodePorts"
    #: Error of the filter in a profile in which the plugin is not enabled as a pre-filter.
    unprepared = 'reading "PreFilterNodePorts" from cycleState: not found'
    events = (ClusterEvent("pods", Action.DELETE), ClusterEvent("nodes", Action.ADD))
    shared = True
    epoch = 0

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot

    def pre_filter(self, state: CycleState, pod: Pod) -> Status | None:
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeView) -> Status | None:
        return REFUSED if pod.template.ports and ports_taken(pod.template, node) else None

    def compile_filter(self, state: CycleState, pod: Pod) -> IRowFilter | None:
        ports = pod.template.ports
        return _Taken(self._snapshot, ports) if ports else None


def ports_taken(template: PodTemplate, node: NodeView) -> bool:
    """True if a pod on the node uses a host port that the template requests."""
    used = [each for other in node.pods.values() for each in other.template.ports]
    return any(
        port == other_port and protocol == other_protocol and conflicts(ip, (other_ip,))
        for ip, protocol, port in template.ports
        for other_ip, other_protocol, other_port in used
    )


@implementer(IRowFilter)
class _Taken:
    local = True
    columns = Columns.PORTS

    def __init__(self, snapshot: Snapshot, ports: tuple[HostPort, ...]) -> None:
        self._snapshot = snapshot
        self._ports = ports

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        if rows is not None:
            return np.array([self._has_conflict(int(row)) for row in rows], dtype=np.int64)
        codes = np.zeros(self._snapshot.size, dtype=np.int64)
        for ip, protocol, port in self._ports:
            for row, ips in self._snapshot.ports.used(protocol, port).items():
                codes[row] |= conflicts(ip, ips)
        return codes

    def _has_conflict(self, row: int) -> bool:
        used = self._snapshot.ports.used
        return any(conflicts(ip, used(protocol, port).get(row, ())) for ip, protocol, port in self._ports)

    def status(self, code: int) -> Status:
        return REFUSED
