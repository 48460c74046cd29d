"""Reports results of scheduling: Events, and the PodScheduled condition of pending pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.client.interfaces import IClient, IEventRecorder, IInformer, ResourceRef
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp
from orchd.scheduler.pods import Pod
from orchd.txkit.log import Logger

PODS = ResourceRef("", "v1", "pods")
#: Maximum length in characters of an Event's note and of a condition's message, and what truncated ones end with:
#: extenders decide about the length of their reasons.
_MAX_NOTE, _MAX_MESSAGE, _ELLIPSIS = 1024, 32768, " ..."
_CONDITION = "PodScheduled"
#: Reasons of the condition: no node fits, and a failure after a node was chosen.
UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
_MERGE = "application/strategic-merge-patch+json"


def pod_reference(pod: Pod) -> Object:
    """The object reference of a pod for Events."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": pod.namespace, "name": pod.name, "uid": pod.uid, "resourceVersion": pod.version,
        },
    }  # fmt: skip


def _truncated(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(_ELLIPSIS)] + _ELLIPSIS


class Reporter:
    """Reports results for the pods of one profile. `wall` is seconds since the epoch."""

    log = Logger()

    def __init__(self, client: IClient, recorder: IEventRecorder, pods: IInformer, wall: Callable[[], float]) -> None:
        self._client = client
        self._recorder = recorder
        self._pods = pods
        self._wall = wall

    def scheduled(self, pod: Pod, node_name: str) -> None:
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._recorder.event(pod_reference(pod), "Normal", "Scheduled", note, action="Binding")

    def failed(self, pod: Pod, message: str) -> None:
        note = _truncated(message, _MAX_NOTE)
        self._recorder.event(pod_reference(pod), "Warning", "FailedScheduling", note, action="Scheduling")

    def skipped(self, pod: Pod) -> None:
        self.failed(pod, f"skip schedule deleting pod: {pod.key}")

    def condition_patch(self, pod: Pod, reason: str, message: str, nominated: str | None) -> Object | None:
        """The status patch with the reason why a pod is pending; None if its status is up to date. `nominated` None
        keeps the nomination."""
        obj = self._pods.get(pod.namespace, pod.name)
        if obj is None or obj["metadata"].get("uid") != pod.uid:
            return None
        status = fields.status(obj)
        patch: dict[str, Any] = {}
        before = find_condition(status, _CONDITION) or {}
        text = _truncated(message, _MAX_MESSAGE)
        condition = {"type": _CONDITION, "status": "False", "reason": reason, "message": text}
        if any(before.get(name) != value for name, value in condition.items()) or before.get("lastProbeTime"):
            unchanged = before.get("status") == "False"
            transition = before.get("lastTransitionTime") if unchanged else timestamp(self._wall())
            generation = obj["metadata"].get("generation")
            observed = {"observedGeneration": generation} if generation else {}
            patch["conditions"] = [{**condition, **observed, "lastProbeTime": None, "lastTransitionTime": transition}]
        if nominated is not None and nominated != (status.get("nominatedNodeName") or ""):
            patch["nominatedNodeName"] = nominated or None
        return {"metadata": {"uid": pod.uid}, "status": patch} if patch else None

    async def nominate(self, pod: Pod, node_name: str) -> None:
        """Write the node to which a pod is about to be bound. A failure is logged."""
        if pod.nominated != node_name:
            await self.write(pod, {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node_name}})

    async def write(self, pod: Pod, patch: Object) -> None:
        """Write a patch of a pod's status. A failure is logged; the next attempt writes again."""
        try:
            await self._client.patch(
                PODS, pod.namespace, pod.name, patch, content_type=_MERGE, subresource="status", need_response=False
            )
        except ApiError as error:
            if error.code not in (404, 409):
                self.log.warn("status of pod {pod} was not written: {why}", pod=pod.key, why=error.message)
