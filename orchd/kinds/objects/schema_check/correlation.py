"""Values of an object and those of its stored version that they are matched with.

Members of objects and of maps are matched by their names, items of lists of type map by their keys; other items are not
matched.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import orjson

from orchd.dialect import Dialect
from orchd.kinds.crd.schema import LIST_KEYS, LIST_TYPE

Schema = Mapping[str, Any]
_SCALARS = (bool, int, float, str)


@dataclass(frozen=True, slots=True)
class ListKeys:
    """The keys of the items of a list of type map."""

    names: tuple[str, ...]

    def of(self, item: Any) -> Hashable:
        """The key of an item, None if it lacks a part of it."""
        if item.__class__ is not dict:
            return None
        keys: list[Any] = []
        for name in self.names:
            value = item.get(name)
            if value.__class__ not in _SCALARS:
                return None
            keys += (value.__class__, value)
        return tuple(keys)

    def index(self, items: Any) -> dict[Hashable, Any]:
        """Items by key, the first of each; empty for what is no list."""
        out: dict[Hashable, Any] = {}
        for item in items if items.__class__ is list else ():
            key = self.of(item)
            if key is not None:
                out.setdefault(key, item)
        return out


def list_keys(schema: Schema, dialect: Dialect) -> ListKeys | None:
    """The keys by which items of a list are matched, None if they are not."""
    keys = tuple(schema.get(dialect(LIST_KEYS)) or ())
    return (
        ListKeys(keys) if keys and schema.get("type") == "array" and schema.get(dialect(LIST_TYPE)) == "map" else None
    )


@dataclass(slots=True)
class TimeSpent:
    """Time spent on the comparisons of one object."""

    seconds: float = 0.0


class Matched:
    """A value that has a stored one, neither of them null. Compared at most once, when asked."""

    __slots__ = ("_dialect", "_keys", "_old", "_schema", "_stored", "_time", "_unchanged", "_value", "_whole")

    def __init__(
        self, value: Any, old: Any, schema: Schema, dialect: Dialect, time: TimeSpent, *, whole: bool = False
    ) -> None:
        """`whole`: the values are whole objects. What comparing takes is added to `time`."""
        self._time = time
        self._whole = whole
        self._value = value
        self._old = old
        self._schema = schema
        self._dialect = dialect
        self._unchanged: bool | None = None
        #: Stored items by key, made when they are first needed.
        self._stored: dict[Hashable, Any] | None = None
        self._keys = list_keys(schema, dialect)

    def below(self, key: str | int) -> Matched | None:
        """The member or item at a key or index, None if it is not matched or has no schema."""
        value, old = self._value, self._old
        if isinstance(key, int):
            items = self._schema.get("items")
            if self._keys is None or not isinstance(items, dict):
                return None
            if self._stored is None:
                self._stored = self._keys.index(old)
            before = self._stored.get(self._keys.of(value[key]))
            return None if before is None else Matched(value[key], before, items, self._dialect, self._time)
        if old.__class__ is not dict or key not in old:
            return None
        inner = (self._schema.get("properties") or {}).get(key) or self._schema.get("additionalProperties")
        return Matched(value[key], old[key], inner, self._dialect, self._time) if isinstance(inner, dict) else None

    def member(self, name: str) -> Matched | None:
        """The member of an object, None if changes of it are not seen: version and kind are those of the request."""
        return None if self._whole and name in ("apiVersion", "kind") else self.below(name)

    def unchanged(self) -> bool:
        """True if both values are the same, whatever the order of items that have keys. What the schema does not know
        is changed."""
        if self._unchanged is None:
            began = perf_counter()
            self._unchanged = self._compare()
            self._time.seconds += perf_counter() - began
        return self._unchanged

    def _same(self) -> bool:
        """As `unchanged`, within another comparison, whose time is measured."""
        if self._unchanged is None:
            self._unchanged = self._compare()
        return self._unchanged

    def _compare(self) -> bool:
        value, old = self._value, self._old
        if value is None or old is None:
            return value is old
        if value.__class__ is not old.__class__:
            return False
        if value.__class__ is list and (self._keys is None or not value):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == orjson.dumps(old, option=orjson.OPT_SORT_KEYS)
        if value.__class__ is list:
            below = [self.below(i) for i in range(len(value))] if len(value) == len(old) else [None]
        elif value.__class__ is dict:
            below = [self.below(name) for name in value] if len(value) == len(old) else [None]
        else:
            return bool(value == old)
        return all(each is not None and each._same() for each in below)
