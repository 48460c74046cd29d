"""One watch of a client: the events of a key range, as responses.

A client that does not read its responses has its watch suspended, and later resumed from the history of the store, so
that no queue grows with the number of writes. If the history is compacted meanwhile the watch is cancelled, as in etcd.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from orchd.store.interfaces import Event, EventType, IWatch, StoreError
from orchd.store.serving.bounds import Bounds
from orchd.store.serving.encoding import SharedEvents, watch_head
from orchd.store.serving.interfaces import IServedStore

#: Size from which events are sent in several responses, in bytes.
_LARGE: Final = 1536 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options of a client's watch. `puts` and `deletions` are False if it does not want such events; `fragment`
    permits responses with a part of a revision."""

    bounds: Bounds
    previous: bool
    fragment: bool
    progress: bool
    puts: bool
    deletions: bool


class Stream(Protocol):
    """The call that a watch belongs to."""

    @property
    def congested(self) -> bool:
        """True if the client is so far behind that watches wait."""

    def respond(self, pieces: Sequence[bytes]) -> None:
        """Send one response."""

    def flush(self) -> None:
        """Send what is to be sent at the end of this turn of the reactor."""

    def watch_live(self, watcher: Watcher) -> None:
        """A watch has sent everything up to the revision of the store."""

    def watch_suspended(self, watcher: Watcher) -> None:
        """A watch waits until the stream is no longer congested: `resume` it then."""

    def watch_over(self, watcher: Watcher, error: StoreError) -> None:
        """The store has ended a watch."""


class Watcher:
    """The watch `id` of `stream`: events above `after`. `live` is False while it reads past events or is suspended;
    `quiet` is True if nothing was sent since it was last set."""

    def __init__(
        self, store: IServedStore, stream: Stream, id: int, request: Wanted, after: int, shared: SharedEvents
    ) -> None:
        self.id = id
        self.request = request
        self.after = after
        self.live = False
        self.quiet = False
        self._store = store
        self._stream = stream
        self._shared = shared
        #: True if every event of the store's watch is wanted.
        self._all = request.bounds.is_prefix and request.puts and request.deletions
        self._watch: IWatch | None = None
        self._generation = 0

    def resume(self) -> None:
        """Begin, or go on after `watch_suspended`. Raises UnavailableError."""
        self._generation += 1
        mine = self._generation

        def on_events(events: Sequence[Event]) -> None:
            if mine == self._generation:
                self._events(events)

        def on_end(error: StoreError) -> None:
            if mine == self._generation:
                self._stream.watch_over(self, error)

        def on_progress(revision: int) -> None:
            if mine == self._generation and not self.live:
                self.live = True
                self._stream.watch_live(self)

        watch = self._store.watch(
            self.request.bounds.prefix, after=self.after, on_events=on_events, on_end=on_end, on_progress=on_progress,
            flush=self._stream.flush,
        )  # fmt: skip
        if mine == self._generation:
            self._watch = watch
        else:
            # Suspended or cancelled by the first events.
            watch.cancel()

    def cancel(self) -> None:
        """Stop; nothing is sent afterwards."""
        self._generation += 1
        self.live = False
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()

    def _events(self, events: Sequence[Event]) -> None:
        self.after = events[-1].revision
        request = self.request
        chosen = events
        if not self._all:
            chosen = [
                event
                for event in events
                if event.key in request.bounds
                and (request.deletions if event.type is EventType.DELETE else request.puts)
            ]
        if chosen:
            self.quiet = False
            for pieces in self._responses(chosen):
                self._stream.respond(pieces)
        if self._stream.congested:
            self.cancel()
            self._stream.watch_suspended(self)

    def _responses(self, events: Sequence[Event]) -> Iterator[list[bytes]]:
        """Responses of limited size, whose ends are those of revisions unless the client permits fragments."""
        request = self.request
        head = watch_head(self.after, self.id)
        pieces, size = [head], 0
        last = 0
        for event, encoded in zip(events, self._shared.of(events, previous=request.previous), strict=True):
            if size and size + len(encoded) > _LARGE and (event.revision != last or request.fragment):
                if event.revision == last:
                    # `fragment`: more of this revision follows.
                    pieces.append(b"\x38\x01")
                yield pieces
                pieces, size = [head], 0
            pieces.append(encoded)
            size += len(encoded)
            last = event.revision
        yield pieces
