"""Delivers the initial objects to new listeners, in batches, while changes continue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchd.cache.entries import Change, Entry


class Feed:
    """The paths of initial objects still to be delivered to new listeners, in order, each once.

    `entries` is the initial state, by path. Changes of delivered paths are delivered; changes of pending paths are not,
    since their later delivery has the newer state; new paths are delivered immediately, once.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._rest = iter(entries)
        self._reached = ""
        self._early: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for entry in self._rest:
            if entry.path not in self._early:
                return entry.path
        raise StopIteration

    def mark_delivered(self, path: str) -> None:
        """Mark `path` as delivered."""
        self._reached = path

    def includes(self, change: Change) -> bool:
        """True if a change is to be delivered."""
        path = change.entry.path
        if path <= self._reached or path in self._early:
            return True
        if change.previous is None:
            self._early.add(path)
            return True
        return False
