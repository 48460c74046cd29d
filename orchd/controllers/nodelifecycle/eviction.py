"""Deletes pods that do not tolerate the NoExecute taints of their node, at once or when tolerationSeconds have
passed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from orchd.client.disrupted_pods import DisruptedPods
from orchd.client.informers import key_of
from orchd.client.interfaces import IClient, IEventRecorder, IInformer
from orchd.controllers.event_objects import NORMAL, with_type
from orchd.controllers.loop import ControlLoop
from orchd.controllers.objects import BY_NODE, PODS
from orchd.controllers.write_errors import ignore_missing_or_changed
from orchd.kinds.fields import name, namespace, spec, uid
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.objects.placement import Tolerations
from orchd.txkit.metrics.instruments import Counter, Distribution

Key = tuple[str, str]
#: Bucket bounds of delays in seconds.
_DELAYS: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)


def tolerated_for(taints: Iterable[Object], tolerations: Sequence[Object]) -> float | None:
    """Seconds for which a pod may stay on a node with `taints`: 0 for not at all, None without a limit."""
    used: list[ObjectView] = []
    indexed = Tolerations(tolerations)
    for taint in taints:
        toleration = indexed.first(taint)
        if toleration is None:
            return 0.0
        used.append(toleration)
    limits = [max(0.0, float(t["tolerationSeconds"])) for t in used if t.get("tolerationSeconds") is not None]
    return min(limits, default=None)


class TaintEviction:
    """Follows pods and the taints of nodes through `node_changed` and `pod_changed`. `disrupted` marks the pods before
    they are deleted; None marks none."""

    def __init__(
        self, client: IClient, recorder: IEventRecorder, pods: IInformer, clock: Any, disrupted: DisruptedPods | None
    ) -> None:
        self.deletions = Counter("taint_eviction_controller_pod_deletions_total", "Pods deleted because of taints.")
        self.delays = Distribution(
            "taint_eviction_controller_pod_deletion_duration_seconds",
            "Seconds from the time at which a pod no longer tolerates a taint to its deletion.",
            _DELAYS,
        )
        self._client = client
        self._disrupted = disrupted
        self._recorder = recorder
        self._pods = pods
        self._clock = clock
        self._taints: dict[str, list[Object]] = {}
        #: Start of a pod's toleration time, and its uid.
        self._begun: dict[Key, tuple[str, float]] = {}
        self.loop: ControlLoop[Key] = ControlLoop(
            "taint-eviction", clock, self._reconcile, workers=8, refill=self._refill
        )

    def node_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        node = name(new or old or {})
        taints = [] if new is None else [t for t in spec(new).get("taints") or () if t.get("effect") == "NoExecute"]
        if taints == self._taints.get(node, []):
            return
        if taints:
            self._taints[node] = taints
        else:
            del self._taints[node]
        for pod in self._pods.by_index(BY_NODE, node):
            self.loop.queue.add(key_of(pod))

    def pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._begun.pop(key_of(old), None)
        elif spec(new).get("nodeName") in self._taints:
            self.loop.queue.add(key_of(new))

    def _refill(self) -> None:
        for node in self._taints:
            for pod in self._pods.by_index(BY_NODE, node):
                self.loop.queue.add(key_of(pod))

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.get(*key)
        if pod is None:
            self._begun.pop(key, None)
            return None
        begun = self._begun.get(key)
        if begun is not None and begun[0] != uid(pod):
            del self._begun[key]
            begun = None
        if pod["metadata"].get("deletionTimestamp"):
            self._begun.pop(key, None)
            return None
        taints = self._taints.get(str(spec(pod).get("nodeName") or ""))
        stay = tolerated_for(taints, spec(pod).get("tolerations") or ()) if taints else None
        if stay is None:
            if begun is not None:
                del self._begun[key]
                self._record(pod, f"Cancelling deletion of Pod {key[0]}/{key[1]}")
            return None
        now: float = self._clock.seconds()
        if begun is None and stay > 0:
            begun = self._begun[key] = (uid(pod), now)
        left = 0.0 if begun is None else begun[1] + stay - now
        if left > 0:
            return left
        await self._evict(pod)
        self.deletions.add()
        self.delays.observe(self._clock.seconds() - (now if begun is None else begun[1] + stay))
        self._begun.pop(key, None)
        return None

    async def _evict(self, pod: Object) -> None:
        within, called = namespace(pod), name(pod)
        self._record(pod, f"Marking for deletion Pod {within}/{called}")
        if self._disrupted is not None:
            await self._disrupted.mark(pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
        with ignore_missing_or_changed():
            await self._client.delete(PODS, within, called, options={"preconditions": {"uid": uid(pod)}})

    def _record(self, pod: Object, note: str) -> None:
        self._recorder.event(with_type(pod, "v1", "Pod"), NORMAL, "TaintManagerEviction", note)
