"""Telling new listeners what there is, in pieces, while changes go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchd.cache.interfaces import Change, Entry


class Feed:
    """What new listeners are still to hear of: paths, in order, each once.

    `entries` is what there is when the feed begins, by path. A change to what has been told is told like any other; one
    to what is still to come is not, since what comes will be newer; something new is told at once and not again.
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

    def told(self, path: str) -> None:
        """The listeners hear of `path` now."""
        self._reached = path

    def includes(self, change: Change) -> bool:
        """Are the listeners to hear of a change?"""
        path = change.entry.path
        if path <= self._reached or path in self._early:
            return True
        if change.previous is None:
            self._early.add(path)
            return True
        return False
