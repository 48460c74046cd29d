"""Encodes the events of a watch: one frame per change, in the watch's representation."""

from __future__ import annotations

from functools import partial
from typing import Any

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.errors import ApiError
from orchd.kinds.objects.list_query import Selection
from orchd.server.pipeline.negotiation import Representation
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.txkit.shared_call import SharedCall

#: Bytes of an object whose frames are encoded away from the reactor, unless they contain the stored bytes.
_LARGE = 64 * 1024


class LargeFrames:
    """Encodes frames of large objects away from the reactor, each once for all watches that wait for it."""

    def __init__(self) -> None:
        self._running: dict[Any, SharedCall[bytes]] = {}

    async def frame(self, context: VerbContext, view: Representation, type: str, entry: Entry, *, first: bool) -> bytes:
        """As `Presenter.frame`. Raises TooManyWaitingError."""
        key = (entry, type, first, view.key)
        call = self._running.get(key)
        if call is None:
            call = self._running[key] = SharedCall(
                lambda: _encode_apart(context, view, type, entry, first=first), lambda: self._running.pop(key)
            )
        return await call.wait()


async def _encode_apart(context: VerbContext, view: Representation, type: str, entry: Entry, *, first: bool) -> bytes:
    encode = partial(context.present.frame, first=first)
    frame: bytes = await context.compute_apart(max(len(entry.json), _LARGE), entry, encode, view, type)
    return frame


class EventEncoder:
    """Frames of one watch. The frame of a change is encoded once for all watches with the same representation to which
    it is the same event."""

    def __init__(self, context: VerbContext, large: LargeFrames, view: Representation, selection: Selection) -> None:
        self._context = context
        self._present = context.present
        self._large = large
        self._view = view
        self._selection = selection
        self._keys = {kind: ("watch", kind, *view.key) for kind in ChangeType}
        self._shared = view.chosen.as_ != "Table"
        #: Only the first event of a table has column definitions.
        self._first = True

    async def entry(self, type: str, entry: Entry) -> bytes:
        """An event of an object; `type` is ADDED, MODIFIED or DELETED. Raises TooManyWaitingError."""
        first, self._first = self._first, False
        if self._is_large(entry):
            return await self._large.frame(self._context, self._view, type, entry, first=first)
        return self._present.frame(self._view, type, entry, first=first)

    def change(self, change: Change) -> bytes | None:
        """The event of a change; None if the object is not selected, neither before nor after it."""
        kind = self._kind(change)
        if kind is None:
            return None
        frame: bytes | None = change.frames.get(self._keys[kind])
        if frame is None:
            first, self._first = self._first, False
            entry = self._entry_of(change, kind)
            frame = self._present.frame(self._view, kind.value, entry, first=first)
            self._keep(change, kind, frame)
        return frame

    def is_slow(self, change: Change) -> bool:
        """True if the event of a change takes so long to encode that `large_change` is to be called for it."""
        if not self._is_large(change.entry):
            return False
        kind = self._kind(change)
        return kind is not None and self._keys[kind] not in change.frames

    async def large_change(self, change: Change) -> bytes | None:
        """As `change`, for any. Raises TooManyWaitingError."""
        if not self.is_slow(change):
            return self.change(change)
        kind = self._kind(change)
        assert kind is not None, "checked by is_slow"
        frame = await self.entry(kind.value, self._entry_of(change, kind))
        self._keep(change, kind, frame)
        return frame

    def _is_large(self, entry: Entry) -> bool:
        return not self._view.plain and max(len(entry.json), self._present.column_work(self._view)) >= _LARGE

    def _keep(self, change: Change, kind: ChangeType, frame: bytes) -> None:
        if self._shared:
            change.keep(self._keys[kind], frame, len(frame))

    @staticmethod
    def _entry_of(change: Change, kind: ChangeType) -> Entry:
        """The object of the event of a change: the last one in the selection, if it has left that."""
        if kind is not ChangeType.DELETED or change.type is kind:
            return change.entry
        assert change.previous is not None, "an object that left the selection was in it before"
        return change.previous.at_revision(change.revision)

    def _kind(self, change: Change) -> ChangeType | None:
        """Objects enter and leave the selection: that is ADDED and DELETED to this watch. None for objects that stay
        outside of it."""
        if self._selection.everything:
            return change.type
        accepts, previous = self._selection.accepts, change.previous
        was = previous is not None and accepts(previous)
        if change.type is not ChangeType.DELETED and accepts(change.entry):
            return ChangeType.MODIFIED if was else ChangeType.ADDED
        return ChangeType.DELETED if was else None

    def selects(self, change: Change) -> bool:
        """True if `change` has an event, for changes that are converted before they are encoded."""
        if self._selection.everything:
            return True
        return any(e is not None and self._selection.accepts(e) for e in (change.entry, change.previous))

    def bookmark(self, revision: int, *, state_sent: bool = False) -> bytes:
        """A BOOKMARK event: the client has received everything up to `revision`; `state_sent` marks the end of the
        initial state."""
        obj = self._present.bookmark(self._view, str(revision), state_sent=state_sent)
        return self._present.object_frame(self._view, "BOOKMARK", obj)

    def error(self, error: ApiError) -> bytes:
        """The ERROR event at the end of a watch."""
        return self._present.object_frame(self._view, "ERROR", error.status())
