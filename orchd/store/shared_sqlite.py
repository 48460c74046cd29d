"""The embedded store of a process whose other clients are processes on its socket: its own writes hold claims, as
theirs do."""

from __future__ import annotations

import os
from collections.abc import Collection
from random import Random
from typing import Any, Final

from zope.interface import implementer

from orchd.store.compaction import USUAL_HISTORY, HistoryLimits
from orchd.store.etcd.space import Space
from orchd.store.interfaces import ClaimedError, ISharedStore, KeyExistsError, RevisionConflictError, StoreError
from orchd.store.keys import check_key
from orchd.store.records import Change
from orchd.store.sqlite import SqliteStore

#: Where processes on the socket, whose prefix is /, keep claims.
_SPACE: Final = Space("")


@implementer(ISharedStore)
class SharedSqliteStore(SqliteStore):
    """`SqliteStore` with claims, under the keys of an `EtcdStore` with the prefix /. `random` makes the numbers of
    leases."""

    exclusive = False

    def __init__(
        self,
        reactor: Any,
        path: str | os.PathLike[str],
        *,
        dialect_name: str,
        history: HistoryLimits = USUAL_HISTORY,
        random: Random,
    ) -> None:
        super().__init__(reactor, path, dialect_name=dialect_name, history=history)
        self._random = random

    async def write(
        self, key: str, value: bytes | None, *, expected: int, take: Collection[str], leave: Collection[str],
        ttl: int | None = None,
    ) -> int:  # fmt: skip
        check_key(key)
        lease = 0
        if ttl is not None:
            lease = self._random.getrandbits(62) + 1
            await self.grant(lease, ttl)
        # From here on in one turn of the reactor.
        error = self._refused(key, expected, take)
        if error is not None:
            # What is in its way may not be durable yet.
            await self.barrier()
            raise error
        released = [claim for claim in map(_claim, leave) if self.newest(claim) is not None]
        return await self.apply(
            [
                Change(key, value, lease),
                *(Change(_claim(claim), key.encode()) for claim in take),
                *(Change(claim, None) for claim in released),
            ]
        )

    def _refused(self, key: str, expected: int, take: Collection[str]) -> StoreError | None:
        """Why a write cannot be applied now, None if it can."""
        current = self.newest(key)
        if expected and (current is None or current.revision != expected):
            return RevisionConflictError(key, current)
        if not expected and current is not None:
            return KeyExistsError(key)
        for claim in take:
            held = self.newest(_claim(claim))
            if held is not None:
                return ClaimedError(claim, held.value.decode("utf-8", "replace"), held.revision)
        return None

    async def free(self, claimed: ClaimedError) -> None:
        key = _claim(claimed.claim)
        held = self.newest(key)
        if held is not None and held.revision == claimed.revision:
            await self.apply([Change(key, None)])


def _claim(claim: str) -> str:
    return _SPACE.claim(claim).decode()
