"""What the scheduler knows of the cluster: pods that have a node by the API, and pods that it has just given one.

An assumed pod counts on its node from the decision on. The watch confirms it; a failed binding forgets it; and one that was
bound but is never seen expires, so that a lost event cannot fill a node for ever.
"""

from __future__ import annotations

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.scheduler.columns.snapshot import Snapshot
from orchd.scheduler.nodes import NodeFacts
from orchd.scheduler.pods import Pod

#: Seconds after its binding that an assumed pod may wait to be confirmed.
EXPIRES = 900.0


class Cluster:
    """Feeds the snapshot. Pods are known by uid."""

    def __init__(self, snapshot: Snapshot, clock: IReactorTime) -> None:
        self.snapshot = snapshot
        self._clock = clock
        self._pods: dict[str, Pod] = {}
        #: Assumed pods with the moment at which each expires, None while its binding is under way.
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
        """A pod that has a node."""
        return self._pods.get(uid)

    # -- nodes

    def put_node(self, facts: NodeFacts) -> None:
        self.snapshot.put_node(facts)

    def remove_node(self, name: str) -> None:
        self.snapshot.remove_node(name)

    # -- pods that the API shows with a node

    def put_pod(self, pod: Pod) -> None:
        """The API shows a pod on a node: new, changed, or an assumed one confirmed."""
        old = self._pods.get(pod.uid)
        self._assumed.pop(pod.uid, None)
        self._pods[pod.uid] = pod
        if old is None:
            self.snapshot.add_pod(pod)
        else:
            self.snapshot.replace_pod(old, pod)

    def remove_pod(self, uid: str) -> Pod | None:
        """A pod is gone from its node; what it was, None when it was not known."""
        old = self._pods.pop(uid, None)
        self._assumed.pop(uid, None)
        if old is not None:
            self.snapshot.remove_pod(old)
        return old

    # -- assumed pods

    def assume(self, pod: Pod) -> None:
        """Count a pod on `pod.node_name` from now on."""
        self._pods[pod.uid] = pod
        self._assumed[pod.uid] = None
        self.snapshot.add_pod(pod)

    def forget(self, uid: str) -> bool:
        """The binding of an assumed pod failed. False when it was confirmed or removed meanwhile."""
        if uid not in self._assumed:
            return False
        self.remove_pod(uid)
        return True

    def bound(self, uid: str) -> None:
        """The binding of an assumed pod was accepted: it expires when it is not confirmed in time."""
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
        """Stop waiting for confirmations."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
