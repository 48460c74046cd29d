"""Guarded writes as etcd transactions: requests, and evaluation of responses."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from orchd.store.etcd import messages
from orchd.store.etcd.space import Space
from orchd.store.interfaces import ClaimedError, KeyExistsError, RevisionConflictError


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """`value` None deletes; `expected` 0 creates. `take` and `leave` are claims (`ISharedStore.write`)."""

    key: str
    value: bytes | None
    expected: int
    ttl: int | None = None
    take: tuple[str, ...] = ()
    leave: Collection[str] = ()

    @property
    def operation(self) -> str:
        return "delete" if self.value is None else "update" if self.expected else "create"

    def request(self, space: Space) -> Any:
        """A TxnRequest, whose first operation is the write itself. Raises ValueError for an invalid key."""
        name = space.key(self.key)
        request = messages.TxnRequest()
        compare = request.compare.add(
            target=messages.MOD_REVISION if self.expected else messages.CREATE_REVISION, key=name
        )
        operation = request.success.add()
        if self.value is None:
            operation.delete_range.key = name
        else:
            operation.put.key, operation.put.value = name, self.value
        if self.expected:
            compare.mod_revision = self.expected
        if self.expected or self.take:
            request.failure.add().range.key = name
        for claim in self.take:
            held = space.claim(claim)
            request.compare.add(target=messages.CREATE_REVISION, key=held)
            put = request.success.add().put
            put.key, put.value = held, self.key.encode()
            request.failure.add().range.key = held
        for claim in self.leave:
            request.success.add().delete_range.key = space.claim(claim)
        return request

    def revision(self, space: Space, response: Any) -> int:
        """The revision of a successful write. Raises the reason of a failed one."""
        if response.succeeded:
            return int(response.header.revision)
        responses = [result.range.kvs for result in response.responses] or [()]
        current, claims = responses[0], responses[1:]
        if self.expected and (not current or current[0].mod_revision != self.expected):
            raise RevisionConflictError(self.key, space.item(current[0]) if current else None)
        if not self.expected and (current or not claims):
            raise KeyExistsError(self.key)
        # The key's guard holds, so a claim failed.
        raise next(
            ClaimedError(claim, kvs[0].value.decode("utf-8", "replace"), kvs[0].mod_revision)
            for claim, kvs in zip(self.take, claims, strict=True)
            if kvs
        )


def freeing(space: Space, claimed: ClaimedError) -> Any:
    """A TxnRequest that releases a claim if it is unchanged."""
    held = space.claim(claimed.claim)
    request = messages.TxnRequest()
    request.compare.add(target=messages.MOD_REVISION, key=held, mod_revision=claimed.revision)
    request.success.add().delete_range.key = held
    return request
