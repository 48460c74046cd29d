"""The methods of IClient that consist of one request and one response, independent of the transport."""

from __future__ import annotations

from typing import Any

from orchd.client import requests
from orchd.client.interfaces import ResourceRef
from orchd.client.requests import Call
from orchd.kinds.jsonvalues import Object


class Methods:
    """Base class of clients. A subclass sends calls in `_call` and implements `watch`."""

    async def _call(self, call: Call) -> Object:
        """Send a call and return the object of the response. Raises ApiError."""
        raise NotImplementedError

    async def get(self, ref: ResourceRef, namespace: str, name: str, **options: Any) -> Object:
        return await self._call(requests.get(ref, namespace, name, **options))

    async def list(self, ref: ResourceRef, namespace: str = "", **options: Any) -> Object:
        return await self._call(requests.list_(ref, namespace, **options))

    async def create(self, ref: ResourceRef, namespace: str, obj: Object, **options: Any) -> Object:
        return await self._call(requests.create(ref, namespace, obj, **options))

    async def update(self, ref: ResourceRef, namespace: str, name: str, obj: Object, **options: Any) -> Object:
        return await self._call(requests.update(ref, namespace, name, obj, **options))

    async def patch(self, ref: ResourceRef, namespace: str, name: str, patch: Any, **options: Any) -> Object:
        return await self._call(requests.patch(ref, namespace, name, patch, **options))

    async def delete(self, ref: ResourceRef, namespace: str, name: str, **options: Any) -> Object:
        return await self._call(requests.delete(ref, namespace, name, **options))

    async def delete_collection(self, ref: ResourceRef, namespace: str = "", **options: Any) -> Object:
        return await self._call(requests.delete_collection(ref, namespace, **options))
