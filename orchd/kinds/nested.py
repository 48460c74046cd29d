"""A JSON decoder without recursion, for texts deeper than orjson's limit, and for repeated members.

Texts must be valid (`json_syntax.syntax_error`); numbers are decoded like by orjson.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json import decoder
from math import isinf
from typing import Any, Final

from orchd.kinds.digits import integer
from orchd.kinds.objects.shape_scalars import NumberText
from orchd.kinds.objects.strict import Members

_STRUCTURE: Final = re.compile(r"[ \t\r\n,:]*")
_NUMBER: Final = re.compile(r"-?[0-9]+([.eE][-+.eE0-9]*)?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORDS: Final[dict[str, tuple[Any, int]]] = {"t": (True, 4), "f": (False, 5), "n": (None, 4)}
#: Reads a string from after its opening quote; returns it and the position after it.
_scan: Callable[[str, int], tuple[str, int]] = vars(decoder)["scanstring"]


def _float(text: str) -> float:
    """Parse a number with a fraction or exponent; one beyond the range of floats keeps its spelling."""
    value = float(text)
    return NumberText(text) if isinf(value) else value


def decode(text: str, *, members: bool = False, number: Callable[[str], Any] = _float) -> Any:
    """Decode a valid JSON text. With `members`, objects become `Members`. `number` parses non-integers."""
    open_: list[tuple[list[Any], bool]] = []
    at = 0
    value: Any = None
    while True:
        at = _STRUCTURE.match(text, at).end()  # type: ignore[union-attr]  # the pattern matches everywhere
        char = text[at]
        if char in "{[":
            # Objects are collected as a flat list: key, value, key, value.
            open_.append(([], char == "{"))
            at += 1
            continue
        if char in "}]":
            items, is_object = open_.pop()
            value = _object(items, members) if is_object else items
            at += 1
        elif char == '"':
            value, at = _scan(text, at + 1)
            if not value.isascii():
                value = without_surrogates(value)
        elif char in _WORDS:
            value, length = _WORDS[char]
            at += length
        else:
            match = _NUMBER.match(text, at)
            assert match is not None
            value, at = _number(match, number), match.end()
        if not open_:
            return value
        open_[-1][0].append(value)


def _object(items: list[Any], members: bool) -> Any:
    pairs = zip(items[::2], items[1::2], strict=True)
    return Members(pairs) if members else dict(pairs)


def _number(match: re.Match[str], number: Callable[[str], Any]) -> Any:
    if match.group(1):
        return number(match.group())
    value = integer(match.group())
    return value if -(1 << 63) <= value < 1 << 64 else number(match.group())


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def out_of_range(value: Any) -> str:
    """The error for the first number in a decoded value that is beyond the range of floats, "" without one."""
    waiting = [value]
    while waiting:
        element = waiting.pop()
        if isinstance(element, dict):
            waiting.extend(reversed(element.values()))
        elif isinstance(element, list):
            waiting.extend(reversed(element))
        elif isinstance(element, NumberText) and isinf(element):
            return f"json: cannot unmarshal number {element.text} into Go value of type float64"
    return ""
