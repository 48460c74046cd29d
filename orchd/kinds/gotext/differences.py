"""Comparison of parts of objects, and the text of their differences."""

from __future__ import annotations

import json
from typing import Any

from orchd.kinds.jsonvalues import Object


def same(a: Any, b: Any) -> bool:
    """True if two values are equal; absent, null and empty members are the same."""
    if a == b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return all(same(a.get(key), b.get(key)) for key in {*a, *b})
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return _nothing(a) and _nothing(b)


def _nothing(value: Any) -> bool:
    return value is None or value == {} or value == [] or value == ""


def text(type_name: str, old: Object, new: Object) -> str:
    """The members that differ, old and new, under the name of their type.

    The new value is marked with a minus and the old one with a plus, as in messages of the reference.
    """
    lines = [f"  {type_name}{{"]
    for key in sorted({*old, *new}):
        if not same(old.get(key), new.get(key)):
            lines.append(f"- \t{_line(key, new.get(key))}")
            lines.append(f"+ \t{_line(key, old.get(key))}")
    lines.append("  }\n")
    return "\n".join(lines)


def _line(key: str, value: Any) -> str:
    return f"{key[:1].upper()}{key[1:]}: {'nil' if value is None else json.dumps(value)},"
