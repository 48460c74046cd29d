"""Quantities as exact numbers (specification, "Quantity")."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

QUANTITY: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|))\Z")
DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
#: Canonical quantities are shorter (`scalars`).
_LONGEST: Final = 4000
#: Thousandths of smaller amounts fit into 64 bits.
_MANY_DIGITS: Final = 1 << 53
BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@lru_cache(maxsize=4096)
def amount(text: str | int | float) -> Fraction:
    """The exact value of a quantity; 0 for other text, which the decoder rejects earlier."""
    match = QUANTITY.match(str(text)[:_LONGEST])
    if match is None:
        return Fraction(0)
    sign, whole, part, exponent, suffix = match.groups()
    value = Fraction(int((whole or "0") + (part or "")), 10 ** len(part or ""))
    if exponent:
        value *= Fraction(10) ** int(exponent[1:])
    elif suffix in BINARY:
        value *= 2 ** BINARY[suffix]
    elif suffix:
        value *= Fraction(10) ** DECIMAL[suffix]
    return -value if sign == "-" else value


def is_integer(text: Any) -> bool:
    """True if the amount has no fraction. As in the reference the low 64 bits of the thousandths decide where the
    amount is written in digits alone."""
    value = amount(text)
    if value.denominator != 1 or abs(value.numerator) < _MANY_DIGITS or not str(text).lstrip("+-").isdigit():
        return value.denominator == 1
    thousandths = (value.numerator * 1000 + (1 << 63)) % (1 << 64) - (1 << 63)
    return thousandths % 1000 == 0
