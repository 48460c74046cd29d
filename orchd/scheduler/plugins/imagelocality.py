"""ImageLocality: prefers nodes that have a pod's images. Large images, and images that many nodes have, count more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from zope.interface import implementer

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.interfaces import IColumnScore, IHandle, IRowScore
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import MAX_SCORE, Columns, CycleState

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MIB = 1024 * 1024
#: Total bytes of images up to which a node scores 0, and bytes per container from which it scores `MAX_SCORE`.
_MIN_BYTES, _MAX_BYTES_PER_CONTAINER = 23 * _MIB, 1000 * _MIB


def normalize_name(name: str) -> str:
    """An image name with its tag, `latest` by default."""
    return name if name.rfind(":") > name.rfind("/") else name + ":latest"


def _score(total: int, containers: int) -> int:
    most = _MAX_BYTES_PER_CONTAINER * containers
    total = min(max(total, _MIN_BYTES), most)
    return MAX_SCORE * (total - _MIN_BYTES) // (most - _MIN_BYTES)


@implementer(IColumnScore)
class ImageLocality:
    name = "ImageLocality"
    events = ()
    shared = True

    def __init__(self, handle: IHandle, args: object) -> None:
        self._snapshot: Snapshot = handle.snapshot

    @property
    def epoch(self) -> int:
        # Scores depend on which nodes have an image and on the number of nodes.
        return self._snapshot.images.version * 1_000_003 + self._snapshot.count

    def score(self, state: CycleState, pod: Pod, node: NodeView) -> int:
        total = 0
        for name in map(normalize_name, pod.template.container_images):
            rows = self._snapshot.images.rows(name)
            size = next((size for names, size in node.facts.images if name in names), None)
            if size is not None:
                total += int(size * (len(rows) / self._snapshot.count))
        return _score(total, len(pod.template.container_images))

    def normalize(self, state: CycleState, pod: Pod, scores: Sequence[int]) -> Sequence[int]:
        return scores

    def compile_score(self, state: CycleState, pod: Pod) -> IRowScore | int:
        scores = _ImageScores(self._snapshot, pod.template)
        return scores if scores.has_image else 0


@implementer(IRowScore)
class _ImageScores:
    """Scores of all rows for one template."""

    local = True
    columns = Columns.ROWS

    def __init__(self, snapshot: Snapshot, template: PodTemplate) -> None:
        totals = np.zeros(snapshot.size, dtype=np.int64)
        self.has_image = False
        for name in map(normalize_name, template.container_images):
            rows = snapshot.images.rows(name)
            for row, size in rows.items():
                totals[row] += int(size * (len(rows) / snapshot.count))
                self.has_image = True
        most = _MAX_BYTES_PER_CONTAINER * len(template.container_images)
        self._scores = (np.clip(totals, _MIN_BYTES, most) - _MIN_BYTES) * MAX_SCORE // (most - _MIN_BYTES)

    def scores(self, rows: NDArray[np.intp] | None) -> NDArray[np.int64]:
        scores: NDArray[np.int64] = self._scores if rows is None else self._scores[rows]
        return scores

    def normalize(self, raw: NDArray[np.int64]) -> NDArray[np.int64] | int:
        return raw
