"""Metrics of controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from orchd.txkit.metrics.histogram import Histogram
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedDistribution, ObservedGauge
from orchd.txkit.work_queue import BOUNDS, WorkQueue

#: Work queues by name.
Queues = Callable[[], Iterable[tuple[str, WorkQueue[Any]]]]


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


def queue_instruments(queues: Queues) -> tuple[Instrument, ...]:
    """Work queue metrics, by queue name."""

    def each(read: Callable[[WorkQueue[Any]], float]) -> Callable[[], dict[tuple[str, ...], float]]:
        return lambda: {(name,): float(read(queue)) for name, queue in queues()}

    def histograms(read: Callable[[WorkQueue[Any]], Histogram]) -> Callable[[], dict[tuple[str, ...], Histogram]]:
        return lambda: {(name,): read(queue) for name, queue in queues()}

    label = ("name",)
    return (
        ObservedGauge("workqueue_depth", "Keys that wait for a worker.", each(len), label),
        ObservedCounter("workqueue_adds_total", "Keys that were added.", each(lambda queue: queue.added), label),
        ObservedCounter("workqueue_retries_total", "Keys that were added again after a failure.", each(lambda queue: queue.retries), label),
        ObservedGauge("workqueue_unfinished_work_seconds", "Seconds spent on keys that are being worked on.", each(lambda queue: queue.unfinished[0]), label),
        ObservedGauge("workqueue_longest_running_processor_seconds", "Seconds spent on the key that has been "
            "worked on for longest.", each(lambda queue: queue.unfinished[1]), label),
        ObservedDistribution("workqueue_queue_duration_seconds", "Seconds that keys waited for a worker.", BOUNDS, histograms(lambda queue: queue.waits), label),
        ObservedDistribution("workqueue_work_duration_seconds", "Seconds that work on a key took.", BOUNDS, histograms(lambda queue: queue.works), label),
    )  # fmt: skip
