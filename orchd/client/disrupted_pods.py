"""The condition DisruptionTarget, which says why a controller or the scheduler is about to delete a pod, from release
1.26 on."""

from __future__ import annotations

from collections.abc import Callable

from orchd.client.interfaces import IClient, ResourceRef
from orchd.errors import ApiError
from orchd.kinds.conditions import find_condition
from orchd.kinds.fields import name, namespace, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp

_PODS = ResourceRef("", "v1", "pods")
_MERGE = "application/strategic-merge-patch+json"
#: The first release whose controllers mark pods.
MARKED_SINCE = "1.26"


class DisruptedPods:
    """Marks pods as `client`. `wall` is seconds since the epoch."""

    def __init__(self, client: IClient, wall: Callable[[], float]) -> None:
        self._client = client
        self._wall = wall

    async def mark(self, pod: Object, reason: str, message: str) -> None:
        """Set the condition unless the pod has it. Raises ApiError."""
        await self._patch(pod, self._disruption(pod, reason, message))

    async def fail(self, pod: Object, reason: str = "", message: str = "") -> None:
        """Put a pod that has not finished into the phase Failed, with the condition if there is a `reason`. Raises
        ApiError."""
        if status(pod).get("phase") not in ("Succeeded", "Failed"):
            marked = self._disruption(pod, reason, message) if reason else {}
            generation = pod["metadata"].get("generation")
            observed = {"observedGeneration": generation} if generation else {}
            await self._patch(pod, {"phase": "Failed", **observed, **marked})

    def _disruption(self, pod: Object, reason: str, message: str) -> Object:
        """The members of the status to change; none if the pod has the condition."""
        before = find_condition(status(pod), "DisruptionTarget") or {}
        fresh: Object = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
        if all(before.get(key) == value for key, value in fresh.items()):
            return {}
        generation = pod["metadata"].get("generation")
        if generation:
            fresh["observedGeneration"] = generation
        if before.get("status") != "True":
            fresh["lastTransitionTime"] = timestamp(self._wall())
        return {"conditions": [fresh]}

    async def _patch(self, pod: Object, change: Object) -> None:
        """Does nothing if there is no change, or if another pod has the name by now."""
        if not change:
            return
        patch = {"metadata": {"uid": uid(pod)}, "status": change}
        try:
            await self._client.patch(_PODS, namespace(pod), name(pod), patch, content_type=_MERGE, subresource="status")
        except ApiError as error:
            if error.code not in (404, 409):
                raise
