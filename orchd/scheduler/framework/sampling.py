"""Selection of the nodes that are scored for a pod: their number, and which ones, round-robin from the end of the last
search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from orchd.scheduler.columns.snapshot import Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Fewer feasible nodes than this are never enough, and the least percentage.
_LEAST_NODES, _LEAST_PERCENTAGE = 100, 5


class Sampling:
    """`percentage` is percentageOfNodesToScore; 0 adapts it to the number of nodes. Shared by all profiles."""

    def __init__(self, percentage: int) -> None:
        self._percentage = percentage
        #: Where the next search starts, among the nodes in visiting order.
        self.position = 0

    def count_feasible(self, nodes: int) -> int:
        """The number of feasible nodes after which the search stops."""
        if nodes < _LEAST_NODES or self._percentage >= 100:
            return nodes
        percentage = self._percentage or max(_LEAST_PERCENTAGE, 50 - nodes // 125)
        return max(_LEAST_NODES, nodes * percentage // 100)

    def next_row(self, snapshot: Snapshot) -> int:
        """The row at which the next search starts. There must be a node."""
        order = snapshot.rows()
        return int(order[self.position % len(order)])

    def choose(self, snapshot: Snapshot, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The first feasible rows, up to the required number."""
        count = self.count_feasible(snapshot.count)
        if count >= snapshot.count:
            # The next search starts at the same row: every node was visited.
            return np.nonzero(mask)[0]
        order = snapshot.rows()
        start = self.position % len(order)
        first = order[start : start + count]
        if len(first) == count and mask[first].all() and np.count_nonzero(mask) > count:
            # The usual case: the next nodes are all feasible, and there are more.
            self.position = (start + count) % len(order)
            return first
        visited = np.concatenate((order[start:], order[:start]))
        feasible = np.nonzero(mask[visited])[0]
        looked_at = len(visited)
        if len(feasible) > count:
            feasible = feasible[:count]
            looked_at = int(feasible[-1]) + 1
        self.position = (start + looked_at) % len(order)
        rows: NDArray[np.intp] = visited[feasible]
        return rows
