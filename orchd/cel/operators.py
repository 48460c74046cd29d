"""Operators on values: arithmetic with overflow, ordering, equality, containment, size.

All raise `EvaluationError`; those that walk values count their work with a `Meter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from orchd.cel import types
from orchd.cel.costs import Meter
from orchd.cel.types import Type
from orchd.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    Concatenation,
    Duration,
    EvaluationError,
    Map,
    Opaque,
    Optional,
    Timestamp,
    Uint,
    Value,
    concatenate,
    no_overload,
    type_of,
)

#: The range of timestamps, in seconds: the years 1 to 9999.
MIN_SECONDS, MAX_SECONDS = -62_135_596_800, 253_402_300_799
NANOS = 1_000_000_000

_RECEIVERS = (str, Timestamp, Duration)


def unsupported(function: str, value: Value) -> EvaluationError:
    """The error of an operator that the type of its first operand does not have."""
    return EvaluationError("no such overload" if isinstance(value, _RECEIVERS) else f"no such overload: {function}")


class View:
    """Base of lists and maps over data of a schema (`objects`). They know equality and addition of their kind."""

    __slots__ = ()

    def equals(self, other: Value, meter: Meter) -> bool:
        raise NotImplementedError


class ListView(View):
    """A list over the data of a schema."""

    __slots__ = ()
    cel_type = types.LIST_TYPE

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Value]:
        """Yield values; a value that is not what the schema says is an `EvaluationError`, yielded."""
        raise NotImplementedError

    def item(self, index: int) -> Value:
        raise NotImplementedError

    def add(self, other: Value) -> Value:
        raise NotImplementedError

    def contains(self, value: Value, meter: Meter) -> bool:
        raise NotImplementedError


class MapView(View):
    """A map or an object over the data of a schema."""

    __slots__ = ()
    cel_type = types.MAP_TYPE

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Value]:
        """Yield keys."""
        raise NotImplementedError

    def find(self, key: Value) -> Value:
        """Return the value of a key, `MISSING` if there is none.

        Raises `EvaluationError` for keys that are not strings.
        """
        raise NotImplementedError

    def at(self, key: Value) -> Value:
        """Return the value for an index expression: as `find`, or the default of the map for a missing key."""
        return self.find(key)

    def contains(self, key: Value) -> bool:
        """Say whether there is a key."""
        return self.find(key) is not MISSING


class _Missing:
    __slots__ = ()


#: The result of a lookup without a value.
MISSING = _Missing()


def is_list(value: Value) -> bool:
    kind = value.__class__
    return kind is list or kind is Concatenation or isinstance(value, ListView)


def is_map(value: Value) -> bool:
    kind = value.__class__
    return kind is dict or kind is Map or isinstance(value, MapView)


def get_item(values: Value, index: int) -> Value:
    """Return an element of a list; the index is in range."""
    item = values.item(index) if isinstance(values, ListView) else values[index]
    if item.__class__ is EvaluationError:
        raise item
    return item


def find_key(value: Value, key: Value) -> Value:
    """Look a key up in a map. Returns its value, or `MISSING`."""
    kind = value.__class__
    if kind is dict:
        return value.get(key, MISSING) if key.__class__ is str else MISSING
    if kind is Map:
        entry = value.find(key)
        return entry[1] if entry is not None else MISSING
    return value.find(key)


# Arithmetic.


def _checked(value: int) -> int:
    if MIN_INT <= value <= MAX_INT:
        return value
    raise EvaluationError("integer overflow")


def _unsigned(value: int) -> Uint:
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def checked_duration(nanos: int) -> Duration:
    if MIN_INT <= nanos <= MAX_INT:
        return Duration(nanos)
    raise EvaluationError("integer overflow")


def checked_timestamp(nanos: int, offset: int = 0) -> Timestamp:
    if MIN_SECONDS <= nanos // NANOS <= MAX_SECONDS:
        return Timestamp(nanos, offset)
    raise EvaluationError("timestamp overflow")


#: Work of comparing an element of a set, or the keys of one, in units of `Meter.work`.
ELEMENT_WORK = 8


def add_metered(meter: Meter, left: Value, right: Value) -> Value:
    """Add. Work on the elements of lists, which the cost of an expression does not include, is counted by the meter."""
    if left.__class__ is int and right.__class__ is int:
        return _checked(left + right)
    if isinstance(left, ListView) and is_list(right):
        meter.work(ELEMENT_WORK * (len(left) + len(right)))
    return add(left, right)


def add(left: Value, right: Value) -> Value:
    kind, other = left.__class__, right.__class__
    if kind is int:
        if other is int:
            return _checked(left + right)
    elif kind is str or kind is float or kind is bytes:
        if other is kind:
            return left + right
    elif kind is Uint:
        if other is Uint:
            return _unsigned(left.value + right.value)
    elif isinstance(left, ListView):
        if is_list(right):
            return left.add(right)
    elif kind is list or kind is Concatenation:
        if is_list(right):
            return concatenate(left, right)
    elif kind is Duration:
        if other is Duration:
            return checked_duration(left.nanos + right.nanos)
        if other is Timestamp:
            return checked_timestamp(right.nanos + left.nanos, right.offset)
    elif kind is Timestamp:
        if other is Duration:
            return checked_timestamp(left.nanos + right.nanos, left.offset)
    else:
        raise unsupported("_+_", left)
    raise no_overload()


def subtract(left: Value, right: Value) -> Value:
    kind, other = left.__class__, right.__class__
    if kind is int:
        if other is int:
            return _checked(left - right)
    elif kind is float:
        if other is float:
            return left - right
    elif kind is Uint:
        if other is Uint:
            return _unsigned(left.value - right.value)
    elif kind is Duration:
        if other is Duration:
            return checked_duration(left.nanos - right.nanos)
    elif kind is Timestamp:
        if other is Duration:
            return checked_timestamp(left.nanos - right.nanos, left.offset)
        if other is Timestamp:
            return checked_duration(left.nanos - right.nanos)
    else:
        raise unsupported("_-_", left)
    raise no_overload()


def multiply(left: Value, right: Value) -> Value:
    kind, other = left.__class__, right.__class__
    if kind is int:
        if other is int:
            return _checked(left * right)
    elif kind is float:
        if other is float:
            return left * right
    elif kind is Uint:
        if other is Uint:
            return _unsigned(left.value * right.value)
    else:
        raise unsupported("_*_", left)
    raise no_overload()


def divide(left: Value, right: Value) -> Value:
    kind, other = left.__class__, right.__class__
    if kind is int:
        if other is int:
            if right == 0:
                raise EvaluationError("division by zero")
            quotient = abs(left) // abs(right)
            return _checked(quotient if (left < 0) == (right < 0) else -quotient)
    elif kind is float:
        if other is float:
            return _divide_doubles(left, right)
    elif kind is Uint:
        if other is Uint:
            if right.value == 0:
                raise EvaluationError("division by zero")
            return Uint(left.value // right.value)
    else:
        raise unsupported("_/_", left)
    raise no_overload()


def _divide_doubles(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Value, right: Value) -> Value:
    kind, other = left.__class__, right.__class__
    if kind is int:
        if other is int:
            if right == 0:
                raise EvaluationError("modulus by zero")
            if left == MIN_INT and right == -1:
                raise EvaluationError("integer overflow")
            rest = abs(left) % abs(right)
            return -rest if left < 0 else rest
    elif kind is Uint:
        if other is Uint:
            if right.value == 0:
                raise EvaluationError("modulus by zero")
            return Uint(left.value % right.value)
    else:
        raise unsupported("_%_", left)
    raise no_overload()


def negate(value: Value) -> Value:
    kind = value.__class__
    if kind is int:
        return _checked(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return checked_duration(-value.nanos)
    if kind is bool:
        raise no_overload()
    raise unsupported("-_", value)


def logical_not(value: Value) -> bool:
    if value is True:
        return False
    if value is False:
        return True
    raise no_overload()


# Ordering.


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1. Numbers of all types are ordered with each other; NaN with nothing."""
    kind, other = left.__class__, right.__class__
    if kind is float and math.isnan(left):
        raise EvaluationError("NaN values cannot be ordered")
    if kind in _NUMBERS:
        if other not in _NUMBERS:
            raise no_overload()
        if other is float and math.isnan(right):
            raise EvaluationError("NaN values cannot be ordered")
        return compare_numbers(left, right)
    if kind is not other:
        raise no_overload()
    if kind is Timestamp or kind is Duration:
        left, right = left.nanos, right.nanos
    return int(left > right) - int(left < right)


