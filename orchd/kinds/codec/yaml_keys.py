"""The order of members in YAML documents: letters after other characters, numbers by their value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key
from typing import Any, Final

#: Number of leading digits of a number that are compared by value.
_DIGITS: Final = 18


def in_order(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The members of an object in the order of YAML documents."""
    # Most names have letters only, which sort as they are.
    if all(map(str.isalpha, value)):
        return sorted(value.items())
    return [(name, value[name]) for name in sorted(value, key=cmp_to_key(_compare))]


def _compare(a: str, b: str) -> int:
    """Less than 0 if `a` is first, more than 0 if `b` is."""
    at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if at is None:
        return len(a) - len(b)
    x, y = a[at], b[at]
    if x.isalpha() or y.isalpha():
        return ord(x) - ord(y) if x.isalpha() and y.isalpha() else 1 if x.isalpha() else -1
    # Zeros within a number are part of it, leading zeros are not.
    begun = "0" in (x, y) and _ends_in_number(a[:at])
    left, right = _number(a, at, begun=begun), _number(b, at, begun=begun)
    return -1 if (*left, x) < (*right, y) else 1


def _ends_in_number(text: str) -> bool:
    """True if the digits at the end of a text are not all zeros."""
    return any(char != "0" for char in text[len(text.rstrip("0123456789")) :])


def _number(text: str, at: int, *, begun: bool) -> tuple[int, int]:
    """The number at index `at` of a text, and how many digits it has. With `begun`, digits before `at` belong to it."""
    end = at
    while end < len(text) and text[end] in "0123456789":
        end += 1
    digits = ("1" if begun else "0") + text[at:end][:_DIGITS]
    return int(digits), end - at
