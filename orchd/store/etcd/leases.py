"""Leases of etcd for keys with a time to live, shared by many keys."""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchd.store.etcd import messages
from orchd.store.etcd.channel import Channel
from orchd.store.etcd.failures import CallError
from orchd.txkit.coroutines import start
from orchd.txkit.metrics.instruments import Distribution

#: Maximum keys per lease: etcd deletes them in one transaction.
_MOST_KEYS: Final = 1000
#: Maximum age of a shared lease as a fraction of its duration, to bound the excess lifetime of keys.
_REUSE_FRACTION: Final = 0.05


class _Lease:
    __slots__ = ("id", "keys", "until", "waiting")

    def __init__(self) -> None:
        self.id = 0
        self.keys = 0
        #: Time on the reactor's clock until which keys may join.
        self.until = 0.0
        #: Waiters for the grant; None once granted.
        self.waiting: list[Deferred[None]] | None = []


class Leases:
    """Grants one lease for keys with the same time to live within `reuse` seconds (or a twentieth of that time)."""

    def __init__(self, reactor: IReactorTime, channel: Channel, *, reuse: float, timeout: float) -> None:
        self._reactor = reactor
        self._channel = channel
        self._reuse = reuse
        self._timeout = timeout
        self._leases: dict[int, _Lease] = {}
        #: Keys of the leases that others have replaced.
        self.objects = Distribution(
            "etcd_lease_object_counts", "Objects attached to one lease.", (10, 50, 100, 500, 1000, 2500, 5000)
        )

    async def lease(self, ttl: int) -> int:
        """The id of a lease that expires in `ttl` seconds or slightly later. Raises CallError."""
        lease = self._leases.get(ttl)
        now = self._reactor.seconds()
        if lease is None or lease.keys >= _MOST_KEYS or (lease.waiting is None and now > lease.until):
            if lease is not None:
                self.objects.observe(lease.keys)
            lease = self._leases[ttl] = _Lease()
            reuse = min(self._reuse, ttl * _REUSE_FRACTION)
            # One consumer per Deferred: each waiter gets its own.
            start(self._grant(ttl, ttl + int(reuse), reuse)).addBoth(self._granted, ttl, lease)
        lease.keys += 1
        if lease.waiting is not None:
            waiter: Deferred[None] = Deferred()
            lease.waiting.append(waiter)
            await waiter
        return lease.id

    async def _grant(self, ttl: int, seconds: int, reuse: float) -> tuple[int, float]:
        request = messages.LeaseGrantRequest(ttl=max(1, seconds))
        # A repeated grant only leaves an unused lease.
        data = await self._channel.call(
            messages.LEASE_GRANT, request.SerializeToString(), timeout=self._timeout, repeat=True
        )
        response = messages.LeaseGrantResponse.FromString(data)
        if response.error:
            raise CallError(0, response.error)
        return response.id, self._reactor.seconds() + reuse

    def _granted(self, result: Any, ttl: int, lease: _Lease) -> None:
        waiting, lease.waiting = lease.waiting or [], None
        failed = isinstance(result, Failure)
        if failed:
            if self._leases.get(ttl) is lease:
                del self._leases[ttl]
        else:
            lease.id, lease.until = result
        for waiter in waiting:
            if waiter.called:
                continue
            if failed:
                waiter.errback(result)
            else:
                waiter.callback(None)
