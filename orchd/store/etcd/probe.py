"""Determines the compacted revision of etcd: only a watch from a compacted revision reports it."""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchd.store.etcd import messages
from orchd.store.etcd.channel import Channel
from orchd.store.etcd.failures import CallError
from orchd.store.etcd.space import Space
from orchd.store.etcd.watchstream import WatchStream
from orchd.store.grpc.status import DEADLINE_EXCEEDED, UNAVAILABLE
from orchd.store.interfaces import CompactedError, StoreError

#: The minimum revision of history.
_FIRST: Final = 1


async def compacted_revision(reactor: IReactorTime, channel: Channel, space: Space, timeout: float) -> int:
    """The oldest readable revision. Raises CallError."""
    request = messages.RangeRequest(key=space.dialect_key, revision=_FIRST, count_only=True)
    try:
        await channel.call(messages.RANGE, request.SerializeToString(), timeout=timeout, repeat=True)
    except CallError as error:
        if not error.compacted:
            raise
    else:
        return _FIRST
    return await _Probe(reactor, channel, space, timeout).result


class _Probe:
    def __init__(self, reactor: IReactorTime, channel: Channel, space: Space, timeout: float) -> None:
        self.result: Deferred[int] = Deferred()
        self._late = reactor.callLater(timeout, self._too_late)
        key = space.dialect_key
        self._stream: WatchStream | None = None
        try:
            self._stream = WatchStream(channel, self, key, key + b"\0", _FIRST - 1)
        except StoreError as error:
            self.watch_ended(error)

    def watch_created(self) -> None:
        """Does nothing: the result comes later."""

    def watch_events(self, events: list[Any]) -> None:
        """Never called: the watch starts before history."""

    def watch_progress(self, revision: int) -> None:
        """Never called, as above."""

    def watch_ended(self, error: StoreError) -> None:
        if self._late.active():
            self._late.cancel()
        if isinstance(error, CompactedError):
            self.result.callback(error.compacted)
        else:
            self.result.errback(CallError(UNAVAILABLE, str(error)))

    def _too_late(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
        self.result.errback(CallError(DEADLINE_EXCEEDED, "etcd does not say from when on it has history"))
