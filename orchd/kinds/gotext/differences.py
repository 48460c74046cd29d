"""Comparison of parts of objects, and the text of their differences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from orchd.kinds.gotext.structs import dump
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


def equal(a: Any, b: Any) -> bool:
    """True if two values in canonical shape are equal; absent and null members and empty lists are the same. An empty
    object or text is a value here: canonical shape omits those of members that are not optional."""
    if a == b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return all(equal(a.get(key), b.get(key)) for key in {*a, *b})
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return not any(value is not None and value != [] for value in (a, b))


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


#: Lines around a change.
_CONTEXT: Final = 3
#: Pairs of lines that are compared; more are shown as replaced. It bounds the time of one message.
_COMPARED: Final = 250_000


def json_text(type_name: str, old: Any, new: Any) -> str:
    """The lines of the two values' indented JSON that differ, as a unified diff without names of files: later
    releases."""
    before, after = (dump(type_name, each).indented.split("\n") for each in (old, new))
    out: list[str] = []
    for group in _groups(before, after):
        first, last = group[0], group[-1]
        out.append(f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@")
        for tag, i, j, k, m in group:
            if tag == "equal":
                out.extend(f" {line}" for line in before[i:j])
            else:
                out.extend(f"-{line}" for line in before[i:j])
                out.extend(f"+{line}" for line in after[k:m])
    return "".join(f"{line}\n" for line in out)


_Change = tuple[str, int, int, int, int]


def _groups(before: Sequence[str], after: Sequence[str]) -> list[list[_Change]]:
    """Changes with their context, nearby ones together."""
    if len(before) * len(after) <= _COMPARED:
        return [list(group) for group in SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT)]
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    left, right = max(0, start - _CONTEXT), min(end, _CONTEXT)
    stop, until = len(before) - end, len(after) - end
    return [[
        ("equal", left, start, left, start), ("replace", start, stop, start, until),
        ("equal", stop, stop + right, until, until + right),
    ]]  # fmt: skip


def _range(start: int, stop: int) -> str:
    length = stop - start
    begin = start + 1 if length else start
    return str(begin) if length == 1 else f"{begin},{length}"
