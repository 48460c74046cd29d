"""A client that records what a controller sends, for tests of one step without a server."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError

CONFLICT = ApiError(409, "Conflict", "changed")
EXISTS = ApiError(409, "AlreadyExists", "exists")
FORBIDDEN = ApiError(403, "Forbidden", "refused")
MISSING = ApiError(404, "NotFound", "not found")


class RecordingClient:
    """`calls` are (verb, plural or plural/subresource, name), `bodies` what each of them sent. Requests with a verb of
    `failures` fail; `objects` are read by name; writes return what they were sent,
    created objects with a name."""

    def __init__(self, *objects: Any, **failures: ApiError) -> None:
        self.calls: list[tuple[str, str, str]] = []
        self.bodies: list[Any] = []
        self.objects = {obj["metadata"]["name"]: obj for obj in objects}
        self.failures = failures

    def _take(self, verb: str, ref: ResourceRef, name: str, body: Any, subresource: str) -> Any:
        self.calls.append((verb, f"{ref.plural}/{subresource}" if subresource else ref.plural, name))
        self.bodies.append(body)
        if verb in self.failures:
            raise self.failures[verb]
        return body

    async def get(self, ref: ResourceRef, namespace: str, name: str, *, subresource: str = "") -> Any:
        self._take("get", ref, name, None, subresource)
        if name not in self.objects:
            raise MISSING
        return self.objects[name]

    async def create(self, ref: ResourceRef, namespace: str, obj: Any, *, subresource: str = "", **_: Any) -> Any:
        created = self._take("create", ref, str(obj["metadata"].get("name", "")), obj, subresource)
        return created if "name" in obj["metadata"] else {**obj, "metadata": {**obj["metadata"], "name": "generated"}}

    async def update(
        self,
        ref: ResourceRef,
        namespace: str,
        name: str,
        obj: Any,
        *,
        subresource: str = "",
        need_response: bool = True,
    ) -> Any:
        return self._take("update", ref, name, obj, subresource)

    async def patch(
        self,
        ref: ResourceRef,
        namespace: str,
        name: str,
        patch: Any,
        *,
        content_type: str,
        subresource: str = "",
        **_: Any,
    ) -> Any:
        return self._take("patch", ref, name, patch, subresource)

    async def delete(
        self, ref: ResourceRef, namespace: str, name: str, *, options: Any = None, need_response: bool = True
    ) -> Any:
        return self._take("delete", ref, name, options, "")


def recording_client(*objects: Any, **failures: ApiError) -> Any:
    """A RecordingClient, of a type that is accepted as a client."""
    return RecordingClient(*objects, **failures)
