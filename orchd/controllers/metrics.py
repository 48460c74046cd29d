"""Metrics of one controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchd.client.queue import WorkQueue


@dataclass(slots=True)
class ControllerMetrics:
    """Counters of one controller: keys reconciled (`worked`), keys of these to be retried (`failed`), and `seconds` spent.
    `queue` has the metrics of its queue."""

    worked: int = 0
    failed: int = 0
    seconds: float = 0.0
    queue: WorkQueue[Any] | None = None
