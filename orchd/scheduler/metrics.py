"""The scheduler's counters and histograms under the reference's metric names."""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import Callable, Mapping
from itertools import accumulate, repeat
from operator import mul

from twisted.internet.interfaces import IReactorTime

from orchd.kinds.release import Release
from orchd.scheduler.framework.profile import Profile
from orchd.scheduler.queue.queue import (
    ACTIVE,
    BACKOFF,
    HANDLING,
    POD_ADD,
    UNSCHEDULABLE,
    UPDATED,
    QueuedPod,
    SchedulingQueue,
)
from orchd.scheduler.values import Code, Status
from orchd.txkit.metrics.instruments import (
    Counter,
    Distribution,
    Instrument,
    ObservedCounter,
    ObservedDistribution,
    ObservedGauge,
)


def _doubling(first: float, count: int) -> tuple[float, ...]:
    return tuple(first * 2**n for n in range(count))


#: Bucket bounds in seconds: repeated multiplication by 1.5, which rounds as the reference's bounds do.
_PLUGIN_SECONDS = tuple(accumulate(repeat(1.5, 19), mul, initial=0.00001))
#: The duration of each plugin is recorded in one of this many cycles.
_PLUGIN_SAMPLING = 10
_SECONDS = _doubling(0.001, 15)
_LONG = _doubling(0.01, 20)
_ATTEMPTS = _doubling(1, 5)
_VICTIMS = (("", tuple(float(n) for n in range(5, 51, 5))), ("1.34", _doubling(1, 7)))
#: Names, and labels, by the release that begins them.
_POD_TIME = (
    ("", "scheduler_pod_scheduling_duration_seconds"),
    ("1.34", "scheduler_pod_scheduling_sli_duration_seconds"),
)
_WORK = (("", ("scheduler_scheduler_goroutines", ("work",))), ("1.34", ("scheduler_goroutines", ("operation",))))
_CACHE_SIZE = (("", "scheduler_scheduler_cache_size"), ("1.34", "scheduler_cache_size"))
#: Higher attempt counts share the label `15+`.
_MOST_ATTEMPTS = 15


#: Labels of events of pods that are new to the queue, where they differ, by the release that begins them.
_EVENTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("", {}),
    ("1.32", {POD_ADD: "UnschedulablePodAdd", UPDATED: "UnschedulablePodUpdate"}),
)
#: The first release that counts pods which plugins keep out of the queue.
_GATED_SINCE = "1.27"
#: The first release with metrics of events, of evaluations and of the plugins that rejected pods.
_LATER_SINCE = "1.31"


class SchedulerMetrics:
    """Counters and histograms of one scheduler of a release. `clock` is monotonic."""

    def __init__(self, clock: IReactorTime, release: Release) -> None:
        self._clock = clock
        #: Bindings in flight.
        self.bindings_in_flight = 0
        self.preemption_attempts = Counter("scheduler_preemption_attempts_total", "Preemption attempts.")
        self._attempts = Counter(
            "scheduler_schedule_attempts_total", "Attempts to schedule pods.", ("profile", "result")
        )
        self._attempt = Distribution(
            "scheduler_scheduling_attempt_duration_seconds",
            "Duration of a scheduling attempt, from the decision to the binding, in seconds.", _SECONDS,
            ("profile", "result"),
        )  # fmt: skip
        self._whole = Distribution(
            "scheduler_e2e_scheduling_duration_seconds",
            "Duration of a scheduling attempt, from the decision to the binding, in seconds.", _SECONDS,
            ("profile", "result"),
        )  # fmt: skip
        self._algorithm = Distribution(
            "scheduler_scheduling_algorithm_duration_seconds", "Duration of a scheduling decision in seconds.", _SECONDS
        )
        self._pod_attempts = Distribution(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was bound.", _ATTEMPTS
        )
        self._pod_time = Distribution(
            release.choose(_POD_TIME),
            "Time from a pod's first arrival in the queue to its binding.", _LONG, ("attempts",),
        )  # fmt: skip
        self.victims = Distribution(
            "scheduler_preemption_victims", "Preempted pods per preemption.", release.choose(_VICTIMS)
        )
        self.points = Distribution(
            "scheduler_framework_extension_point_duration_seconds",
            "Duration of all plugins of an extension point in seconds.", _doubling(0.0001, 12),
            ("extension_point", "profile", "status"),
        )  # fmt: skip
        self._plugins = Distribution(
            "scheduler_plugin_execution_duration_seconds",
            "Duration of one plugin in seconds, recorded in one of ten cycles; filters are timed for one node.",
            _PLUGIN_SECONDS, ("plugin", "extension_point", "status"),
        )  # fmt: skip
        #: Scheduling cycles since the start.
        self.cycles = 0
        self.permit_waits = Distribution(
            "scheduler_permit_wait_duration_seconds",
            "Time that pods waited for permit plugins, in seconds.",
            _SECONDS,
            ("result",),
        )
        work = ObservedGauge(
            release.choose(_WORK)[0],
            "Operations in progress by type.",
            lambda: {("binding",): float(self.bindings_in_flight)},
            release.choose(_WORK)[1],
        )
        self.instruments = (
            self._attempts, self.preemption_attempts, work, self._attempt, self._whole, self._algorithm,
            self._pod_attempts, self._pod_time, self.victims, self.points, self._plugins, self.permit_waits,
        )  # fmt: skip

    def now(self) -> float:
        """Current time in seconds of the monotonic clock, for the `started` arguments."""
        return self._clock.seconds()

    def observe_extension_point(self, name: str, profile: str, started: float, status: str = "Success") -> None:
        """Record the duration of all plugins of an extension point."""
        self.points.observe(self._clock.seconds() - started, name, profile, status)

    def begin_cycle(self) -> bool:
        """Count a scheduling cycle. True if its plugins are timed individually: the first cycle and every tenth after
        it."""
        self.cycles += 1
        return self.cycles % _PLUGIN_SAMPLING == 1

    def observe_plugin(self, point: str, name: str, started: float, status: Status | None = None) -> None:
        """Record the duration of one plugin in a timed cycle. `status` is what it returned."""
        label = Code.SUCCESS.label if status is None else status.code.label
        self._plugins.observe(self._clock.seconds() - started, name, point, label)

    def observe_decision(self, started: float) -> None:
        """Record the duration of a decision."""
        self._algorithm.observe(self._clock.seconds() - started)

    def observe_failed_attempt(self, profile: str, started: float, result: str) -> None:
        """Record an attempt that ended without a binding."""
        self._end(profile, started, result)

    def observe_binding(self, profile: str, started: float, queued: QueuedPod) -> None:
        """Record an attempt that ended with a binding."""
        self._end(profile, started, "scheduled")
        self._pod_attempts.observe(queued.attempts)
        label = str(queued.attempts) if queued.attempts < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
        self._pod_time.observe(self._clock.seconds() - queued.first, label)

    def _end(self, profile: str, started: float, result: str) -> None:
        seconds = self._clock.seconds() - started
        self._attempts.add(profile, result)
        self._attempt.observe(seconds, profile, result)
        self._whole.observe(seconds, profile, result)


