"""A store whose operations are spans of traces."""

from __future__ import annotations

from typing import Any

from orchd.store.interfaces import IStore, KeyValue, Range
from orchd.txkit.tracing import traced


class TracedStore:
    """Delegates to `inner`. Watches and the life of the store are not traced: they belong to no request."""

    def __init__(self, inner: IStore) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def create(self, key: str, value: bytes, *, ttl: int | None = None) -> int:
        with traced("store create", {"key": key, "size": len(value)}):
            return await self._inner.create(key, value, ttl=ttl)

    async def update(self, key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        with traced("store update", {"key": key, "size": len(value)}):
            return await self._inner.update(key, value, expected=expected, ttl=ttl)

    async def delete(self, key: str, *, expected: int) -> int:
        with traced("store delete", {"key": key}):
            return await self._inner.delete(key, expected=expected)

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        with traced("store get", {"key": key}):
            return await self._inner.get(key, revision=revision)

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Range:
        with traced("store range", {"prefix": prefix, "limit": limit}):
            return await self._inner.range(prefix, start=start, limit=limit, revision=revision)

    async def current_revision(self) -> int:
        with traced("store revision"):
            return await self._inner.current_revision()

    async def write(self, *arguments: Any, **keywords: Any) -> Any:
        with traced("store write"):
            # Only of shared stores.
            return await self._inner.write(*arguments, **keywords)  # type: ignore[attr-defined]
