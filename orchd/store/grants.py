"""Leases as etcd has them: granted for a time, kept alive by clients, shared by many keys, which are deleted with them.

They are durable, but not their remaining time: after a restart every lease has its whole time again, as in etcd.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime

from orchd.store.interfaces import StoreError
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger

_log = Logger()
#: Seconds until a failed deletion is retried.
_RETRY: Final = 1.0


class Grant:
    """A running lease of `ttl` seconds."""

    __slots__ = ("call", "ttl")

    def __init__(self, ttl: int, call: Any) -> None:
        self.ttl = ttl
        self.call = call


class Grants:
    """Running leases, and the durable keys that are attached to them.

    `delete` deletes those of the given keys that still have the lease, in one transaction, and then the lease; it
    raises StoreError.
    """

    def __init__(self, reactor: IReactorTime, delete: Callable[[int, Sequence[str]], Awaitable[object]]) -> None:
        self._reactor = reactor
        self._delete = delete
        self._running: dict[int, Grant] = {}
        self._keys: dict[int, dict[str, None]] = {}
        #: Ended leases whose keys are being deleted, or wait for the next attempt.
        self._ending: dict[int, Any] = {}
        self._stopped = False

    def __contains__(self, lease: int) -> bool:
        return lease in self._running

    def ids(self) -> list[int]:
        return list(self._running)

    def keys(self, lease: int) -> list[str]:
        return list(self._keys.get(lease, ()))

    def ttl(self, lease: int) -> int:
        """The granted time in seconds."""
        return self._running[lease].ttl

    def remaining(self, lease: int) -> int:
        """Whole seconds until it ends unless it is kept alive."""
        return max(0, int(self._running[lease].call.getTime() - self._reactor.seconds()))

    def load(self, ttls: Mapping[int, int]) -> None:
        """Start the leases of a store that was opened; keys are attached with `attach`."""
        for lease, ttl in ttls.items():
            self.begin(lease, ttl)

    def begin(self, lease: int, ttl: int) -> None:
        self._running[lease] = Grant(ttl, self._reactor.callLater(ttl, self.end, lease))

    def keep_alive(self, lease: int) -> int:
        """Give a running lease its whole time again; returns it."""
        grant = self._running[lease]
        grant.call.reset(grant.ttl)
        return grant.ttl

    def attach(self, lease: int, key: str) -> None:
        self._keys.setdefault(lease, {})[key] = None
        if lease not in self._running and lease not in self._ending:
            # It ended while the key was being written, or its grant was lost with a part of the file.
            self._later(lease, 0.0)

    def detach(self, lease: int, key: str) -> None:
        keys = self._keys.get(lease)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._keys[lease]

    def end(self, lease: int) -> None:
        """Delete the keys of a lease and the lease; retried until that succeeds."""
        self.forget(lease)
        self._ending[lease] = None
        start(self._end(lease)).addErrback(lambda failure: _log.failure("ending a lease failed", failure))

    def forget(self, lease: int) -> None:
        """Stop the clock of a lease: from now on no key can be attached to it."""
        grant = self._running.pop(lease, None)
        if grant is not None and grant.call.active():
            grant.call.cancel()

    def stop(self) -> None:
        self._stopped = True
        for lease in self.ids():
            self.forget(lease)
        for call in self._ending.values():
            if call is not None and call.active():
                call.cancel()

    async def _end(self, lease: int) -> None:
        try:
            await self._delete(lease, self.keys(lease))
        except StoreError as error:
            _log.debug("the end of a lease waits: {why}", why=str(error))
            self._later(lease, _RETRY)
            return
        self._ending.pop(lease, None)
        if lease in self._keys:
            self._later(lease, 0.0)

    def _later(self, lease: int, seconds: float) -> None:
        if not self._stopped:
            self._ending[lease] = self._reactor.callLater(seconds, self.end, lease)
