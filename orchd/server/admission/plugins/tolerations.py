"""Merges tolerations without redundant ones. Pure functions over Toleration objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any

import orjson

Toleration = dict[str, Any]

#: Key, effect and value of a toleration ("" without), None as the value for the operator Exists.
_Place = tuple[str, str, "str | None"]


class _Covering:
    """Tolerations that may cover others: there may be thousands, so they are found by key, effect and value."""

    def __init__(self, tolerations: Iterable[Toleration] = ()) -> None:
        #: Up to two different tolerations of each place, as their seconds and text, those with the most seconds first.
        self._longest: dict[_Place, list[tuple[float, bytes]]] = {}
        self._texts: set[bytes] = set()
        for toleration in tolerations:
            self.add(toleration)

    def add(self, wide: Toleration) -> None:
        text = _text(wide)
        if text in self._texts:
            return
        self._texts.add(text)
        effect, seconds = wide.get("effect", ""), wide.get("tolerationSeconds")
        value = None if wide.get("operator") == "Exists" else wide.get("value", "")
        there = self._longest.setdefault((wide.get("key", ""), effect, value), [])
        there.append((seconds if effect == "NoExecute" and seconds is not None else inf, text))
        there.sort(reverse=True)
        del there[2:]

    def cover(self, narrow: Toleration) -> bool:
        """True if one of them tolerates everything that `narrow` does, as equal ones do."""
        return _text(narrow) in self._texts or self.cover_otherwise(narrow)

    def cover_otherwise(self, narrow: Toleration) -> bool:
        """True if one of them that is not equal tolerates everything that `narrow` does."""
        text, seconds = _text(narrow), narrow.get("tolerationSeconds")
        return any(
            other != text and (limit == inf or (seconds is not None and seconds <= limit))
            for place in _places(narrow)
            for limit, other in self._longest.get(place, ())
        )


def _places(narrow: Toleration) -> Iterator[_Place]:
    """The places of tolerations that may cover one."""
    key, operator = narrow.get("key", ""), narrow.get("operator")
    for effect in {narrow.get("effect", ""), ""}:
        yield key, effect, None
        if key:
            yield "", effect, None
        if operator in (None, "", "Equal"):
            yield key, effect, narrow.get("value", "")


def _text(toleration: Toleration) -> bytes:
    return orjson.dumps(toleration, option=orjson.OPT_SORT_KEYS)


def merge(first: Sequence[Toleration], second: Sequence[Toleration]) -> list[Toleration]:
    """Both lists without tolerations covered by others; of equal ones the first stays."""
    later, left = _Covering(), []
    for one in reversed((*first, *second)):
        if not later.cover_otherwise(one):
            left.append(one)
        later.add(one)
    earlier, kept = _Covering(), []
    for one in reversed(left):
        if not earlier.cover(one):
            kept.append(one)
            earlier.add(one)
    return kept


def covers_all(allowed: Sequence[Toleration], tolerations: Sequence[Toleration]) -> bool:
    """True if every one of `tolerations` is covered by one of `allowed`. An empty `allowed` means no limit."""
    if not allowed:
        return True
    covering = _Covering(allowed)
    return all(map(covering.cover, tolerations))
