"""Replacement of an object on the server."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.client import paths
from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api
from orchd.ctl.objects.targets import Target
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object


async def put(api: Api, target: Target, obj: Object, *, query: Mapping[str, str], subresource: str = "") -> Object:
    """Put an object in the place of the present one. Without a resource version the write is unconditional, where the
    kind allows that; where not, the present version is named."""
    path = paths.item(target.resource.ref, api.scope(target.resource, target.namespace), target.name, subresource)
    if not obj["metadata"].get("resourceVersion") and subresource == "":
        try:
            return await _send(api, path, obj, query)
        except ApiError as error:
            if error.code != 422 or "resourceVersion" not in error.message:
                raise
        now = await api.get(target.resource, target.name, target.namespace)
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": now["metadata"]["resourceVersion"]}}
    return await _send(api, path, obj, query)


async def _send(api: Api, path: str, obj: Object, query: Mapping[str, str]) -> Object:
    replaced: Object = await api.call(
        Call(method="PUT", path=path, query={"fieldManager": api.manager, **query}, body=obj)
    )
    return replaced
