"""Metrics of one controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchd.client.queue import WorkQueue


@dataclass(slots=True)
class ControllerMetrics:
    """`worked`: keys that were worked on; `failed`: of those, how many will be tried again; `seconds`: time spent. `queue`
    counts for itself."""

    worked: int = 0
    failed: int = 0
    seconds: float = 0.0
    queue: WorkQueue[Any] | None = None
