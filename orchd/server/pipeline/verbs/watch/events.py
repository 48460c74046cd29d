"""Encodes the events of a watch: one frame per change, in the watch's representation."""

from __future__ import annotations

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.errors import ApiError
from orchd.kinds.objects.list_query import Selection
from orchd.server.pipeline.representation import Presenter, Representation


class EventEncoder:
    """Frames of one watch. The frame of a change is encoded once for all watches with the same representation to which
    it is the same event."""

    def __init__(self, presenter: Presenter, view: Representation, selection: Selection) -> None:
        self._present = presenter
        self._view = view
        self._selection = selection
        self._keys = {kind: ("watch", kind, *view.key) for kind in ChangeType}
        self._shared = view.chosen.as_ != "Table"
        #: Only the first event of a table has column definitions.
        self._first = True

    def entry(self, type: str, entry: Entry) -> bytes:
        """An event of an object; `type` is ADDED, MODIFIED or DELETED."""
        first, self._first = self._first, False
        return self._present.frame(self._view, type, entry, first=first)

    def change(self, change: Change) -> bytes | None:
        """The event of a change; None if the object is not selected, neither before nor after it."""
        kind = change.type if self._selection.everything else self._kind(change)
        if kind is None:
            return None
        frame: bytes | None = change.frames.get(self._keys[kind])
        if frame is None:
            entry, previous = change.entry, change.previous
            if kind is ChangeType.DELETED and change.type is not kind:
                assert previous is not None, "an object that left the selection was in it before"
                entry = previous.at_revision(change.revision)
            frame = self.entry(kind.value, entry)
            if self._shared:
                change.keep(self._keys[kind], frame, len(frame))
        return frame

    def _kind(self, change: Change) -> ChangeType | None:
        """Objects enter and leave the selection: that is ADDED and DELETED to this watch. None for objects that stay
        outside of it."""
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
