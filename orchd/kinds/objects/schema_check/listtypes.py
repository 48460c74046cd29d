"""Lists that are sets or maps hold no item twice (specification, "Merge strategy": list types)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from orchd.dialect import Dialect
from orchd.errors import Cause
from orchd.kinds.crd.schema import LIST_KEYS, LIST_TYPE
from orchd.kinds.objects.schema_check.findings import duplicate, invalid

Schema = Mapping[str, Any]
#: Adds what is wrong with a value at a path.
Walk = Callable[[Any, str, list[Cause]], None]


def compile_lists(schema: Schema, dialect: Dialect) -> Walk | None:
    """The walk over a kind's lists; None where no list is special."""
    return _node(schema, dialect(LIST_TYPE), dialect(LIST_KEYS))


def _node(schema: Schema, type_word: str, keys_word: str) -> Walk | None:
    rest, items = schema.get("additionalProperties"), schema.get("items")
    members = {
        name: made
        for name, inner in (schema.get("properties") or {}).items()
        if (made := _node(inner, type_word, keys_word)) is not None
    }
    others = _node(rest, type_word, keys_word) if isinstance(rest, dict) else None
    each = _node(items, type_word, keys_word) if isinstance(items, dict) else None
    kind = schema.get(type_word)
    keys = tuple(schema.get(keys_word) or ())
    if not members and others is None and each is None and kind not in ("set", "map"):
        return None

    def walk(value: Any, at: str, out: list[Cause]) -> None:
        if isinstance(value, list):
            if kind == "set":
                _repeated(value, at, out)
            elif kind == "map":
                _map(value, keys, at, out)
            if each is not None:
                for i, item in enumerate(value):
                    each(item, f"{at}[{i}]", out)
        elif isinstance(value, dict):
            for name, item in value.items():
                inner = members.get(name)
                if inner is not None:
                    inner(item, f"{at}.{name}" if at else name, out)
                elif others is not None:
                    others(item, f"{at}[{name}]", out)

    return walk


def _map(value: list[Any], keys: tuple[str, ...], at: str, out: list[Cause]) -> None:
    for i, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            out.append(invalid(f"{at}[{i}]", item, "must be an object for an array of list-type map"))
            return
    # An item that is null has none of its keys.
    _repeated([{k: item[k] for k in keys if k in item} if item else {} for item in value], at, out)


def _repeated(items: list[Any], at: str, out: list[Cause]) -> None:
    """Says of an item that is there again so, once."""
    seen: dict[str, int] = {}
    for i, item in enumerate(items):
        # Text, because bytes that orjson made keep more memory than they show.
        key = orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            out.append(duplicate(f"{at}[{i}]", item))
