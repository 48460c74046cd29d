"""A client that adds a field selector to lists and watches, for informers of a subset."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import IClient, IWatchStream, ResourceRef
from orchd.kinds.jsonvalues import Object


class SelectingClient:
    """The part of IClient that informers need: `list` and `watch`, with a fixed field selector."""

    def __init__(self, client: IClient, *, field_selector: str) -> None:
        self._client = client
        self._field_selector = field_selector

    async def list(self, ref: ResourceRef, namespace: str = "", **options: Any) -> Object:
        response: Object = await self._client.list(ref, namespace, field_selector=self._field_selector, **options)
        return response

    async def watch(self, ref: ResourceRef, namespace: str = "", **options: Any) -> IWatchStream:
        stream: IWatchStream = await self._client.watch(ref, namespace, field_selector=self._field_selector, **options)
        return stream
