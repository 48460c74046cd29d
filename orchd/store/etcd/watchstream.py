"""One etcd watch per stream, so that progress belongs to a single watch."""

from __future__ import annotations

from typing import Any, Protocol

from orchd.store.etcd import messages
from orchd.store.etcd.channel import Channel
from orchd.store.etcd.failures import CallError
from orchd.store.interfaces import CompactedError, StoreError, UnavailableError

_PROGRESS = messages.WatchRequest()
_PROGRESS.progress.SetInParent()
_PROGRESS_BYTES: bytes = _PROGRESS.SerializeToString()


class Reader(Protocol):
    """Callbacks of a watch. None is called after `watch_ended`, nor after `WatchStream.cancel`."""

    def watch_created(self) -> None: ...

    def watch_events(self, events: list[Any]) -> None:
        """Messages of one or more whole revisions, in order."""

    def watch_progress(self, revision: int) -> None:
        """etcd has no more events up to `revision`."""

    def watch_ended(self, error: StoreError) -> None: ...


class WatchStream:
    """Events of the keys from `low` to `high` above `after`, with previous values."""

    def __init__(self, channel: Channel, reader: Reader, low: bytes, high: bytes, after: int) -> None:
        self._reader = reader
        self._after = after
        self._parts: list[Any] = []
        self._over = False
        request = messages.WatchRequest()
        create = request.create
        create.key, create.range_end, create.start_revision = low, high, after + 1
        create.prev_kv = create.fragment = create.progress_notify = True
        try:
            self._call = channel.stream(messages.WATCH, self._message, self._ended)
        except CallError as error:
            raise UnavailableError(f"etcd: {error}") from error
        if self._call is None:
            raise UnavailableError(f"etcd: {channel.failure}")
        self._call.send(request.SerializeToString())

    def request_progress(self) -> None:
        if self._call is not None and not self._over:
            self._call.send(_PROGRESS_BYTES)

    def cancel(self) -> None:
        self._over = True
        if self._call is not None:
            self._call.cancel()

    def _message(self, data: bytes) -> None:
        response = messages.WatchResponse.FromString(data)
        if response.canceled:
            self.cancel()
            compacted = response.compact_revision
            reason = response.cancel_reason or "without a reason"
            self._reader.watch_ended(
                CompactedError(self._after, compacted)
                if compacted
                else UnavailableError(f"etcd ended a watch: {reason}")
            )
        elif response.created:
            self._reader.watch_created()
        elif response.events or self._parts:
            # Large responses come in fragments, which may split a revision.
            self._parts += response.events
            if not response.fragment:
                events, self._parts = self._parts, []
                self._reader.watch_events(events)
        else:
            self._reader.watch_progress(response.header.revision)

    def _ended(self, error: CallError | None) -> None:
        if not self._over:
            self._over = True
            self._reader.watch_ended(UnavailableError(f"etcd ended a watch: {error or 'without a reason'}"))
