"""Uniqueness of items in lists of type set and map (specification, "Merge strategy": list types)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from orchd.errors import Cause
from orchd.kinds.crd.schema import LIST_KEYS, LIST_TYPE
from orchd.kinds.objects.schema_check.findings import duplicate, invalid
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.release import Release

Schema = Mapping[str, Any]
#: Appends the findings about a value at a path.
Walk = Callable[[Any, str, list[Cause]], None]


def compile_lists(schema: Schema, settings: ObjectSettings) -> Walk | None:
    """Compile the traversal of a kind's sets and maps; None if there are none."""
    return _node(schema, settings.dialect(LIST_TYPE), settings.dialect(LIST_KEYS), settings.release)


def _node(schema: Schema, type_word: str, keys_word: str, release: Release) -> Walk | None:
    rest, items = schema.get("additionalProperties"), schema.get("items")
    members = {
        name: below_
        for name, inner in (schema.get("properties") or {}).items()
        if (below_ := _node(inner, type_word, keys_word, release)) is not None
    }
    others = _node(rest, type_word, keys_word, release) if isinstance(rest, dict) else None
    each = _node(items, type_word, keys_word, release) if isinstance(items, dict) else None
    kind = schema.get(type_word)
    keys = tuple(schema.get(keys_word) or ())
    if not members and others is None and each is None and kind not in ("set", "map"):
        return None

    def walk(value: Any, at: str, out: list[Cause]) -> None:
        if isinstance(value, list):
            if kind == "set":
                _repeated(value, at, out, release)
            elif kind == "map":
                _map(value, keys, at, out, release)
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


def _map(value: list[Any], keys: tuple[str, ...], at: str, out: list[Cause], release: Release) -> None:
    for i, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            out.append(invalid(f"{at}[{i}]", item, "must be an object for an array of list-type map", release))
            return
    # A null item has no keys.
    _repeated([{k: item[k] for k in keys if k in item} if item else {} for item in value], at, out, release)


def _repeated(items: list[Any], at: str, out: list[Cause], release: Release) -> None:
    """Report each duplicate item once."""
    seen: dict[str, int] = {}
    for i, item in enumerate(items):
        # Decoded to text, because the buffers of orjson's results are larger than their content.
        key = orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            out.append(duplicate(f"{at}[{i}]", item, release))
