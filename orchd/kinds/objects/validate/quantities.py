"""Quantities as exact numbers (specification, "Quantity"), and the number rules that fields share."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

_QUANTITY: Final = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|))\Z")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
#: Canonical quantities are shorter (`scalars`).
_LONGEST: Final = 4000
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@lru_cache(maxsize=4096)
def amount(text: str | int | float) -> Fraction:
    """The exact value of a quantity; 0 for what is none (the decoder refuses that earlier)."""
    match = _QUANTITY.match(str(text)[:_LONGEST])
    if match is None:
        return Fraction(0)
    sign, whole, part, exponent, suffix = match.groups()
    value = Fraction(int((whole or "0") + (part or "")), 10 ** len(part or ""))
    if exponent:
        value *= Fraction(10) ** int(exponent[1:])
    elif suffix in _BINARY:
        value *= 2 ** _BINARY[suffix]
    elif suffix:
        value *= Fraction(10) ** _DECIMAL[suffix]
    return -value if sign == "-" else value


def is_integer(text: Any) -> bool:
    return amount(text).denominator == 1


def go_quantity(text: str, *, short: bool = False) -> str:
    """A quantity as Go prints its struct, which shows how it was written: what canonical text does not say is guessed.

    A canonical ``500m`` was that or, where shares are usual (`short`), ``0.5``; ``1k`` was 1000.
    """
    value, scale = amount(text), 0
    while value.denominator != 1 and scale > -9:
        value, scale = value * 10, scale - 1
    match = _QUANTITY.match(text)
    suffix = "" if match is None else match.group(5) or ""
    exponent = "" if match is None else match.group(4) or ""
    wanted = int(exponent[1:]) if exponent else 0 if suffix in _BINARY or suffix == "k" else _DECIMAL[suffix]
    while scale > wanted and not short:
        value, scale = value * 10, scale - 1
    if wanted > scale == 0:
        value, scale = value / 10**wanted, wanted
    style = "BinarySI" if suffix in _BINARY else "DecimalExponent" if exponent else "DecimalSI"
    return (
        f"resource.Quantity{{i:resource.int64Amount{{value:{value.numerator}, scale:{scale}}}, "
        f'd:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{text}", Format:"{style}"}}'
    )
