"""Metrics of controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from orchd.txkit.metrics.instruments import Instrument, ObservedGauge
from orchd.txkit.metrics.queues import queue_instruments
from orchd.txkit.work_queue import WorkQueue


@dataclass(slots=True)
class ControllerMetrics:
    """Counters of one controller: keys reconciled (`worked`), keys of these to be retried (`failed`), and `seconds`
    spent. `queue` has the metrics of its queue."""

    worked: int = 0
    failed: int = 0
    seconds: float = 0.0
    queue: WorkQueue[Any] | None = None


def controller_instruments(counts: Callable[[], Iterable[tuple[str, ControllerMetrics]]]) -> tuple[Instrument, ...]:
    """Keys and queues by controller. `counts` returns the name and the counters of each."""
    return (
        ObservedGauge(
            "orchd_controller_keys",
            "Keys processed by controllers.",
            lambda: {(name,): float(each.worked) for name, each in counts()},
            ("controller",),
        ),
        ObservedGauge(
            "orchd_controller_retries",
            "Keys requeued by controllers after a failure.",
            lambda: {(name,): float(each.failed) for name, each in counts()},
            ("controller",),
        ),
        *queue_instruments(lambda: ((name, each.queue) for name, each in counts() if each.queue is not None)),
    )
