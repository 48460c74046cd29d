"""Scalars with a special JSON form: quantities and int-or-string. Parsing, canonical form, comparison.

Parsers raise `ScalarError` with the reference's message. The formats follow the specification's "Quantities"
section; the texts of errors are recorded facts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from orchd.kinds.digits import integer
from orchd.kinds.shorttexts import remember_short


class ScalarError(ValueError):
    """A malformed scalar. The message is the reference's."""


# --- quantities ---------------------------------------------------------------------------------

QUANTITY_FORMAT: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
QUANTITY_SUFFIX: Final = "unable to parse quantity's suffix"

DECIMAL: Final = "DecimalSI"
BINARY: Final = "BinarySI"
EXPONENT: Final = "DecimalExponent"

_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)\Z")
_DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_NAMES: Final = {v: k for k, v in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_NAMES: Final = {v: k for k, v in _BINARY_SUFFIXES.items()} | {0: ""}
_NANO: Final = 10**9
_MAX_BINARY: Final = (2**63 - 1) * _NANO
#: Maximum exponent, which limits the memory of the exact number.
_MAX_EXPONENT: Final = 1000
#: Maximum number of digits, which limits the time of conversions.
_MAX_DIGITS: Final = 1000


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount in billionths, and the suffix family of its text."""

    nano: int
    format: str = DECIMAL

    @staticmethod
    def parse(value: str | int | float) -> Quantity:
        """Parse a JSON string or number. Raises ScalarError."""
        return _parse_quantity(value if isinstance(value, str) else _number_text(value))

    @staticmethod
    def of(number: int, format: str = DECIMAL) -> Quantity:
        """The quantity of an integer."""
        return Quantity(number * _NANO, format)

    def __str__(self) -> str:
        """The canonical form."""
        nano = self.nano
        if nano == 0:
            return "0"
        if self.format == BINARY and abs(nano) >= 1024 * _NANO and nano % _NANO == 0:
            whole, power = nano // _NANO, 0
            while power < 60 and whole % 1024 == 0:
                whole //= 1024
                power += 10
            return f"{whole}{_BINARY_NAMES[power]}"
        exponent = -9
        while nano % 1000 == 0:
            nano //= 1000
            exponent += 3
        if self.format == EXPONENT or exponent not in _DECIMAL_NAMES:
            # The largest decimal suffix is E: larger amounts are written with an exponent.
            return f"{nano}e{exponent}" if exponent else str(nano)
        return f"{nano}{_DECIMAL_NAMES[exponent]}"

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, with the suffix family of the left operand unless that is zero."""
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano

    def same(self, other: Quantity) -> bool:
        """True for equal amounts; `==` compares the suffix family as well."""
        return self.nano == other.nano

    @property
    def sign(self) -> int:
        return (self.nano > 0) - (self.nano < 0)

    @property
    def value(self) -> int:
        """The amount rounded away from zero to a whole number."""
        return _round_up(self.nano, _NANO)

    @property
    def milli(self) -> int:
        """The amount in thousandths, rounded away from zero."""
        return _round_up(self.nano, 10**6)

    @property
    def whole(self) -> bool:
        """True if the amount is an integer."""
        return self.nano % _NANO == 0


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) if number >= 0 else number // unit


def _number_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScalarError(QUANTITY_FORMAT)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ScalarError(QUANTITY_FORMAT)
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    return str(value)


@remember_short(4096)
def _parse_quantity(text: str) -> Quantity:
    match = _QUANTITY.match(text) if text else None
    if match is None:
        raise ScalarError(QUANTITY_FORMAT)
    sign, whole, fraction, suffix = match.group(1), match.group(2), match.group(3) or "", match.group(4)
    family, power, shift = _suffix(suffix)
    # A sign, point or suffix without digits is zero, as in the reference.
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise ScalarError(QUANTITY_FORMAT)
    number = int((whole + fraction) or "0") << shift
    power += 9 - len(fraction)
    if power >= 0:
        nano = number * 10**power
    else:
        # Amounts below a billionth are rounded up.
        nano = -(-number // 10**-power)
    if family == BINARY:
        nano = min(nano, _MAX_BINARY)
        if 0 < nano < _NANO:
            family = DECIMAL
    return Quantity(-nano if sign == "-" else nano, family)


def _suffix(suffix: str) -> tuple[str, int, int]:
    """Family, power of ten and power of two of a suffix."""
    if suffix in _DECIMAL_SUFFIXES:
        return DECIMAL, _DECIMAL_SUFFIXES[suffix], 0
    if suffix in _BINARY_SUFFIXES:
        return BINARY, 0, _BINARY_SUFFIXES[suffix]
    if suffix[0] in "eE":
        try:
            power = integer(suffix[1:])
        except ValueError:
            raise ScalarError(QUANTITY_SUFFIX) from None
        if abs(power) <= _MAX_EXPONENT:
            return EXPONENT, power, 0
    raise ScalarError(QUANTITY_SUFFIX)


def canonical_quantity(value: Any) -> str:
    """The canonical text of a quantity given as JSON string or number. Raises ScalarError."""
    if type(value) is str:
        text = _canonical_quantity(value)
        return value if text == value else text
    return _canonical_quantity(_number_text(value))


@remember_short(4096)
def _canonical_quantity(text: str) -> str:
    return str(_parse_quantity(text.strip(" \t\n\r\v\f")))


# --- int-or-string ------------------------------------------------------------------------------

_PERCENT = re.compile(r"[0-9]+%\Z", re.ASCII)


def percent(value: str) -> int | None:
    """Parse a percentage: 30 for ``30%``, None for other text."""
    return integer(value[:-1]) if _PERCENT.match(value) else None
