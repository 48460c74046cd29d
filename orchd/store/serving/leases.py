"""The service Lease: leases are granted, kept alive, revoked and shown."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from orchd.store.etcd import messages
from orchd.store.grpc.call import Call
from orchd.store.grpc.status import RESOURCE_EXHAUSTED, StatusError
from orchd.store.interfaces import StoreError
from orchd.store.serving.encoding import CLUSTER_ID, MEMBER_ID, TERM
from orchd.store.serving.errors import lease_exists, lease_not_found, lease_too_long, of_store, parsed
from orchd.store.serving.interfaces import IServedStore

#: Longest time of a lease in seconds (etcd: lease/lessor.go).
_LONGEST: Final = 9_000_000_000
#: Shortest time: of the members of an etcd with default settings, one and a half times what an election takes, in whole
#: seconds.
_SHORTEST: Final = 2
#: What the timer of a process can wait for, in seconds: leases beyond it have this time.
_WAITABLE: Final = 10 * 365 * 86400
#: Bytes of responses that a client may leave unread.
_MOST_UNREAD: Final = 1024 * 1024


def set_header(response: Any, revision: int) -> None:
    """Fill the header of a response."""
    header = response.header
    header.cluster_id, header.member_id, header.revision, header.raft_term = CLUSTER_ID, MEMBER_ID, revision, TERM


class LeaseService:
    """`random` makes the identifiers of leases whose clients give none."""

    def __init__(self, store: IServedStore, random: Random) -> None:
        self._store = store
        self._random = random
        self._grants = store.grants
        #: Identifiers whose grants are not durable yet.
        self._beginning: set[int] = set()

    def _message(self, kind: Any, **fields: Any) -> list[bytes]:
        response = kind(**fields)
        set_header(response, self._store.revision)
        return [response.SerializeToString()]

    async def grant(self, data: bytes) -> list[bytes]:
        request = parsed(messages.LeaseGrantRequest.FromString, data)
        if request.ttl > _LONGEST:
            raise lease_too_long()
        lease = request.id or self._new_id()
        if lease in self._grants or lease in self._beginning:
            raise lease_exists()
        ttl = min(max(_SHORTEST, request.ttl), _WAITABLE)
        self._beginning.add(lease)
        try:
            await self._store.grant(lease, ttl)
        except StoreError as error:
            raise of_store(error) from error
        finally:
            self._beginning.discard(lease)
        return self._message(messages.LeaseGrantResponse, id=lease, ttl=ttl)

    def _new_id(self) -> int:
        while True:
            lease = self._random.getrandbits(63)
            if lease and lease not in self._grants and lease not in self._beginning:
                return lease

    async def revoke(self, data: bytes) -> list[bytes]:
        lease = parsed(messages.LeaseRevokeRequest.FromString, data).id
        if lease not in self._grants:
            raise lease_not_found()
        try:
            await self._store.revoke(lease)
        except StoreError as error:
            raise of_store(error) from error
        return self._message(messages.LeaseRevokeResponse)

    async def time_to_live(self, data: bytes) -> list[bytes]:
        request = parsed(messages.LeaseTimeToLiveRequest.FromString, data)
        if request.id not in self._grants:
            return self._message(messages.LeaseTimeToLiveResponse, id=request.id, ttl=-1)
        keys = sorted(key.encode() for key in self._grants.keys(request.id)) if request.keys else ()
        return self._message(
            messages.LeaseTimeToLiveResponse, id=request.id, ttl=self._grants.remaining(request.id),
            granted_ttl=self._grants.ttl(request.id), keys=keys,
        )  # fmt: skip

    async def leases(self, data: bytes) -> list[bytes]:
        """The next to end first, as in etcd."""
        return self._message(
            messages.LeaseLeasesResponse,
            leases=[{"id": lease} for lease in sorted(self._grants.ids(), key=self._grants.remaining)],
        )

    def keep_alive(self, call: Call) -> KeepAlive:
        return KeepAlive(call, self._store)


class KeepAlive:
    """One stream of keep-alives: each request has a response; that of an ended lease has the time 0."""

    def __init__(self, call: Call, store: IServedStore) -> None:
        self._call = call
        self._store = store
        self._grants = store.grants

    def message(self, data: bytes) -> None:
        if self._call.backlog > _MOST_UNREAD:
            raise StatusError(RESOURCE_EXHAUSTED, "etcdserver: too many requests")
        lease = parsed(messages.LeaseKeepAliveRequest.FromString, data).id
        ttl = self._grants.keep_alive(lease) if lease in self._grants else 0
        response = messages.LeaseKeepAliveResponse(id=lease, ttl=ttl)
        set_header(response, self._store.revision)
        self._call.send([response.SerializeToString()])

    def half_closed(self) -> None:
        self._call.end()

    def drained(self) -> None:
        """Does nothing: responses are small, and each follows a request."""

    def closed(self) -> None:
        """Does nothing: leases outlive their clients."""
