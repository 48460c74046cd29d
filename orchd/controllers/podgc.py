"""Pod garbage collector: deletes pods bound to nodes that no longer exist, terminating pods that were never scheduled,
and terminated pods beyond --terminated-pod-gc-threshold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from orchd.client.disrupted_pods import MARKED_SINCE, DisruptedPods
from orchd.client.informers import key_of
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import BY_NODE, NODES, PODS, pods_node
from orchd.controllers.pods import is_finished, is_ready
from orchd.errors import ApiError
from orchd.kinds.fields import deleting, name, namespace, spec, uid
from orchd.kinds.jsonvalues import Object
from orchd.txkit.metrics.instruments import Counter

#: Seconds for which a node may be missing, since it may be registering again.
_QUARANTINE: Final = 40.0
#: Seconds for which a pod without a node may be terminating: a deletion first sets deletionTimestamp, then removes the
#: pod.
_PATIENCE: Final = 5.0
_FINISHED: Final = "controllers/finished"
#: The key for the check of the number of finished pods.
_COUNT: Final[Key] = ("", "")


def _finished(pod: Object) -> Iterable[str]:
    return ("yes",) if is_finished(pod) else ()


#: Reason and message of the condition of a pod whose node does not exist.
_ORPHANED: Final = ("DeletionByPodGC", "PodGC: node no longer exists")


class PodGarbageCollector(Controller):
    """Deletes the oldest finished pods beyond the setting `terminated_pod_gc_threshold` (0 keeps them all), pods of
    nodes that no longer exist, deleted pods without a node, and from release 1.26 on deleted pods of nodes that are out
    of service."""

    name = "podgc"
    account = "pod-garbage-collector"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        marks = env.release.includes(MARKED_SINCE)
        self._disrupted = DisruptedPods(self.client, env.wall) if marks else None
        self._out_of_service = env.dialect("node.{long}.io/out-of-service") if marks else ""
        self._forced, self._failed = (
            Counter(f"pod_gc_collector_force_delete_{name}_total", text, ("namespace", "reason"))
            for name, text in (("pods", "Pods deleted without grace."), ("pod_errors", "Failed deletions of pods."))
        )
        self.instruments = (self._forced, self._failed) if env.release.includes("1.26") else ()
        self._threshold = env.settings.terminated_pod_gc_threshold
        self._pods = self.follow(PODS, self._pod_changed, primary=True)
        self._pods.add_index(BY_NODE, pods_node)
        self._pods.add_index(_FINISHED, _finished)
        self._nodes = self.follow(NODES, self._node_changed)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            return
        node = spec(new).get("nodeName")
        if deleting(new) and (not node or self._is_out_of_service(self._nodes.get("", node))):
            self.queue.add_after(key_of(new), _PATIENCE)
        elif node and self._nodes.get("", node) is None:
            self.queue.add_after(key_of(new), _QUARANTINE)
        if self._threshold and is_finished(new) and (old is None or not is_finished(old)):
            self.queue.add_after(_COUNT, 1.0)

    def _node_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            for pod in self._pods.by_index(BY_NODE, name(old)):
                self.queue.add_after(key_of(pod), _QUARANTINE)
        elif new is not None and self._is_out_of_service(new) and not self._is_out_of_service(old):
            for pod in self._pods.by_index(BY_NODE, name(new)):
                if deleting(pod):
                    self.queue.add_after(key_of(pod), _PATIENCE)

    def _is_out_of_service(self, node: Object | None) -> bool:
        """True if a node is not ready and has the taint of nodes that were shut down."""
        return (
            node is not None
            and bool(self._out_of_service)
            and any(taint.get("key") == self._out_of_service for taint in spec(node).get("taints") or ())
            and not is_ready(node)
        )

    async def reconcile(self, key: Key) -> float | None:
        if key == _COUNT:
            await self._thin_out()
            return None
        pod = self._pods.get(*key)
        if pod is None:
            return None
        node = spec(pod).get("nodeName")
        if node:
            cached = self._nodes.get("", node)
            if cached is None and await self.live(NODES, "", node) is None:
                await self._force(pod, "orphaned", _ORPHANED)
            elif deleting(pod) and self._is_out_of_service(cached):
                await self._force(pod, "out-of-service")
        elif deleting(pod):
            await self._force(pod, "unscheduled")
        return None

    async def _thin_out(self) -> None:
        finished = list(self._pods.by_index(_FINISHED, "yes"))
        surplus = len(finished) - self._threshold
        if surplus > 0:
            finished.sort(key=lambda p: (p["metadata"].get("creationTimestamp") or "", name(p)))
            for pod in finished[:surplus]:
                await self._force(pod, "terminated")

    async def _force(self, pod: Object, cause: str, condition: tuple[str, str] = ("", "")) -> None:
        """Delete a pod without grace for a `cause`, which metrics name; its phase becomes Failed before, with a
        condition of this reason and message, if there is one."""
        labels = namespace(pod), cause
        self._forced.add(*labels)
        try:
            if self._disrupted is not None:
                await self._disrupted.fail(pod, *condition)
            await self.remove(PODS, namespace(pod), name(pod), uid=uid(pod), grace=0)
        except ApiError:
            self._failed.add(*labels)
            raise
