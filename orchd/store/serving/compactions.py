"""KV.Compact: clients may shorten the history, which the store also limits by itself."""

from __future__ import annotations

from orchd.store.etcd import messages
from orchd.store.interfaces import StoreError
from orchd.store.serving.encoding import headed
from orchd.store.serving.errors import compacted, future, of_store, parsed
from orchd.store.serving.interfaces import IServedStore


class Compactions:
    """Handles Compact."""

    def __init__(self, store: IServedStore) -> None:
        self._store = store

    async def compact(self, data: bytes) -> list[bytes]:
        store, revision = self._store, parsed(messages.CompactionRequest.FromString, data).revision
        if revision > store.revision:
            raise future()
        if revision <= store.compacted:
            raise compacted()
        try:
            await store.compact(revision)
        except StoreError as error:
            raise of_store(error) from error
        return [headed(store.revision)]
