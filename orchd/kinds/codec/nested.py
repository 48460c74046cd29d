"""JSON that is nested deeper than the fast decoder goes, or whose repeated members count: read without recursion.

The texts are valid (`jsontext.syntax_error` said so); numbers come out as the fast decoder gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json import decoder
from math import isinf
from typing import Any, Final

from orchd.kinds.digits import integer
from orchd.kinds.objects.shape import NumberText
from orchd.kinds.objects.strict import Members

_STRUCTURE: Final = re.compile(r"[ \t\r\n,:]*")
_NUMBER: Final = re.compile(r"-?[0-9]+([.eE][-+.eE0-9]*)?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORDS: Final[dict[str, tuple[Any, int]]] = {"t": (True, 4), "f": (False, 5), "n": (None, 4)}
#: Reads a string from behind its opening quote; gives it and the position after it.
_scan: Callable[[str, int], tuple[str, int]] = vars(decoder)["scanstring"]


def _float(text: str) -> float:
    """A number with a fraction or exponent; one beyond the range of floats keeps its spelling."""
    value = float(text)
    return NumberText(text) if isinf(value) else value


def decode(text: str, *, members: bool = False, number: Callable[[str], Any] = _float) -> Any:
    """The value of a valid JSON text; with `members` objects are `Members`. `number` reads what is no integer."""
    open_: list[tuple[list[Any], bool]] = []
    at = 0
    value: Any = None
    while True:
        at = _STRUCTURE.match(text, at).end()  # type: ignore[union-attr]  # the pattern matches everywhere
        char = text[at]
        if char in "{[":
            # Objects are collected flat: key, value, key, value.
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
            found = _NUMBER.match(text, at)
            assert found is not None
            value, at = _number(found, number), found.end()
        if not open_:
            return value
        open_[-1][0].append(value)


def _object(items: list[Any], members: bool) -> Any:
    pairs = zip(items[::2], items[1::2], strict=True)
    return Members(pairs) if members else dict(pairs)


def _number(found: re.Match[str], number: Callable[[str], Any]) -> Any:
    if found.group(1):
        return number(found.group())
    value = integer(found.group())
    return value if -(1 << 63) <= value < 1 << 64 else number(found.group())


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which JSON can spell and UTF-8 cannot."""
    return _SURROGATE.sub("\ufffd", text)
