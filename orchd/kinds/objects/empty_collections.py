"""Conversion of empty lists and maps for storage.

The reference stores most kinds in protobuf, which does not distinguish empty from absent lists: members that are always
written are read back as null. Field ownership is computed before, so that a client that sends an empty list owns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchd.kinds.ir import Type
from orchd.kinds.objects.shape import JSON_STORED

Convert = Callable[[Any], Any]

_COLLECTIONS: Final = frozenset(("list", "map"))


def as_stored(obj: dict[str, Any], type: Type) -> dict[str, Any]:
    """`obj` (in the shape of `type`) with null in place of empty lists and maps that are always written.

    Returns `obj` itself if it has none.
    """
    convert = _converter(type)
    return obj if convert is None else convert(obj)


def _converter(type: Type) -> Convert | None:
    """The compiled conversion of a type, None if it changes nothing."""
    memo = type.memo
    if "emptied" not in memo:
        # Only JSON schemas are recursive, and their empty collections are preserved.
        memo["emptied"] = None
        memo["emptied"] = _compile(type)
    convert: Convert | None = memo["emptied"]
    return convert


def _compile(type: Type) -> Convert | None:
    if type.kind in _COLLECTIONS:
        inner = _converter(type.element)
        if inner is None:
            return None
        return _each_item(inner) if type.kind == "list" else _each_value(inner)
    if type.kind != "struct" or type.constraints is not None or not type.name or type.name.startswith(JSON_STORED):
        return None
    own = [n for n, f in type.fields.items() if f.type.kind in _COLLECTIONS and not (f.omit or f.ptr)]
    below = [(n, c) for n, f in type.fields.items() if (c := _converter(f.type)) is not None]
    return _members(own, below) if own or below else None


def _members(own: list[str], below: list[tuple[str, Convert]]) -> Convert:
    def convert(value: Any) -> Any:
        out = value
        for name, inner in below:
            item = value.get(name)
            if item:
                new = inner(item)
                if new is not item:
                    out = {**out, name: new}
        for name in own:
            item = value.get(name)
            if item is not None and not item:
                out = {**out, name: None}
        return out

    return convert


def _each_item(inner: Convert) -> Convert:
    def convert(items: Any) -> Any:
        new = [inner(item) for item in items]
        return items if all(a is b for a, b in zip(new, items, strict=True)) else new

    return convert


def _each_value(inner: Convert) -> Convert:
    def convert(values: Any) -> Any:
        new = {key: inner(item) for key, item in values.items()}
        return values if all(new[key] is item for key, item in values.items()) else new

    return convert
