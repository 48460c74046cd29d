"""Comparing parts of objects the way the API does, and saying what differs."""

from __future__ import annotations

import json
from typing import Any

Object = dict[str, Any]


def same(a: Any, b: Any) -> bool:
    """Equal, where an absent, null or empty member is one thing."""
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
    """The members that differ, old and new, under the name of their type; for people, not for programs.

    The new value is marked with a minus and the old one with a plus, as the API has it.
    """
    lines = [f"  {type_name}{{"]
    for key in sorted({*old, *new}):
        if not same(old.get(key), new.get(key)):
            lines.append(f"- \t{_shown(key, new.get(key))}")
            lines.append(f"+ \t{_shown(key, old.get(key))}")
    lines.append("  }\n")
    return "\n".join(lines)


def _shown(key: str, value: Any) -> str:
    return f"{key[:1].upper()}{key[1:]}: {'nil' if value is None else json.dumps(value)},"
