"""Numbers in text that came from outside: of any length, in linear time."""

from __future__ import annotations

from typing import Final

#: More digits than any number of the API has, and fewer than the 4,300 above which Python refuses to read a number.
_MOST: Final = 400
#: What a number of more digits is read as: beyond the range of every field.
BEYOND: Final = 10**_MOST


def integer(text: str) -> int:
    """The number that ASCII digits say, with or without a sign; plus or minus `BEYOND` when there are very many of them.

    Raises ValueError for other text."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"not a number: {text[:_MOST]!r}")
    if len(text) <= _MOST:
        return int(text)
    negative = text[0] == "-"
    digits = (text[1:] if text[0] in "+-" else text).lstrip("0")
    if digits and not digits.isdigit():
        raise ValueError("not a number")
    number = int(digits or "0") if len(digits) <= _MOST else BEYOND
    return -number if negative else number


def is_whole(text: str) -> bool:
    """Is a text nothing but ASCII digits, at least one?"""
    return text.isascii() and text.isdigit()
