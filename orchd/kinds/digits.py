"""Parsing of integers of any length from external input, in linear time."""

from __future__ import annotations

from typing import Final

#: Maximum number of digits: above any number of the API, below the 4,300 digits above which Python refuses to parse.
_MOST: Final = 400
#: Value of longer numbers: beyond the range of every field.
BEYOND: Final = 10**_MOST


def integer(text: str) -> int:
    """Parse ASCII digits with an optional sign. Numbers with too many digits yield plus or minus `BEYOND`.

    Raises ValueError for other text.
    """
    if not text.isascii() or "_" in text or text.strip() != text:
        raise ValueError(f"not a number: {text[:_MOST]!r}")
    if len(text) <= _MOST:
        return int(text)
    negative = text[0] == "-"
    digits = (text[1:] if text[0] in "+-" else text).lstrip("0")
    if digits and not digits.isdigit():
        raise ValueError("not a number")
    number = int(digits or "0") if len(digits) <= _MOST else BEYOND
    return -number if negative else number


def int64(text: str) -> int | None:
    """The 64-bit integer that a text spells, None for other text."""
    try:
        number = integer(text)
    except ValueError:
        return None
    return number if -(2**63) <= number < 2**63 else None


def is_whole(text: str) -> bool:
    """True if a text consists of one or more ASCII digits."""
    return text.isascii() and text.isdigit()
