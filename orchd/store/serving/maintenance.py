"""The services Maintenance and Cluster, as far as one process on one machine has what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from orchd.store.etcd import messages
from orchd.store.interfaces import StoreError
from orchd.store.serving.encoding import MEMBER_ID, TERM, headed
from orchd.store.serving.errors import compacted, future, of_store, parsed
from orchd.store.serving.interfaces import IServedStore
from orchd.store.serving.leases import set_header

#: The release of etcd whose behaviour is offered: the first one of 3.5 whose progress requests clients trust (etcd
#: issues 15220 and 17507).
VERSION: Final = "3.5.13"
_NAME: Final = "embedded"


class Maintenance:
    """Handles Status, Alarm and MemberList. `urls` are those on which clients reach the store."""

    def __init__(self, store: IServedStore, urls: Sequence[str]) -> None:
        self._store = store
        self._urls = urls

    async def status(self, data: bytes) -> list[bytes]:
        store = self._store
        size, trouble = store.file_size(), store.healthy()
        response = messages.StatusResponse(
            version=VERSION, size=size, size_in_use=size, leader=MEMBER_ID, raft_index=store.revision, raft_term=TERM,
            raft_applied_index=store.revision, errors=[trouble] if trouble else [],
        )  # fmt: skip
        return self._finished(response)

    async def alarm(self, data: bytes) -> list[bytes]:
        # There are none to list or to disarm.
        return self._finished(messages.AlarmResponse())

    async def members(self, data: bytes) -> list[bytes]:
        response = messages.MemberListResponse()
        response.members.add(id=MEMBER_ID, name=_NAME, client_urls=self._urls)
        return self._finished(response)

    def _finished(self, response: Any) -> list[bytes]:
        set_header(response, self._store.revision)
        return [response.SerializeToString()]


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