def evaluation_instruments(
    metrics: SchedulerMetrics, profiles: Callable[[], Mapping[str, Profile]], release: Release
) -> tuple[Instrument, ...]:
    """How often plugins took part in attempts: as often as their extension point was reached. `profiles` are by
    name."""

    def evaluations() -> dict[tuple[str, ...], float]:
        reached: Counted[tuple[str, str]] = Counted()
        for (point, scheduler, _), seconds in metrics.points.values.items():
            reached[point, scheduler] += seconds.count
        numbers: dict[tuple[str, ...], float] = {}
        for name, profile in profiles().items():
            for point, plugins in (
                ("PreFilter", profile.pre_filters),
                ("Filter", profile.filters),
                ("PreScore", profile.pre_scores),
                ("Score", profile.scores),
            ):
                if reached[point, name]:
                    numbers |= {(plugin.name, point, name): float(reached[point, name]) for plugin in plugins}
        return numbers

    if not release.includes(_LATER_SINCE):
        return ()
    return (
        ObservedCounter(
            "scheduler_plugin_evaluation_total",
            "Attempts that a plugin took part in, by extension point.",
            evaluations,
            ("plugin", "extension_point", "profile"),
        ),
    )


def queue_instruments(
    queue: SchedulingQueue, sizes: Callable[[], Mapping[str, int]], gated: Callable[[], int], release: Release
) -> tuple[Instrument, ...]:
    """Metrics of the queue and the cache of a scheduler of a release. `sizes` are nodes, pods and assumed pods by the
    reference's names; `gated` is the number of pods that plugins keep out of the queue."""

    def refused() -> dict[tuple[str, ...], float]:
        pods: Counted[tuple[str, ...]] = Counted()
        for plugins, template, number in queue.refusals():
            for plugin in plugins:
                pods[plugin, template.scheduler_name] += number
        return {labels: float(number) for labels, number in pods.items()}

    words = release.choose(_EVENTS)

    def pending() -> dict[tuple[str, ...], float]:
        numbers: dict[tuple[str, ...], float] = {
            (place,): float(queue.count(place)) for place in (ACTIVE, BACKOFF, UNSCHEDULABLE)
        }
        return {**numbers, ("gated",): float(gated())} if release.includes(_GATED_SINCE) else numbers

    later: tuple[Instrument, ...] = (
        ObservedGauge(
            "scheduler_unschedulable_pods",
            "Unschedulable pods, by each of the plugins that rejected them.",
            refused,
            ("plugin", "profile"),
        ),
        ObservedDistribution(
            "scheduler_event_handling_duration_seconds",
            "Seconds that the search for pods which an event may make schedulable took.",
            HANDLING,
            lambda: {(label,): seconds for label, seconds in queue.handling.items()},
            ("event",),
        ),
    )
    return (
        *(later if release.includes(_LATER_SINCE) else ()),
        ObservedGauge("scheduler_pending_pods", "Pending pods by queue.", pending, ("queue",)),
        ObservedCounter(
            "scheduler_queue_incoming_pods_total",
            "Pods added to a queue, by event and queue.",
            lambda: {
                (words.get(event, event), place): float(count) for (place, event), count in queue.incoming.items()
            },
            ("event", "queue"),
        ),
        ObservedGauge(
            release.choose(_CACHE_SIZE),
            "Objects in the scheduler's cache by type.",
            lambda: {(name,): float(size) for name, size in sizes().items()},
            ("type",),
        ),
    )
