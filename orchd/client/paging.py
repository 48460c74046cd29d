"""Lists read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from orchd.client.interfaces import IClient, ResourceRef
from orchd.kinds.jsonvalues import Object


async def list_pages(
    client: IClient, ref: ResourceRef, namespace: str = "", *, limit: int, **options: Any
) -> AsyncIterator[Object]:
    """The pages of a list, each a list object of at most `limit` items. `options` are those of `IClient.list`."""
    token = ""
    while True:
        page: Object = await client.list(ref, namespace, limit=limit, continue_=token, **options)
        yield page
        token = page["metadata"].get("continue", "")
        if not token:
            return
