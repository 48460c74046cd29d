"""A client that lists and watches only what a field selector chooses: an informer made of it holds only that."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import IClient, IWatchStream, Object, ResourceRef


class SelectingClient:
    """For `Informers`: `list` and `watch` are narrowed, there is nothing else."""

    def __init__(self, client: IClient, *, field_selector: str) -> None:
        self._client = client
        self._field_selector = field_selector

    async def list(self, ref: ResourceRef, namespace: str = "", **options: Any) -> Object:
        answer: Object = await self._client.list(ref, namespace, field_selector=self._field_selector, **options)
        return answer

    async def watch(self, ref: ResourceRef, namespace: str = "", **options: Any) -> IWatchStream:
        stream: IWatchStream = await self._client.watch(ref, namespace, field_selector=self._field_selector, **options)
        return stream
