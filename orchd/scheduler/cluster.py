"""The scheduler's cache of nodes and assigned pods, including assumed pods that the API does not show on their node
yet.

An assumed pod counts on its node from the decision on. The watch confirms it, a failed binding removes it, and a bound
pod that is never confirmed expires, so that a lost event does not occupy a node forever.
"""

from __future__ import annotations

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.pods import Pod

#: Seconds after its binding at which an unconfirmed assumed pod expires.
EXPIRES = 900.0


class Cluster:
    """Updates the snapshot. Pods are keyed by uid."""

    def __init__(self, snapshot: Snapshot, clock: IReactorTime) -> None:
        self.snapshot = snapshot
        self._clock = clock
        self._pods: dict[str, Pod] = {}
        #: Assumed pods with the clock time at which each expires, None while its binding is in flight.
        self._assumed: dict[str, float | None] = {}
        self._timer: IDelayedCall | None = None

    @property
    def assumed(self) -> int:
        return len(self._assumed)

    def __len__(self) -> int:
        return len(self._pods)

    def is_assumed(self, uid: str) -> bool:
        return uid in self._assumed

    def pod(self, uid: str) -> Pod | None:
        """An assigned or assumed pod."""
        return self._pods.get(uid)

    # -- nodes

    def put_node(self, facts: NodeFacts) -> None:
        self.snapshot.put_node(facts)

    def remove_node(self, name: str) -> None:
        self.snapshot.remove_node(name)

    # -- assigned pods

    def put_pod(self, pod: Pod) -> None:
        """Add or replace an assigned pod, or confirm an assumed one."""
        old = self._pods.get(pod.uid)
        self._assumed.pop(pod.uid, None)
        self._pods[pod.uid] = pod
        if old is None:
            self.snapshot.add_pod(pod)
        else:
            self.snapshot.replace_pod(old, pod)

    def remove_pod(self, uid: str) -> Pod | None:
        """Remove a pod from its node. Returns it, None if it is unknown."""
        old = self._pods.pop(uid, None)
        self._assumed.pop(uid, None)
        if old is not None:
            self.snapshot.remove_pod(old)
        return old

    # -- assumed pods

    def assume(self, pod: Pod) -> None:
        """Count a pod on `pod.node_name` before its binding."""
        self._pods[pod.uid] = pod
        self._assumed[pod.uid] = None
        self.snapshot.add_pod(pod)

    def forget(self, uid: str) -> bool:
        """Remove an assumed pod whose binding failed. False if it was confirmed or removed meanwhile."""
        if uid not in self._assumed:
            return False
        self.remove_pod(uid)
        return True

    def bound(self, uid: str) -> None:
        """Start the expiry of an assumed pod after its binding was accepted."""
        if uid in self._assumed:
            self._assumed[uid] = self._clock.seconds() + EXPIRES
            if self._timer is None:
                self._timer = self._clock.callLater(EXPIRES, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        for uid in [uid for uid, due in self._assumed.items() if due is not None and due <= now]:
            self.remove_pod(uid)
        left = [due for due in self._assumed.values() if due is not None]
        if left:
            self._timer = self._clock.callLater(max(0.0, min(left) - now), self._expire)

    def close(self) -> None:
        """Cancel the expiry timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
