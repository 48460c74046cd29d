"""A client that rejects writes after its owner lost the leader lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zope.interface import implementer

from orchd.client.interfaces import IClient, IWatchStream, ResourceRef
from orchd.errors import ApiError, unavailable
from orchd.kinds.jsonvalues import Object


@implementer(IClient)
class FencedClient:
    """Delegates to `client`; writes raise ApiError 503 if `allowed()` is False."""

    def __init__(self, client: IClient, allowed: Callable[[], bool]) -> None:
        self._client = client
        self._allowed = allowed

    def _check(self) -> None:
        if not self._allowed():
            raise _refusal()

    async def get(self, ref: ResourceRef, namespace: str, name: str, **options: Any) -> Object:
        obj: Object = await self._client.get(ref, namespace, name, **options)
        return obj

    async def list(self, ref: ResourceRef, namespace: str = "", **options: Any) -> Object:
        objects: Object = await self._client.list(ref, namespace, **options)
        return objects

    async def watch(self, ref: ResourceRef, namespace: str = "", **options: Any) -> IWatchStream:
        stream: IWatchStream = await self._client.watch(ref, namespace, **options)
        return stream

    async def create(self, ref: ResourceRef, namespace: str, obj: Object, **options: Any) -> Object:
        self._check()
        created: Object = await self._client.create(ref, namespace, obj, **options)
        return created

    async def update(self, ref: ResourceRef, namespace: str, name: str, obj: Object, **options: Any) -> Object:
        self._check()
        updated: Object = await self._client.update(ref, namespace, name, obj, **options)
        return updated

    async def patch(self, ref: ResourceRef, namespace: str, name: str, patch: Any, **options: Any) -> Object:
        self._check()
        patched: Object = await self._client.patch(ref, namespace, name, patch, **options)
        return patched

    async def delete(self, ref: ResourceRef, namespace: str, name: str, **options: Any) -> Object:
        self._check()
        deleted: Object = await self._client.delete(ref, namespace, name, **options)
        return deleted

    async def delete_collection(self, ref: ResourceRef, namespace: str = "", **options: Any) -> Object:
        self._check()
        deleted: Object = await self._client.delete_collection(ref, namespace, **options)
        return deleted


def _refusal() -> ApiError:
    return unavailable("this process is not the leader any more")
