"""Texts of doubles: parsing, and the shortest text that gives the same number back."""

from __future__ import annotations

import math
import re

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII)
#: Underscores between digits; one may follow the prefix of hexadecimal numbers.
_BREAK = re.compile("(?<=[0-9])_(?=[0-9])")
_HEXADECIMAL_BREAK = re.compile("(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])")
_SPECIAL = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE | re.ASCII)


def parse_double(text: str) -> float | None:
    """Return the number that a text spells, None if it spells none or one that is too large."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    text = (_HEXADECIMAL_BREAK if "x" in text.lower() else _BREAK).sub("", text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
    elif _HEXADECIMAL.fullmatch(text):
        try:
            number = float.fromhex(text)
        except OverflowError:
            return None
    else:
        return None
    return None if math.isinf(number) else number


def special(value: float) -> str | None:
    """Return the text of a number that has no digits."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return None


def digits(value: float) -> tuple[str, str, int]:
    """Return sign, shortest digits and exponent: the number is 0.DIGITS times 10 to the exponent."""
    mantissa, exponent = f"{value!r}".lower(), 0
    sign = "-" if mantissa.startswith("-") else ""
    mantissa = mantissa.lstrip("-")
    if "e" in mantissa:
        mantissa, power = mantissa.split("e")
        exponent = int(power)
    whole, _, fraction = mantissa.partition(".")
    text = (whole + fraction).lstrip("0")
    exponent += len(whole) - (len(whole + fraction) - len(text))
    text = text.rstrip("0")
    return sign, text or "0", exponent if text else 1


def shortest(value: float) -> str:
    """Return the shortest text, with an exponent below -4 and from 6 on (``1e+06``)."""
    special_text = special(value)
    if special_text is not None:
        return special_text
    sign, text, exponent = digits(value)
    power = exponent - 1
    if text == "0":
        return sign + "0"
    if power < -4 or power >= 6:
        mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
        return f"{sign}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return sign + plain_digits(text, exponent)


def plain_digits(text: str, exponent: int) -> str:
    if exponent <= 0:
        return "0." + "0" * -exponent + text
    if len(text) <= exponent:
        return text + "0" * (exponent - len(text))
    return f"{text[:exponent]}.{text[exponent:]}"


def plain(value: float) -> str:
    """Return the shortest text without an exponent."""
    special_text = special(value)
    if special_text is not None:
        return special_text
    sign, text, exponent = digits(value)
    return sign + ("0" if text == "0" else plain_digits(text, exponent))
