"""Store writes with claims: an object is written together with its cluster-wide unique values.

A single server tracks allocated addresses and ports in memory. Where several servers write to one store, each write
takes the claims that its object newly holds and releases those it no longer holds, in the same transaction; so no value
is allocated twice and none leaks, wherever a server stops. Values of kinds with records are objects of their own
instead, made before the object and removed after it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson

from orchd.cache.written_objects import Announced
from orchd.kinds.jsonvalues import Object
from orchd.server.registry.interfaces import IAddressRecords, IStorageStrategy
from orchd.store.interfaces import ClaimedError, ISharedStore, IStore

_NOTHING: frozenset[str] = frozenset()


class ClaimingWriter:
    """Create, update and delete with claims. Objects are in the storage version."""

    def __init__(self, store: IStore, strategy: IStorageStrategy, announced: Announced) -> None:
        self._store = store
        self._strategy = strategy
        self._announced = announced

    async def create(self, key: str, obj: Object, kept: Object, value: bytes) -> int:
        """Store a new object; `kept` is `obj` in the stored version, `value` its encoding. Returns the revision. Raises
        StoreError; after ClaimedError or KeyExistsError the caller decides again."""
        if self._strategy.records is None:
            return await self._create(key, obj, kept, value)
        async with self._recorded(self._strategy.records, obj, None):
            return await self._create(key, obj, kept, value)

    async def _create(self, key: str, obj: Object, kept: Object, value: bytes) -> int:
        ttl = self._strategy.time_to_live(obj)
        take = self._claim_keys(obj)
        self._announced.announce(key, value, kept)
        try:
            if take:
                return await self._write(key, value, 0, ttl, take, _NOTHING)
            return await self._store.create(key, value, ttl=ttl)
        finally:
            self._announced.withdraw(key, value)

    async def update(self, key: str, obj: Object, old: Object, kept: Object, value: bytes, *, expected: int) -> int:
        """Replace `old`, which must be at revision `expected`. Raises as `create`, with RevisionConflictError."""
        if self._strategy.records is None:
            return await self._update(key, obj, old, kept, value, expected=expected)
        async with self._recorded(self._strategy.records, obj, old):
            return await self._update(key, obj, old, kept, value, expected=expected)

    async def _update(self, key: str, obj: Object, old: Object, kept: Object, value: bytes, *, expected: int) -> int:
        ttl = self._strategy.time_to_live(obj)
        held, before = self._claim_keys(obj), self._claim_keys(old)
        self._announced.announce(key, value, kept)
        try:
            if held != before:
                return await self._write(key, value, expected, ttl, held - before, before - held)
            return await self._store.update(key, value, expected=expected, ttl=ttl)
        finally:
            self._announced.withdraw(key, value)

    async def delete(self, key: str, old: Object, *, expected: int) -> int:
        """Remove `old`, which must be at revision `expected`."""
        if self._strategy.records is None:
            return await self._delete(key, old, expected=expected)
        async with self._recorded(self._strategy.records, None, old):
            return await self._delete(key, old, expected=expected)

    async def _delete(self, key: str, old: Object, *, expected: int) -> int:
        leave = self._claim_keys(old)
        if leave:
            return await self._write(key, None, expected, None, _NOTHING, leave)
        return await self._store.delete(key, expected=expected)

    @asynccontextmanager
    async def _recorded(self, records: IAddressRecords, obj: Object | None, old: Object | None) -> AsyncIterator[None]:
        """Take the records that a write adds before it, and leave those that it removes after it."""
        held, before = (_NOTHING if one is None else self._strategy.recorded_values(one) for one in (obj, old))
        if obj is not None and held - before:
            await records.take(obj, held - before)
        try:
            yield
        except Exception:
            await records.leave(held - before)
            raise
        await records.leave(before - held)

    def _claim_keys(self, obj: Object) -> frozenset[str]:
        return _NOTHING if self._store.exclusive else self._strategy.unique_values(obj)

    async def _write(
        self, key: str, value: bytes | None, expected: int, ttl: int | None, take: frozenset[str], leave: frozenset[str]
    ) -> int:
        store: ISharedStore = self._store  # type: ignore[assignment]  # that it is not exclusive says so
        try:
            return await store.write(key, value, expected=expected, ttl=ttl, take=sorted(take), leave=sorted(leave))
        except ClaimedError as error:
            holder = await store.get(error.holder)
            if holder is None or error.claim not in self._strategy.unique_values(orjson.loads(holder.value)):
                # The holder was removed or changed directly in the store. It is of this kind: kinds never share claim
                # names.
                await store.free(error)
            raise
