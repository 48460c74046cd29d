"""Deletion of all pods of failed nodes after a timeout, with --enable-taint-manager=false."""

from __future__ import annotations

from orchd.client.interfaces import IClient, IEventRecorder, IInformer
from orchd.controllers.event_objects import NORMAL, with_type
from orchd.controllers.objects import BY_NODE, PODS
from orchd.controllers.write_errors import ignore_missing_or_changed
from orchd.kinds.fields import deleting, name, namespace, owner, uid
from orchd.kinds.jsonvalues import Object


class PodEviction:
    """Deletes pods of nodes. `pods` is indexed by node."""

    def __init__(self, client: IClient, recorder: IEventRecorder, pods: IInformer) -> None:
        self._client = client
        self._recorder = recorder
        self._pods = pods

    def is_empty(self, node: str) -> bool:
        """True if there is nothing on the node that `empty` would delete."""
        return not any(self._goes(pod) for pod in self._pods.by_index(BY_NODE, node))

    @staticmethod
    def _goes(pod: Object) -> bool:
        reference = owner(pod)
        return not deleting(pod) and (reference is None or reference.get("kind") != "DaemonSet")

    async def empty(self, node: Object) -> None:
        """Delete the pods of a node, except those of daemon sets and those that are being deleted. Raises ApiError."""
        going = [pod for pod in self._pods.by_index(BY_NODE, name(node)) if self._goes(pod)]
        if not going:
            return
        note = f"Node {name(node)} event: Deleting all Pods from Node {name(node)}."
        self._recorder.event(with_type(node, "v1", "Node"), NORMAL, "DeletingAllPods", note)
        for pod in going:
            note = f"Marking for deletion Pod {name(pod)} from Node {name(node)}"
            self._recorder.event(with_type(pod, "v1", "Pod"), NORMAL, "NodeControllerEviction", note)
            with ignore_missing_or_changed():
                await self._client.delete(PODS, namespace(pod), name(pod), options={"preconditions": {"uid": uid(pod)}})