_NUMBERS = frozenset([int, float, Uint])
#: Classes of values that have an order among their own.
COMPARED = frozenset([int, float, Uint, str, bytes, bool, Timestamp, Duration])


def compare_numbers(left: Value, right: Value) -> int:
    """Compare two numbers of any types, neither of them NaN. An integer is compared with a double as a double."""
    kind, other = left.__class__, right.__class__
    if kind is Uint:
        left = left.value
    if other is Uint:
        right = right.value
    if kind is float and other is not float:
        limit, least = (MAX_INT, MIN_INT) if other is int else (MAX_UINT, 0)
        if left < float(least):
            return -1
        if left > float(limit):
            return 1
        right = float(right)
    elif other is float and kind is not float:
        return -compare_numbers(right, Uint(left) if kind is Uint else left)
    return int(left > right) - int(left < right)


def _ordering(function: str, accepted: tuple[int, ...]) -> Callable[[Value, Value], bool]:
    def ordered(left: Value, right: Value) -> bool:
        if left.__class__ not in COMPARED:
            raise unsupported(function, left)
        return compare(left, right) in accepted

    return ordered


less = _ordering("_<_", (-1,))
less_or_equal = _ordering("_<=_", (-1, 0))
greater = _ordering("_>_", (1,))
greater_or_equal = _ordering("_>=_", (1, 0))


