"""The service Watch: a stream with any number of watches (etcd: api/v3rpc/watch.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime

from orchd.store.etcd import messages
from orchd.store.grpc.call import Call
from orchd.store.grpc.status import RESOURCE_EXHAUSTED, UNAVAILABLE, StatusError
from orchd.store.interfaces import CompactedError, StoreError, UnavailableError
from orchd.store.serving.bounds import bounds
from orchd.store.serving.encoding import SharedEvents, watch_head
from orchd.store.serving.errors import COMPACTED_TEXT, parsed
from orchd.store.serving.interfaces import IServedStore
from orchd.store.serving.leases import set_header
from orchd.store.serving.watcher import Wanted, Watcher

#: Bytes of a stream that are queued before its watches are suspended.
_CONGESTED: Final = 4 * 1024 * 1024
#: Bytes of responses to requests that a client may leave unread.
_MOST_UNREAD: Final = 64 * 1024 * 1024
#: Watches of one stream.
_MOST_WATCHES: Final = 10_000
#: Seconds between reports to watches without events that asked for them. etcd's default is ten minutes, and what
#: API servers are usually given is this.
_PROGRESS_INTERVAL: Final = 5.0
_NO_PUT, _NO_DELETE = 0, 1
_NO_WATCH: Final = -1
#: The revision of a store without writes.
_FIRST: Final = 1


class WatchService:
    """Opens streams of watches."""

    def __init__(self, store: IServedStore, reactor: IReactorTime) -> None:
        self._store = store
        self._reactor = reactor
        self._shared = SharedEvents()

    def watch(self, call: Call) -> WatchCall:
        return WatchCall(call, self._store, self._reactor, self._shared)


class WatchCall:
    """One stream: creates, cancels and reports watches as the client asks."""

    def __init__(self, call: Call, store: IServedStore, reactor: IReactorTime, shared: SharedEvents) -> None:
        self._call = call
        self._shared = shared
        self._store = store
        self._reactor = reactor
        self._watchers: dict[int, Watcher] = {}
        self._suspended: dict[int, Watcher] = {}
        self._next_id = 0
        #: True if the client waits for a report of all watches that cannot be given yet.
        self._report_wanted = False
        self._reporting: Any = None

    # Requests.

    def message(self, data: bytes) -> None:
        request = parsed(messages.WatchRequest.FromString, data)
        if self._call.backlog > _MOST_UNREAD:
            raise StatusError(RESOURCE_EXHAUSTED, "etcdserver: too many requests")
        kind = request.WhichOneof("one")
        if kind == "create":
            self._create(request.create)
        elif kind == "cancel":
            self._cancel(request.cancel.watch_id)
        elif kind == "progress":
            self._report_wanted = True
            self._report_all()

    def half_closed(self) -> None:
        """The stream ends with its requests, as in etcd."""
        self._call.end()

    def drained(self) -> None:
        suspended, self._suspended = self._suspended, {}
        for watcher in suspended.values():
            if self.congested:
                self._suspended[watcher.id] = watcher
            elif watcher.id in self._watchers:
                self._start(watcher)

    def closed(self) -> None:
        watchers, self._watchers = self._watchers, {}
        self._suspended.clear()
        for watcher in watchers.values():
            watcher.cancel()
        if self._reporting is not None:
            self._reporting.cancel()
            self._reporting = None

    def _create(self, create: Any) -> None:
        store = self._store
        watch_id, why = create.watch_id, ""
        if watch_id in self._watchers and watch_id:
            why = "mvcc: duplicate watch ID provided on the WatchStream"
        elif len(self._watchers) >= _MOST_WATCHES:
            why = "etcdserver: too many watches on the stream"
        elif create.range_end and create.range_end != b"\0" and create.range_end <= create.key:
            why = "mvcc: watcher range is empty"
        elif not watch_id:
            while self._next_id in self._watchers:
                self._next_id += 1
            watch_id = self._next_id
            self._next_id += 1
        response = messages.WatchResponse(
            watch_id=_NO_WATCH if why else watch_id, created=True, canceled=bool(why), cancel_reason=why
        )
        self._respond(response, store.revision)
        if why:
            return
        # Nothing is written at the first revision, so a history that begins with it is complete.
        after = max(_FIRST, create.start_revision - 1) if create.start_revision > 0 else store.revision
        request_ = Wanted(
            bounds=bounds(create.key or b"\0", create.range_end), previous=create.prev_kv, fragment=create.fragment,
            progress=create.progress_notify, puts=_NO_PUT not in create.filters,
            deletions=_NO_DELETE not in create.filters,
        )  # fmt: skip
        watcher = self._watchers[watch_id] = Watcher(store, self, watch_id, request_, after, self._shared)
        if request_.progress and self._reporting is None:
            self._reporting = self._reactor.callLater(_PROGRESS_INTERVAL, self._report_quiet)
        self._start(watcher)

    def _start(self, watcher: Watcher) -> None:
        try:
            watcher.resume()
        except UnavailableError as error:
            self._call.end(UNAVAILABLE, f"etcdserver: {error}")

    def _cancel(self, watch_id: int) -> None:
        watcher = self._watchers.pop(watch_id, None)
        if watcher is None:
            return
        self._suspended.pop(watch_id, None)
        watcher.cancel()
        self._respond(messages.WatchResponse(watch_id=watch_id, canceled=True), self._store.revision)
        self._report_all()

    # What watches say.

    @property
    def congested(self) -> bool:
        """True if the client is so far behind that watches wait."""
        return self._call.backlog > _CONGESTED

    def respond(self, pieces: Sequence[bytes]) -> None:
        self._call.send(pieces)

    def flush(self) -> None:
        self._call.link.flush()

    def watch_live(self, watcher: Watcher) -> None:
        self._report_all()

    def watch_suspended(self, watcher: Watcher) -> None:
        self._suspended[watcher.id] = watcher

    def watch_over(self, watcher: Watcher, error: StoreError) -> None:
        if not isinstance(error, CompactedError):
            self._call.end(UNAVAILABLE, f"etcdserver: {error}")
            return
        self._watchers.pop(watcher.id, None)
        watcher.cancel()
        response = messages.WatchResponse(
            watch_id=watcher.id, canceled=True, compact_revision=error.compacted, cancel_reason=COMPACTED_TEXT
        )
        self._respond(response, self._store.revision)
        self._report_all()

    # Progress.

    def _report_all(self) -> None:
        """Report, if asked, once all watches have sent every event up to the revision of the report."""
        if not self._report_wanted or not all(watcher.live for watcher in self._watchers.values()):
            return
        self._report_wanted = False
        self._call.send([watch_head(self._store.revision, _NO_WATCH)])

    def _report_quiet(self) -> None:
        self._reporting = self._reactor.callLater(_PROGRESS_INTERVAL, self._report_quiet)
        for watcher in self._watchers.values():
            if watcher.request.progress and watcher.live and not self.congested:
                if watcher.quiet:
                    self._call.send([watch_head(self._store.revision, watcher.id)])
                watcher.quiet = True

    def _respond(self, response: Any, revision: int) -> None:
        set_header(response, revision)
        self._call.send([response.SerializeToString()])
