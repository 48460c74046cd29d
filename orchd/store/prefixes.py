"""Reading everything below a prefix of a store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from orchd.store.interfaces import IStore, KeyValue

_PAGE: Final = 100


async def values_below(store: IStore, prefix: str) -> AsyncIterator[KeyValue]:
    """Every value under a prefix, as of one revision."""
    at, begin = 0, prefix
    while True:
        page = await store.range(prefix, start=begin, limit=_PAGE, revision=at)
        for item in page.items:
            yield item
        if not page.remaining:
            return
        at, begin = page.revision, page.items[-1].key + "\0"
