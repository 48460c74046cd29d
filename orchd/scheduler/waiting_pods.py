"""Pods that wait in the permit phase, after a node was chosen for them."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from zope.interface import implementer

from orchd.scheduler.interfaces import IWaitingPod
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Status, unschedulable

#: Upper limit of a permit timeout in seconds.
_LONGEST = 15 * 60.0


@implementer(IWaitingPod)
class WaitingPod:
    """`holders` maps the plugins that wait to their timeouts in seconds."""

    def __init__(self, pod: Pod, holders: Mapping[str, float], clock: IReactorTime) -> None:
        self.pod = pod
        self._outcome: Deferred[Status | None] = Deferred()
        self._timers: dict[str, IDelayedCall] = {
            name: clock.callLater(min(seconds, _LONGEST), self.reject, name, "timeout")
            for name, seconds in holders.items()
        }

    def allow(self, plugin: str) -> None:
        timer = self._timers.pop(plugin, None)
        if timer is not None and timer.active():
            timer.cancel()
        if not self._timers and not self._outcome.called:
            self._outcome.callback(None)

    def reject(self, plugin: str, message: str) -> None:
        if self._outcome.called:
            return
        self._clear()
        refused = unschedulable(
            f"rejected while waiting on permit: {message}"
            if message != "timeout"
            else f"rejected due to timeout after waiting on permit at plugin {plugin}"
        )
        self._outcome.callback(Status(refused.code, refused.reasons, plugin))

    async def wait(self) -> Status | None:
        """None after every plugin has allowed the pod."""
        try:
            return await self._outcome
        except CancelledError:
            self._clear()
            raise

    def _clear(self) -> None:
        for timer in self._timers.values():
            if timer.active():
                timer.cancel()
        self._timers.clear()


class WaitingPods:
    """Waiting pods by uid."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._pods: dict[str, WaitingPod] = {}

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def reject(self, uid: str) -> bool:
        """End the wait of a deleted pod. True if it was waiting."""
        waiting = self._pods.get(uid)
        if waiting is not None:
            waiting.reject("", "removed")
        return waiting is not None

    async def hold(self, pod: Pod, holders: Mapping[str, float]) -> Status | None:
        """Wait until every holder has allowed the pod, or one has rejected it or timed out."""
        waiting = self._pods[pod.uid] = WaitingPod(pod, holders, self._clock)
        try:
            return await waiting.wait()
        finally:
            del self._pods[pod.uid]