# Equality.


def equals(left: Value, right: Value, meter: Meter) -> bool:
    """Say whether two values are equal. Values of different types are not, but numbers are compared across types."""
    if left is None or right is None:
        return left is right
    return equal_values(left, right, meter)


def equal_values(left: Value, right: Value, meter: Meter) -> bool:
    """Like `equals`, with the comparison of elements of data that have a schema."""
    kind, other = left.__class__, right.__class__
    if kind is other and kind in _BY_PYTHON:
        return bool(left == right)
    if kind in _NUMBERS:
        if other not in _NUMBERS or left != left or right != right:
            return False
        return compare_numbers(left, right) == 0
    if kind in _BY_PYTHON:
        return False
    if left is None:
        return right is None
    if isinstance(left, View):
        meter.work(1)
        return left.equals(right, meter)
    if kind is list or kind is Concatenation:
        return is_list(right) and len(left) == len(right) and _equal_lists(left, right, meter)
    if kind is dict or kind is Map:
        return is_map(right) and len(left) == len(right) and _equal_maps(left, right, meter)
    if kind is Optional:
        if other is not Optional or left.present != right.present:
            return False
        return not left.present or equal_values(left.value, right.value, meter)
    if kind is Type:
        return other is Type and left.name == right.name
    if isinstance(left, Opaque):
        return bool(left.equals(right, meter))
    return False


_BY_PYTHON = frozenset([str, int, bool, bytes, Uint, Timestamp, Duration])


def _equal_lists(left: Iterable[Value], right: Iterable[Value], meter: Meter) -> bool:
    for mine, yours in zip(left, right, strict=True):
        meter.work(1)
        try:
            if not equals(raised(mine), raised(yours), meter):
                return False
        except EvaluationError:
            # Elements that cannot be compared are not different.
            if left.__class__ is Concatenation:
                raise
    return True


def raised(value: Value) -> Value:
    """The value, which is raised if it is an error."""
    if value.__class__ is EvaluationError:
        raise value
    return value


def _equal_maps(left: Value, right: Value, meter: Meter) -> bool:
    for key in left:
        meter.work(1)
        yours = find_key(right, key)
        if yours is MISSING:
            return False
        try:
            if not equals(find_key(left, key), yours, meter):
                return False
        except EvaluationError:
            continue
    return True


def contains(value: Value, container: Value, meter: Meter) -> bool:
    """Say whether a value is an element of a list or a key of a map."""
    if isinstance(container, MapView):
        return container.contains(value)
    if is_map(container):
        return find_key(container, value) is not MISSING
    if isinstance(container, ListView):
        return container.contains(value, meter)
    if not is_list(container):
        raise no_overload()
    for element in container:
        meter.work(1)
        try:
            if equal_values(value, element, meter):
                return True
        except EvaluationError:
            continue
    return False


def size(value: Value) -> int:
    kind = value.__class__
    if kind is str or kind is bytes or is_list(value) or is_map(value):
        return len(value)
    raise unsupported("size", value)


def is_zero(value: Value) -> bool:
    """Say whether a value is the empty or zero value of its type."""
    kind = value.__class__
    if kind is Uint:
        return bool(value.value == 0)
    if kind is Duration:
        return bool(value.nanos == 0)
    if kind is Timestamp:
        return bool(value.nanos == MIN_SECONDS * NANOS)
    if kind is list or kind is Concatenation or kind is dict or kind is Map:
        return len(value) == 0
    if kind in (str, bytes, int, float, bool) or value is None:
        return not value
    return False


def matches(type_: Type, value: Value) -> bool:
    """Say whether a value may be an argument of a declared type; of lists and maps the first elements are looked at."""
    if type_.kind in ("dyn", "any", "param"):
        return True
    if type_.nullable and value is None:
        return True
    if type_of(value).name != type_.name:
        return False
    if type_.kind == "list":
        return not len(value) or matches(type_.parameters[0], next(iter(value)))
    if type_.kind == "map" and len(value):
        key = next(iter(value))
        return matches(type_.parameters[0], key) and matches(type_.parameters[1], find_key(value, key))
    return True
