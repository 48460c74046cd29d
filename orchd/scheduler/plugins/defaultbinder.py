"""DefaultBinder: binds a pod through the API."""

from __future__ import annotations

from zope.interface import implementer

from orchd.client.interfaces import IClient, ResourceRef
from orchd.errors import ApiError
from orchd.scheduler.interfaces import IBind, IHandle
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import CycleState, Status, failed

PODS = ResourceRef("", "v1", "pods")


@implementer(IBind)
class DefaultBinder:
    name = "DefaultBinder"
    events = ()

    def __init__(self, handle: IHandle, args: object) -> None:
        self._client: IClient = handle.client

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
            "target": {"kind": "Node", "name": node_name},
        }
        try:
            await self._client.create(
                PODS, pod.namespace, binding, name=pod.name, subresource="binding", need_response=False
            )
        except ApiError as error:
            return failed(error.message)
        return None
