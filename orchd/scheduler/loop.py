"""The scheduling loop: take a pod from the queue, choose its node, assume it there, and bind it while the next pod is
decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import CancelledError, DeferredSemaphore
from twisted.internet.task import deferLater

from orchd.scheduler.binding import Binder, BindError
from orchd.scheduler.cluster import Cluster
from orchd.scheduler.framework.cycle import CycleError, Decider, Decision, NoNodesError, UnfitError
from orchd.scheduler.framework.profile import Profile
from orchd.scheduler.history import History
from orchd.scheduler.pod_conditions import SCHEDULER_ERROR, UNSCHEDULABLE, Reporter
from orchd.scheduler.pods import Pod
from orchd.scheduler.queue.nominator import Nominator
from orchd.scheduler.queue.queue import QueuedPod, SchedulingQueue
from orchd.scheduler.retries import POD_DELETED
from orchd.scheduler.values import Code, CycleState, unschedulable
from orchd.txkit.background import Background
from orchd.txkit.compute_thread import LARGE
from orchd.txkit.log import Logger
from orchd.txkit.turns import shared_budget

#: Seconds after which the loop yields to the reactor.
TURN = 0.004
#: Concurrent bindings and status writes per unit of the configuration's parallelism.
_WRITES_PER_UNIT = 2
#: The first release that distinguishes pods whose scheduling ended with an error from those that fit no node.
_ERRORS_SINCE = "1.27"


@dataclass(frozen=True, slots=True)
class ProfileLane:
    """The collaborators that schedule the pods of one profile."""

    profile: Profile
    decider: Decider
    binder: Binder
    reporter: Reporter


class SchedulingLoop:
    """`lanes` by scheduler name, at least one. `parallelism` is the configuration's: decisions are taken one by one, so
    it bounds the concurrent API requests."""

    log = Logger()

    def __init__(
        self,
        lanes: Mapping[str, ProfileLane],
        *,
        queue: SchedulingQueue,
        cluster: Cluster,
        nominator: Nominator,
        history: History,
        parallelism: int,
    ) -> None:
        self._lanes = lanes
        self._queue = queue
        self._cluster = cluster
        self._nominator = nominator
        self._history = history
        # What the lanes share.
        handle = next(iter(lanes.values())).profile.handle
        self._clock, self._metrics, self._pod_object = handle.clock, handle.metrics, handle.pod_object
        #: The reason of the condition after an error before a node was chosen.
        self._error_reason = SCHEDULER_ERROR if handle.release.includes(_ERRORS_SINCE) else UNSCHEDULABLE
        self._slots = DeferredSemaphore(_WRITES_PER_UNIT * parallelism)
        self._turns = shared_budget(self._clock)
        self._background = Background()

    async def run(self) -> None:
        """Schedule until the queue is closed."""
        started = self._clock.seconds()
        while True:
            queued = self._queue.take_now()
            if queued is None:
                if not await self._queue.wait():
                    return
                # Return to the reactor first: the caller that activated the pod must not wait for its scheduling.
                await deferLater(self._clock, 0)
                started = self._clock.seconds()
                continue
            await self._attempt(queued)
            if self._clock.seconds() - started > TURN:
                await deferLater(self._clock, 0)
                started = self._clock.seconds()

    async def stop(self) -> None:
        """Wait a few seconds for bindings in flight, then cancel them."""
        await self._background.finish(5.0, self._clock)

    async def _attempt(self, queued: QueuedPod) -> None:
        """Run one cycle; after any exception the pod is queued again."""
        pod = queued.pod
        lane = self._lanes[pod.template.scheduler_name]
        try:
            await self._cycle(lane, queued, pod)
        except CancelledError:
            raise
        except Exception as error:  # a bug with one pod must not end scheduling; it is logged and the pod is retried
            self.log.failure("scheduling of pod {pod} failed", pod=pod.key)
            await self._requeue(lane, queued, pod, str(error), UNSCHEDULABLE, nominated="")

    async def _cycle(self, lane: ProfileLane, queued: QueuedPod, pod: Pod) -> None:
        if pod.deleting:
            lane.reporter.skipped(pod)
            return
        if self._cluster.is_assumed(pod.uid):
            return
        is_large = len(pod.template.signature) > LARGE
        if is_large:
            # Alone in its turn.
            await self._turns.wait_next()
        started = self._clock.seconds()
        state = CycleState(timed=self._metrics.begin_cycle())
        try:
            decision = await lane.decider.decide(state, pod, lambda: self._pod_object(pod))
        except UnfitError as unfit:
            self._metrics.observe_failed_attempt(lane.profile.name, started, "unschedulable")
            if is_large:
                # There may be thousands of reasons.
                await self._turns.wait_next()
            await self._handle_unfit(lane, queued, pod, state, unfit)
            return
        except CycleError as error:
            empty = isinstance(error, NoNodesError)
            self._metrics.observe_failed_attempt(lane.profile.name, started, "unschedulable" if empty else "error")
            reason = UNSCHEDULABLE if empty else self._error_reason
            await self._requeue(lane, queued, pod, str(error), reason, nominated="")
            return
        self._metrics.observe_decision(started)
        if self._queue.get(pod.uid) is not queued:
            # The pod was deleted or bound by another scheduler while extenders were asked.
            return
        await self._place(lane, queued, pod, state, decision, started)

    async def _handle_unfit(
        self, lane: ProfileLane, queued: QueuedPod, pod: Pod, state: CycleState, unfit: UnfitError
    ) -> None:
        """No node passed: run post-filter plugins (preemption), then queue the pod again."""
        refusals = unfit.refusals
        nominated: str | None = None
        point_started = self._metrics.now()
        for plugin in lane.profile.post_filters:
            started = self._metrics.now()
            nominated = await plugin.post_filter(state, pod, refusals)
            if state.timed:
                self._metrics.observe_plugin(
                    "PostFilter", plugin.name, started, None if nominated else unschedulable("")
                )
            if nominated or refusals.explained:
                break
        if nominated:
            # Something can be done after all.
            refusals.explanations.clear()
        status = "Success" if nominated else Code.UNSCHEDULABLE.label
        self._metrics.observe_extension_point("PostFilter", lane.profile.name, point_started, status)
        await self._requeue(
            lane, queued, pod, str(unfit), UNSCHEDULABLE, nominated=nominated, refused_by=refusals.plugins()
        )

    async def _requeue(
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
        """Queue the pod of a failed attempt again and report the reason in its status and an Event. `nominated` as in
        IPostFilter."""
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

    # -- binding

    async def _place(
        self, lane: ProfileLane, queued: QueuedPod, pod: Pod, state: CycleState, decision: Decision, started: float
    ) -> None:
        assumed = pod.on(decision.node)
        self._cluster.assume(assumed)
        self._nominator.clear(pod)
        reserving = self._metrics.now()
        try:
            lane.binder.reserve(state, assumed, decision.node)
            self._metrics.observe_extension_point("Reserve", lane.profile.name, reserving)
            permitting = self._metrics.now()
            holders = lane.binder.permit(state, assumed, decision.node)
            self._metrics.observe_extension_point(
                "Permit", lane.profile.name, permitting, (Code.WAIT if holders else Code.SUCCESS).label
            )
        except BindError as error:
            await self._undo(lane, queued, assumed, state, error, started)
            return
        self._history.add(pod, decision)
        await self._slots.acquire()
        self._background.add(self._bind(lane, queued, assumed, state, holders, started), f"binding of pod {pod.key}")

    async def _bind(
        self,
        lane: ProfileLane,
        queued: QueuedPod,
        pod: Pod,
        state: CycleState,
        holders: dict[str, float],
        started: float,
    ) -> None:
        slot_held = True
        if holders:
            # A pod that waits in the permit phase must not hold a slot that others need for binding.
            self._slots.release()
            slot_held = False
        self._metrics.bindings_in_flight += 1
        try:
            await lane.binder.bind(state, pod, pod.node_name, holders)
        except BindError as error:
            await self._undo(lane, queued, pod, state, error, started)
            if not error.at_binding:
                # Its resources are free again for other pods; this pod failed for another reason and waits for other
                # events.
                self._queue.move(POD_DELETED, spare=pod.uid)
            return
        finally:
            self._metrics.bindings_in_flight -= 1
            if slot_held:
                self._slots.release()
        self._cluster.bound(pod.uid)
        self._queue.done(queued)
        lane.reporter.scheduled(pod, pod.node_name)
        self._metrics.observe_binding(lane.profile.name, started, queued)

    async def _undo(
        self, lane: ProfileLane, queued: QueuedPod, pod: Pod, state: CycleState, error: BindError, started: float
    ) -> None:
        """Release the reservation and the assumed pod, and queue the pod again."""
        lane.binder.unreserve(state, pod, pod.node_name)
        self._cluster.forget(pod.uid)
        if error.at_binding:
            # Before the pod is queued again, so that it too is retried as soon as its back-off ends.
            self._queue.move(POD_DELETED)
        self._metrics.observe_failed_attempt(
            lane.profile.name, started, "unschedulable" if error.reason == UNSCHEDULABLE else "error"
        )
        # A nomination of this very attempt stays until the next one fails, as in the reference.
        nominated = "" if pod.nominated else None
        await self._requeue(lane, queued, queued.pod, str(error), error.reason, nominated=nominated)
