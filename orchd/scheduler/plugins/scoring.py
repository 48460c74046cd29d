"""Normalisation shared by score plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchd.scheduler.values import MAX_SCORE, MIN_SCORE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def scale(raw: NDArray[np.int64], *, reverse: bool = False) -> NDArray[np.int64] | int:
    """Non-negative raw scores, scaled to 0..100 by the largest one; with `reverse` the largest becomes 0."""
    most = int(raw.max(initial=0))
    if most == 0:
        return MAX_SCORE if reverse else MIN_SCORE
    scaled = raw * MAX_SCORE // most
    return MAX_SCORE - scaled if reverse else scaled


def scale_plain(raw: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Plain form of `scale`."""
    most = max(raw, default=0)
    if most == 0:
        return [MAX_SCORE if reverse else score for score in raw]
    scaled = [score * MAX_SCORE // most for score in raw]
    return [MAX_SCORE - score for score in scaled] if reverse else scaled
