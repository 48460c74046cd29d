"""Scalars with a special JSON form: quantities, times, durations, int-or-string. Parsing, canonical form, comparison.

Parsers raise `ScalarError` with the reference's message. The formats follow the specification's "Quantities"
section, RFC 3339, and the duration syntax ``1h30m0s``; the texts of errors are recorded facts.
"""

from __future__ import annotations

import re
import time
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from orchd.kinds.digits import integer
from orchd.kinds.gotext.durations import DurationError, format_duration, parse_duration
from orchd.kinds.shorttexts import remember_short


class ScalarError(ValueError):
    """A malformed scalar. The message is the reference's."""


# --- quantities ---------------------------------------------------------------------------------

QUANTITY_FORMAT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
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


# --- times --------------------------------------------------------------------------------------

_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
#: The year 0, which the parser rejects, is none of them.
_PLAIN_TIME = re.compile(r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\Z", re.ASCII)
_PLAIN_MICRO = re.compile(
    r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z\Z", re.ASCII
)
_ZERO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)


def canonical_time(text: str) -> str | None:
    """RFC 3339 in UTC without fraction; None for the zero time, which JSON shows as null. Raises ScalarError."""
    if _PLAIN_TIME.match(text) and not text.startswith("0001-01-01T00:00:00"):
        return text
    return format_time(parse_time(text))


def canonical_microtime(text: str) -> str | None:
    """RFC 3339 in UTC with exactly six digits of fraction; None for the zero time. Raises ScalarError."""
    if _PLAIN_MICRO.match(text) and not text.startswith("0001-01-01T00:00:00.000000"):
        return text
    return format_microtime(parse_time(text, micro=True))


def format_time(moment: datetime) -> str | None:
    """Format `moment` (aware) as an API time, None for the zero time."""
    utc = moment.astimezone(UTC)
    if utc == _ZERO_TIME:
        return None
    return f"{utc.year:04}-{utc.month:02}-{utc.day:02}T{utc.hour:02}:{utc.minute:02}:{utc.second:02}Z"


def timestamp(seconds: float) -> str:
    """Format seconds since the epoch as an API time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def format_microtime(moment: datetime) -> str | None:
    """Format `moment` (aware) with microseconds, None for the zero time."""
    text = format_time(moment)
    if text is None:
        return None
    return f"{text[:-1]}.{moment.microsecond:06}Z"


def parse_time(text: str, *, micro: bool = False) -> datetime:
    """Parse RFC 3339, to the microsecond. `micro` requires exactly six fractional digits.

    Raises ScalarError that names the first malformed part.
    """
    return _TimeReader(text, _RFC3339_MICRO if micro else _RFC3339).read(micro)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _TimeReader:
    """Parses the parts of a time in order. `rest` is the unparsed text."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text

    def wrong(self, part: str) -> ScalarError:
        return ScalarError(
            f"parsing time {_quote(self.text)} as {_quote(self.layout)}: "
            f"cannot parse {_quote(self.rest)} as {_quote(part)}"
        )

    def out_of_range(self, what: str) -> ScalarError:
        return ScalarError(f"parsing time {_quote(self.text)}: {what} out of range")

    def literal(self, text: str) -> None:
        if not self.rest.startswith(text):
            raise self.wrong(text)
        self.rest = self.rest[len(text) :]

    def digits(self, count: int, part: str, *, least: int | None = None) -> int:
        took = 0
        while took < count and took < len(self.rest) and self.rest[took] in "0123456789":
            took += 1
        if took < (count if least is None else least):
            raise self.wrong(part)
        number = int(self.rest[:took])
        self.rest = self.rest[took:]
        return number

    def read(self, micro: bool) -> datetime:
        year = self.digits(4, "2006")
        self.literal("-")
        month = self.digits(2, "01")
        if not 1 <= month <= 12:
            raise self.out_of_range("month")
        self.literal("-")
        day = self.digits(2, "02")
        self.literal("T")
        # The reference accepts an hour of one digit.
        hour = self.digits(2, "15", least=1)
        if hour > 23:
            raise self.out_of_range("hour")
        self.literal(":")
        minute = self.digits(2, "04")
        if minute > 59:
            raise self.out_of_range("minute")
        self.literal(":")
        second = self.digits(2, "05")
        if second > 59:
            raise self.out_of_range("second")
        fraction = self.six_digits() if micro else self.any_fraction()
        offset = self.zone()
        if self.rest:
            raise ScalarError(f"parsing time {_quote(self.text)}: extra text: {_quote(self.rest)}")
        if not 1 <= day <= (monthrange(max(year, 1), month)[1] if year else 29 if month == 2 else monthrange(4, month)[1]):
            raise self.out_of_range("day")
        try:
            moment = datetime(year, month, day, hour, minute, second, fraction, UTC)
            return moment - timedelta(seconds=offset)
        except (ValueError, OverflowError):
            raise self.out_of_range("year") from None

    def six_digits(self) -> int:
        if len(self.rest) < 7 or self.rest[0] not in ".,":
            raise self.wrong(".000000")
        if not re.fullmatch("[0-9]{6}", self.rest[1:7]):
            raise self.wrong(".000000")
        number = int(self.rest[1:7])
        self.rest = self.rest[7:]
        return number

    def any_fraction(self) -> int:
        match = re.match("[.,]([0-9]+)", self.rest)
        if match is None:
            return 0
        self.rest = self.rest[match.end() :]
        return int((match.group(1) + "000000")[:6])

    def zone(self) -> int:
        """Parse the time zone as seconds east of UTC."""
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        match = re.match("([+-])([0-9]{2}):([0-9]{2})", self.rest)
        if match is None:
            raise self.wrong("Z07:00")
        self.rest = self.rest[match.end() :]
        seconds = int(match.group(2)) * 3600 + int(match.group(3)) * 60
        return seconds if match.group(1) == "+" else -seconds


# --- durations ----------------------------------------------------------------------------------


def canonical_duration(text: str) -> str:
    """A duration in canonical form. Raises ScalarError."""
    try:
        return format_duration(parse_duration(text))
    except DurationError as error:
        raise ScalarError(str(error)) from None


# --- int-or-string ------------------------------------------------------------------------------

_PERCENT = re.compile(r"[0-9]+%\Z", re.ASCII)


def percent(value: str) -> int | None:
    """Parse a percentage: 30 for ``30%``, None for other text."""
    return integer(value[:-1]) if _PERCENT.match(value) else None


def scale_int_or_percent(value: int | str, total: int, *, round_up: bool) -> int:
    """An int-or-percent value relative to `total`, rounded up or down. Raises ScalarError for other text."""
    if isinstance(value, int):
        return value
    share = percent(value)
    if share is None:
        raise ScalarError("invalid value for IntOrString: invalid type: string is not a percentage")
    return -(-share * total // 100) if round_up else share * total // 100
