"""The scheduler's counters and histograms under the reference's metric names; families are built when /metrics is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, repeat
from operator import mul

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from twisted.internet.interfaces import IReactorTime

from orchd.scheduler.queue.queue import ACTIVE, BACKOFF, UNSCHEDULABLE, QueuedPod, SchedulingQueue
from orchd.scheduler.values import Code, Status
from orchd.txkit.instruments import Distribution


def _doubling(first: float, count: int) -> tuple[float, ...]:
    return tuple(first * 2**n for n in range(count))


#: Seconds of a plugin: factors of 1.5, one after the other, which is how the reference's bounds are rounded.
_PLUGIN_SECONDS = tuple(accumulate(repeat(1.5, 19), mul, initial=0.00001))
#: The time of single plugins is recorded in one of so many cycles.
_SAMPLED = 10
_SECONDS = _doubling(0.001, 15)
_LONG = _doubling(0.01, 20)
_ATTEMPTS = _doubling(1, 5)
_VICTIMS = tuple(float(n) for n in range(5, 51, 5))
#: More attempts than this share a label.
_MOST_ATTEMPTS = 15


class SchedulerMetrics:
    """What the scheduler counts. `clock` is monotonic."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        #: Bindings under way.
        self.binding = 0
        self.preemption_attempts = 0
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._attempt = Distribution(
            "scheduler_scheduling_attempt_duration_seconds",
            "Time of an attempt, from decision to binding.", _SECONDS, ("profile", "result"),
        )  # fmt: skip
        self._whole = Distribution(
            "scheduler_e2e_scheduling_duration_seconds",
            "Time of an attempt, from decision to binding.", _SECONDS, ("profile", "result"),
        )  # fmt: skip
        self._algorithm = Distribution(
            "scheduler_scheduling_algorithm_duration_seconds", "Time of a decision.", _SECONDS
        )
        self._pod_attempts = Distribution(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was bound.", _ATTEMPTS
        )
        self._pod_time = Distribution(
            "scheduler_pod_scheduling_duration_seconds",
            "Time from a pod's first arrival in the queue to its binding.", _LONG, ("attempts",),
        )  # fmt: skip
        self.victims = Distribution(
            "scheduler_preemption_victims", "Pods that made room for another one.", _VICTIMS
        )
        self.points = Distribution(
            "scheduler_framework_extension_point_duration_seconds",
            "Time of all plugins of an extension point.", _doubling(0.0001, 12), ("extension_point", "profile", "status"),
        )  # fmt: skip
        self._plugins = Distribution(
            "scheduler_plugin_execution_duration_seconds",
            "Time of one plugin, in one of ten cycles; of a filter for one node.", _PLUGIN_SECONDS,
            ("plugin", "extension_point", "status"),
        )  # fmt: skip
        #: Scheduling cycles that have begun.
        self.cycles = 0
        self.permit_waits = Distribution(
            "scheduler_permit_wait_duration_seconds", "Time that pods were held by permit plugins.", _SECONDS, ("result",)
        )

    def now(self) -> float:
        """The moment at which something begins."""
        return self._clock.seconds()

    def point(self, name: str, profile: str, begun: float, status: str = "Success") -> None:
        """All plugins of an extension point have run."""
        self.points.observe(self._clock.seconds() - begun, name, profile, status)

    def sample(self) -> bool:
        """True if the cycle that begins now is to be timed plugin by plugin: the first and every tenth after it."""
        self.cycles += 1
        return self.cycles % _SAMPLED == 1

    def plugin(self, point: str, name: str, begun: float, status: Status | None = None) -> None:
        """A plugin has run, in a timed cycle. `status` is what it answered."""
        label = Code.SUCCESS.label if status is None else status.code.label
        self._plugins.observe(self._clock.seconds() - begun, name, point, label)

    def algorithm(self, begun: float) -> None:
        """A decision that began at `begun` was taken."""
        self._algorithm.observe(self._clock.seconds() - begun)

    def decided(self, profile: str, begun: float, result: str) -> None:
        """An attempt ended without a binding."""
        self._end(profile, begun, result)

    def bound(self, profile: str, begun: float, queued: QueuedPod) -> None:
        """An attempt ended with a binding."""
        self._end(profile, begun, "scheduled")
        self._pod_attempts.observe(queued.attempts)
        label = str(queued.attempts) if queued.attempts < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
        self._pod_time.observe(self._clock.seconds() - queued.first, label)

    def _end(self, profile: str, begun: float, result: str) -> None:
        seconds = self._clock.seconds() - begun
        self._attempts[profile, result] += 1
        self._attempt.observe(seconds, profile, result)
        self._whole.observe(seconds, profile, result)

    def families(self) -> Iterator[Metric]:
        attempts = CounterMetricFamily(
            "scheduler_schedule_attempts", "Attempts to schedule pods.", labels=("profile", "result")
        )
        for (profile, result), count in self._attempts.items():
            attempts.add_metric([profile, result], float(count))
        yield attempts
        preemptions = CounterMetricFamily("scheduler_preemption_attempts", "Attempts to make room for a pod.")
        preemptions.add_metric([], float(self.preemption_attempts))
        yield preemptions
        work = GaugeMetricFamily("scheduler_scheduler_goroutines", "Work under way.", labels=("work",))
        work.add_metric(["binding"], float(self.binding))
        yield work
        for each in (
            self._attempt, self._whole, self._algorithm, self._pod_attempts, self._pod_time, self.victims, self.points,
            self._plugins, self.permit_waits,
        ):  # fmt: skip
            yield each.family()


def scheduler_metrics(
    numbers: SchedulerMetrics, queue: SchedulingQueue, sizes: Callable[[], Mapping[str, int]]
) -> Callable[[], Iterable[Metric]]:
    """A source for /metrics. `sizes` are nodes, pods and assumed pods by the reference's names."""

    def families() -> Iterator[Metric]:
        yield from numbers.families()
        pending = GaugeMetricFamily("scheduler_pending_pods", "Pods that wait, by queue.", labels=("queue",))
        for place in (ACTIVE, BACKOFF, UNSCHEDULABLE):
            pending.add_metric([place], float(queue.count(place)))
        yield pending
        incoming = CounterMetricFamily(
            "scheduler_queue_incoming_pods", "Pods that joined a queue.", labels=("event", "queue")
        )
        for (place, event), count in queue.incoming.items():
            incoming.add_metric([event, place], float(count))
        yield incoming
        cache = GaugeMetricFamily("scheduler_scheduler_cache_size", "What the scheduler knows of.", labels=("type",))
        for name, size in sizes().items():
            cache.add_metric([name], float(size))
        yield cache

    return families
