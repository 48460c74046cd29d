"""The loop: take a pod, choose its node, count it there, and bind it while the next one is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import CancelledError, DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.scheduler.binding import Binder, BindError
from orchd.scheduler.cluster import Cluster
from orchd.scheduler.event_handlers import POD_DELETED
from orchd.scheduler.framework.cycle import CycleError, Decider, Decision, NoNodesError, UnfitError
from orchd.scheduler.framework.profile import Profile
from orchd.scheduler.history import History
from orchd.scheduler.metrics import SchedulerMetrics
from orchd.scheduler.pod_conditions import UNSCHEDULABLE, Reporter
from orchd.scheduler.pods import Pod
from orchd.scheduler.queue.nominator import Nominator
from orchd.scheduler.queue.queue import QueuedPod, SchedulingQueue
from orchd.scheduler.values import Code, CycleState, unschedulable
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: Seconds that the loop goes on before others get their turn.
TURN = 0.004
#: Bindings and status writes under way at most, for each unit of the configuration's parallelism.
_PER_UNIT = 2


@dataclass(frozen=True, slots=True)
class ProfileLane:
    """What the loop needs of a profile."""

    profile: Profile
    decider: Decider
    binder: Binder
    reporter: Reporter


class SchedulingLoop:
    """`lanes` by scheduler name. `pod_object` gives the API object of a pod, None when it is gone. `parallelism` is the
    configuration's: decisions are taken one by one, so that it bounds what is under way to the API."""

    log = Logger()

    def __init__(
        self,
        lanes: Mapping[str, ProfileLane],
        *,
        queue: SchedulingQueue,
        cluster: Cluster,
        nominator: Nominator,
        clock: IReactorTime,
        pod_object: Callable[[Pod], Any],
        history: History,
        numbers: SchedulerMetrics,
        parallelism: int,
    ) -> None:
        self._lanes = lanes
        self._queue = queue
        self._cluster = cluster
        self._nominator = nominator
        self._clock = clock
        self._pod_object = pod_object
        self._history = history
        self._numbers = numbers
        self._slots = DeferredSemaphore(_PER_UNIT * parallelism)
        self._background = Background()

    async def run(self) -> None:
        """Schedule until the queue is closed."""
        begun = self._clock.seconds()
        while True:
            queued = self._queue.take_now()
            if queued is None:
                if not await self._queue.wait():
                    return
                # Return to the reactor first: the caller that activated the pod must not wait for its scheduling.
                await deferLater(self._clock, 0)
                begun = self._clock.seconds()
                continue
            await self._attempt(queued)
            if self._clock.seconds() - begun > TURN:
                await deferLater(self._clock, 0)
                begun = self._clock.seconds()

    async def stop(self) -> None:
        """Let bindings under way end for a few seconds; then they are cancelled."""
        await self._background.finish(5.0, self._clock)

    async def _attempt(self, queued: QueuedPod) -> None:
        """One cycle; whatever it raises, the pod is not lost."""
        pod = queued.pod
        lane = self._lanes[pod.template.scheduler_name]
        try:
            await self._cycle(lane, queued, pod)
        except CancelledError:
            raise
        except Exception as error:  # a bug with one pod must not end scheduling; it is logged and the pod tried again
            self.log.failure("scheduling of pod {pod} failed", pod=pod.key)
            await self._give_up(lane, queued, pod, str(error), UNSCHEDULABLE, nominated="")

    async def _cycle(self, lane: ProfileLane, queued: QueuedPod, pod: Pod) -> None:
        if pod.deleting:
            lane.reporter.skipped(pod)
            return
        if self._cluster.is_assumed(pod.uid):
            return
        begun = self._clock.seconds()
        state = CycleState(timed=self._numbers.sample())
        try:
            decision = await lane.decider.decide(state, pod, lambda: self._pod_object(pod))
        except UnfitError as unfit:
            self._numbers.decided(lane.profile.name, begun, "unschedulable")
            await self._unfit(lane, queued, pod, state, unfit)
            return
        except CycleError as error:
            none = isinstance(error, NoNodesError)
            self._numbers.decided(lane.profile.name, begun, "unschedulable" if none else "error")
            await self._give_up(lane, queued, pod, str(error), UNSCHEDULABLE, nominated="")
            return
        self._numbers.algorithm(begun)
        if self._queue.get(pod.uid) is not queued:
            # Extenders took their time and the pod went meanwhile.
            return
        await self._place(lane, queued, pod, state, decision, begun)

    async def _unfit(self, lane: ProfileLane, queued: QueuedPod, pod: Pod, state: CycleState, unfit: UnfitError) -> None:
        """No node passed: make room, if that helps, and wait."""
        refusals = unfit.refusals
        nominated: str | None = None
        begun = self._numbers.now()
        for plugin in lane.profile.post_filters:
            started = self._numbers.now()
            nominated = await plugin.post_filter(state, pod, refusals)
            if state.timed:
                self._numbers.plugin("PostFilter", plugin.name, started, None if nominated else unschedulable(""))
            if nominated:
                break
        status = "Success" if nominated else Code.UNSCHEDULABLE.label
        self._numbers.point("PostFilter", lane.profile.name, begun, status)
        await self._give_up(
            lane, queued, pod, str(unfit), UNSCHEDULABLE, nominated=nominated, refused_by=refusals.plugins()
        )

    async def _give_up(
        self,
        lane: ProfileLane,
        queued: QueuedPod,
        pod: Pod,
        message: str,
        reason: str,
        *,
        nominated: str | None,
        refused_by: frozenset[str] = frozenset(),
    ) -> None:
        """An attempt failed: queue the pod again and say why it waits. `nominated` as in IPostFilter."""
        self._queue.retry(queued, refused_by)
        if self._queue.get(pod.uid) is queued:
            self._nominator.nominate(queued.pod, queued.pod.nominated if nominated is None else nominated)
        lane.reporter.failed(pod, message)
        patch = lane.reporter.condition_patch(pod, reason, message, nominated)
        if patch is not None:
            await self._slots.acquire()
            self._background.add(self._write(lane, pod, patch), f"status of pod {pod.key}")

    async def _write(self, lane: ProfileLane, pod: Pod, patch: Any) -> None:
        try:
            await lane.reporter.write(pod, patch)
        finally:
            self._slots.release()

    # -- placing

    async def _place(
        self, lane: ProfileLane, queued: QueuedPod, pod: Pod, state: CycleState, decision: Decision, begun: float
    ) -> None:
        assumed = pod.on(decision.node)
        self._cluster.assume(assumed)
        self._nominator.clear(pod)
        reserving = self._numbers.now()
        try:
            lane.binder.reserve(state, assumed, decision.node)
            self._numbers.point("Reserve", lane.profile.name, reserving)
            permitting = self._numbers.now()
            holders = lane.binder.permit(state, assumed, decision.node)
            self._numbers.point("Permit", lane.profile.name, permitting, (Code.WAIT if holders else Code.SUCCESS).label)
        except BindError as error:
            await self._undo(lane, queued, assumed, state, error, begun)
            return
        self._history.add(pod, decision)
        await self._slots.acquire()
        self._background.add(
            self._bind(lane, queued, assumed, state, holders, begun), f"binding of pod {pod.key}"
        )

    async def _bind(
        self, lane: ProfileLane, queued: QueuedPod, pod: Pod, state: CycleState, holders: dict[str, float], begun: float
    ) -> None:
        held = True
        if holders:
            # Pods that wait for permission must not keep others from being bound.
            self._slots.release()
            held = False
        self._numbers.binding += 1
        try:
            await lane.binder.bind(state, pod, pod.node_name, holders)
        except BindError as error:
            await self._undo(lane, queued, pod, state, error, begun)
            if not error.at_binding:
                # Its room is free for others. The pod itself failed for something else and waits for other news.
                self._queue.move(POD_DELETED, spare=pod.uid)
            return
        finally:
            self._numbers.binding -= 1
            if held:
                self._slots.release()
        self._cluster.bound(pod.uid)
        self._queue.done(queued)
        lane.reporter.scheduled(pod, pod.node_name)
        self._numbers.bound(lane.profile.name, begun, queued)

    async def _undo(
        self, lane: ProfileLane, queued: QueuedPod, pod: Pod, state: CycleState, error: BindError, begun: float
    ) -> None:
        """Everything as it was before the decision, and the pod back in the queue."""
        lane.binder.unreserve(state, pod, pod.node_name)
        self._cluster.forget(pod.uid)
        if error.at_binding:
            # Before the pod is queued again, so that it too is tried as soon as its pause has ended.
            self._queue.move(POD_DELETED)
        self._numbers.decided(lane.profile.name, begun, "unschedulable" if error.reason == UNSCHEDULABLE else "error")
        await self._give_up(lane, queued, queued.pod, str(error), error.reason, nominated="")
