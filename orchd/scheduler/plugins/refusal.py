"""A row filter that rejects every node with the same status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from zope.interface import implementer

from orchd.scheduler.interfaces import IRowFilter, ISnapshot
from orchd.scheduler.values import Columns, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray


@implementer(IRowFilter)
class UniformRefusal:
    """Rejects every row with one status."""

    local = False
    columns = Columns.NODE

    def __init__(self, snapshot: ISnapshot, status: Status) -> None:
        self._snapshot = snapshot
        self._status = status

    def codes(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        return np.ones(self._snapshot.size if rows is None else len(rows), dtype=np.int64)

    def status(self, code: int) -> Status:
        return self._status
