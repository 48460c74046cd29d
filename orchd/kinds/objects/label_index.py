"""Thousands of selectors, found by a label that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")

#: A label that a selector needs: its value is None for any, its key "" for the name of the object, or with None for
#: no label.
Place = tuple[str, "str | None"]


class LabelIndex(Generic[T]):
    """Items by their places."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: dict[Place, list[T]] = {}

    def add(self, place: Place, item: T) -> None:
        there = self._items.get(place)
        if there is None:
            self._items[place] = [item]
        else:
            there.append(item)

    def near(self, labels: Mapping[str, str], name: str = "") -> Iterator[T]:
        """The items that an object with these labels may match: one of its places is theirs. Looks at its labels or at
        all places, whichever are fewer."""
        items = self._items
        if len(labels) < len(items):
            for place in (("", None), ("", name), *labels.items(), *((key, None) for key in labels)):
                yield from items.get(place, ())
            return
        for (key, value), matching in items.items():
            if value in (None, labels.get(key)) and key in labels if key else value in (None, name):
                yield from matching
