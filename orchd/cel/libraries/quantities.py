"""Quantities: ``quantity('1.5Gi')``, numbers with suffixes of SI, of powers of two, or with an exponent."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

from orchd.cel.costs import FLAT, Meter, reading
from orchd.cel.declare import Library, function, member, overload
from orchd.cel.types import BOOL, DOUBLE, INT, STRING, VENDOR, Type, struct
from orchd.cel.values import MAX_INT, MIN_INT, EvaluationError, Opaque, Value, no_overload, wrapped

QUANTITY_TYPE = struct(f"{VENDOR}.Quantity")

_QUANTITY = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_ZERO = re.compile("[+-]?0*", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
#: Digits, and powers of ten, of numbers that are compared. The reference compares larger ones, for minutes.
_LONGEST = 1000
#: Digits of numbers that are kept as an integer and a power of ten.
_SHORT = 18
_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NO_NUMBER = "unable to parse numeric part of quantity"
#: The smallest part that a quantity can have: 10 to this power.
_NANO = -9


class Quantity(Opaque):
    """A number: ``value`` times 10 to the power of ``scale``.

    ``exact`` says that it fits 64 bits; others are never integers for the language. ``computed`` quantities come from
    arithmetic: nothing equals them.
    """

    __slots__ = ("computed", "exact", "form", "scale", "text", "value")
    cel_type: Type = QUANTITY_TYPE
    data_name = "*resource.Quantity"

    def __init__(
        self, value: int, scale: int, form: str, *, exact: bool, text: str = "", computed: bool = False
    ) -> None:
        self.value = value
        self.scale = scale
        self.form = form
        self.exact = exact
        self.text = text
        self.computed = computed

    def __str__(self) -> str:
        return self.text or canonical(self)

    @property
    def class_name(self) -> str:
        return "*cel.Quantity" if self.computed else "cel.Quantity"

    @property
    def amount(self) -> Fraction:
        return Fraction(self.value) * Fraction(10) ** self.scale

    def compare(self, other: Quantity) -> int:
        scale = min(self.scale, other.scale)
        mine, yours = _at_scale(self, scale), _at_scale(other, scale)
        return (mine > yours) - (mine < yours)

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, Quantity) or other.computed:
            raise no_overload()
        return self.compare(other) == 0

    def wire(self, spell: Callable[[str], str]) -> dict[str, str]:
        return {"opaque": spell(QUANTITY_TYPE.name)} if self.computed else {"quantity": str(self)}


def canonical(quantity: Quantity) -> str:
    """Return the shortest text of a quantity in its form."""
    if not quantity.value:
        return "0"
    if quantity.scale > _LONGEST:
        return f"{quantity.value}e{quantity.scale}"
    amount = quantity.amount
    if quantity.form == "binary" and abs(amount) >= 1024 and amount.denominator == 1:
        whole, power = int(amount), 0
        while power < 60 and whole % 1024 == 0:
            whole //= 1024
            power += 10
        return f"{whole}{ {bits: name for name, bits in _BINARY.items()}.get(power, '') }"
    scale = _NANO
    whole = int(amount / Fraction(10) ** scale)
    while whole % 1000 == 0:
        whole //= 1000
        scale += 3
    if quantity.form == "exponent":
        return f"{whole}{f'e{scale}' if scale else ''}"
    # A number whose power has no suffix is printed without one, as by the reference.
    return f"{whole}{ {power: name for name, power in _DECIMAL.items()}.get(scale, '') }"


def parse_quantity(text: str) -> Quantity:
    """Return the quantity of a text. Raises `EvaluationError`."""
    if not text:
        raise EvaluationError(_WRONG)
    if text == "0":
        return Quantity(0, 0, "decimal", exact=True, text=text)
    if _ZERO.fullmatch(text):
        return Quantity(0, 0, "decimal", exact=True)
    match = _QUANTITY.match(text)
    assert match is not None
    sign, whole, fraction, suffix = match.groups()
    if match.end() != len(text):
        raise EvaluationError(_WRONG)
    power, form = _suffix(suffix)
    whole, fraction = whole or "0", fraction or ""
    digits, places = whole + fraction, len(fraction)
    if len(digits) > _LONGEST:
        raise EvaluationError(_NO_NUMBER)
    magnitude = int(digits)
    number = -magnitude if sign == "-" else magnitude
    if form == "binary":
        shifted = number << power
        if not places and len(whole) + int(power * 3 / 10) < 15 and MIN_INT < shifted <= MAX_INT:
            return Quantity(shifted, 0, form, exact=True, text=text if magnitude & 7 else "")
    elif len(digits) <= _SHORT and power - places >= _NANO:
        canonical_text = (power - places) % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        return Quantity(number, power - places, form, exact=True, text=text if canonical_text else "")
    if power > _LONGEST or not any(map(str.isdigit, text[: match.start(4)])):
        raise EvaluationError(_NO_NUMBER)
    # Everything below is rounded up to the smallest part.
    power = max(power, -2 * _LONGEST)
    if form == "binary":
        return _rounded(Fraction(shifted, 10**places), "binary", capped=True)
    return _rounded(Fraction(number) * Fraction(10) ** (power - places), form, capped=False)


def _suffix(suffix: str) -> tuple[int, str]:
    """Return the power of ten, or of two for binary suffixes, and the form."""
    if suffix in _BINARY:
        return _BINARY[suffix], "binary"
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "decimal"
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match.group(1).lstrip("+-0")) > 19 or not MIN_INT <= int(match.group(1)) <= MAX_INT:
        raise EvaluationError("unable to parse quantity's suffix")
    # Only the low 32 bits of an exponent count.
    return (int(match.group(1)) + 2**31) % 2**32 - 2**31, "exponent"


def _rounded(amount: Fraction, form: str, *, capped: bool) -> Quantity:
    """Return a number away from zero to nano, at most the largest for binary suffixes."""
    scaled = abs(amount) * 10**-_NANO
    units = -(-scaled.numerator // scaled.denominator)
    if capped and units > MAX_INT * 10**-_NANO:
        return Quantity(-MAX_INT if amount < 0 else MAX_INT, 0, form, exact=False)
    if form == "binary" and 0 < units < 10**-_NANO:
        form = "decimal"
    return Quantity(-units if amount < 0 else units, _NANO, form, exact=False)


def _add(left: Quantity, right: Quantity, sign: int = 1) -> Quantity:
    form = left.form if left.value else right.form
    if left.exact and right.exact:
        total = _add_exact(left, right, sign)
        if total is not None:
            return Quantity(*total, form, exact=True, computed=True)
    scale = min(left.scale, right.scale)
    value = _at_scale(left, scale) + sign * _at_scale(right, scale)
    return Quantity(value, scale, form, exact=False, computed=True)


def _add_exact(left: Quantity, right: Quantity, sign: int) -> tuple[int, int] | None:
    """Return value and scale of a sum in 64 bits, None if it does not fit."""
    # The smallest of 64 bits is its own negative there.
    term = wrapped(sign * right.value)
    if not term:
        return left.value, left.scale
    if not left.value:
        return term, right.scale
    scale = min(left.scale, right.scale)
    numbers = [_at_scale(left, scale), term * 10 ** (right.scale - scale)]
    numbers.append(sum(numbers))
    return (numbers[2], scale) if all(MIN_INT <= number <= MAX_INT for number in numbers) else None


def _at_scale(quantity: Quantity, scale: int) -> int:
    """Return the value in units of 10 to the power of ``scale``. Raises `EvaluationError` for one that is too large."""
    if not quantity.value:
        return 0
    if quantity.scale - scale > 3 * _LONGEST:
        raise EvaluationError(f"quantity is too large: {canonical(quantity)}")
    return int(quantity.value * 10 ** (quantity.scale - scale))


def _of_int(value: int) -> Quantity:
    return Quantity(value, 0, "exponent", exact=True)


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except EvaluationError:
        return False
    return True


def _integer(quantity: Quantity) -> int | None:
    """Return the value of a quantity that is an integer and was written as one, otherwise None."""
    if not quantity.value and quantity.exact and quantity.scale >= 0:
        return 0
    if not quantity.exact or not 0 <= quantity.scale < _SHORT + 2:
        return None
    value = int(quantity.value * 10**quantity.scale)
    return value if MIN_INT <= value <= MAX_INT else None


def _as_integer(quantity: Quantity) -> int:
    integer = _integer(quantity)
    if integer is None:
        raise EvaluationError("cannot convert value to integer")
    return integer


def _as_double(quantity: Quantity) -> float:
    try:
        base = float(quantity.value)
    except OverflowError:
        base = math.inf if quantity.value > 0 else -math.inf
    return base * _power_of_ten(quantity.scale) if quantity.scale else base


def _power_of_ten(power: int) -> float:
    """Return a power of ten as the reference computes it: from two doubles, rounded twice."""
    if not -323 <= power <= 308:
        return math.inf if power > 0 else 0.0
    many, few = divmod(abs(power), 32)
    first, second = float(f"1e{many * 32 if power > 0 else -many * 32}"), float(f"1e{few}")
    return first * second if power > 0 else first / second


_PARSE = reading(0)
_PAIR = [QUANTITY_TYPE, QUANTITY_TYPE]
_WITH_INT = [QUANTITY_TYPE, INT]

LIBRARY = Library(
    name="quantity",
    functions=(
        function("quantity", overload("string_to_quantity", [STRING], QUANTITY_TYPE, parse_quantity, cost=_PARSE)),
        function("isQuantity", overload("is_quantity_string", [STRING], BOOL, _is_quantity, cost=_PARSE)),
        function(
            "sign",
            overload(
                "quantity_sign", [QUANTITY_TYPE], INT, lambda value: (value.value > 0) - (value.value < 0), cost=FLAT
            ),
        ),
        function(
            "isGreaterThan",
            member("quantity_is_greater_than", _PAIR, BOOL, lambda left, right: left.compare(right) > 0, cost=FLAT),
        ),
        function(
            "isLessThan",
            member("quantity_is_less_than", _PAIR, BOOL, lambda left, right: left.compare(right) < 0, cost=FLAT),
        ),
        function("compareTo", member("quantity_compare_to", _PAIR, INT, Quantity.compare, cost=FLAT)),
        function("asApproximateFloat", member("quantity_get_float", [QUANTITY_TYPE], DOUBLE, _as_double, cost=FLAT)),
        function("asInteger", member("quantity_get_int", [QUANTITY_TYPE], INT, _as_integer, cost=FLAT)),
        function(
            "isInteger",
            member("quantity_is_integer", [QUANTITY_TYPE], BOOL, lambda value: _integer(value) is not None, cost=FLAT),
        ),
        function(
            "add",
            member("quantity_add", _PAIR, QUANTITY_TYPE, _add, cost=FLAT),
            member(
                "quantity_add_int", _WITH_INT, QUANTITY_TYPE, lambda left, value: _add(left, _of_int(value)), cost=FLAT
            ),
        ),
        function(
            "sub",
            member("quantity_sub", _PAIR, QUANTITY_TYPE, lambda left, right: _add(left, right, -1), cost=FLAT),
            member(
                "quantity_sub_int",
                _WITH_INT,
                QUANTITY_TYPE,
                lambda left, value: _add(left, _of_int(value), -1),
                cost=FLAT,
            ),
        ),
    ),
)
