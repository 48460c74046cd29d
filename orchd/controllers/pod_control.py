"""Creation and deletion of pods on behalf of an owner, each recorded as an Event about the owner."""

from __future__ import annotations

from orchd.client.interfaces import IClient, IEventRecorder
from orchd.controllers.event_objects import NORMAL, WARNING, with_type
from orchd.controllers.objects import PODS
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import name, namespace, uid
from orchd.kinds.jsonvalues import Object


class PodControl:
    """`api_version` and `kind` are those of the owners; list items of a remote server do not carry them."""

    def __init__(self, client: IClient, recorder: IEventRecorder, api_version: str, kind: str) -> None:
        self._client = client
        self._recorder = recorder
        self._api_version = api_version
        self._kind = kind

    async def create(self, parent: Object, pod: Object) -> Object:
        """Create a pod in the owner's namespace; raises ApiError. A terminating namespace records nothing."""
        try:
            created: Object = await self._client.create(PODS, namespace(parent), pod)
        except ApiError as error:
            if not terminating_namespace(error):
                self._record(parent, WARNING, "FailedCreate", f"Error creating: {error.message}")
            raise
        self._record(parent, NORMAL, "SuccessfulCreate", f"Created pod: {name(created)}")
        return created

    async def delete(self, parent: Object, pod: Object) -> None:
        """Delete the pod with this uid, if it still exists. Raises ApiError."""
        try:
            await self._client.delete(
                PODS, namespace(pod), name(pod), options={"preconditions": {"uid": uid(pod)}}, need_response=False
            )
        except ApiError as error:
            if error.code in (404, 409):
                return
            self._record(parent, WARNING, "FailedDelete", f"Error deleting: {error.message}")
            raise
        self._record(parent, NORMAL, "SuccessfulDelete", f"Deleted pod: {name(pod)}")

    def _record(self, parent: Object, type_: str, reason: str, note: str) -> None:
        self._recorder.event(with_type(parent, self._api_version, self._kind), type_, reason, note)
