"""The standard library: operators, size, type conversions, and the functions of strings that every environment has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import permutations

from orchd.cel import numbers, operators, times, types
from orchd.cel.costs import (
    PER_CHARACTER,
    PER_PATTERN_CHARACTER,
    UNBOUNDED,
    UNIT,
    Cost,
    Estimate,
    Meter,
    Range,
    Sized,
    inner_size_of,
    size_of,
)
from orchd.cel.declare import Function, Implementation, Library, function, member, overload
from orchd.cel.regex import dynamic_pattern
from orchd.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST_A,
    MAP_AB,
    STRING,
    TIMESTAMP,
    UINT,
    VENDOR,
    A,
    B,
    Type,
    type_of_type,
)
from orchd.cel.values import MAX_INT, MIN_INT, EvaluationError, Opaque, Timestamp, Uint, Value, no_overload, type_of

#: Types of libraries whose values are compared at a cost of 1.
COMPARED_AT_ONCE = frozenset(
    ["net.IP", "net.CIDR"]
    + [f"{VENDOR}.{name}" for name in ("Quantity", "Semver")]
    + [
        f"{VENDOR}.authorization.{name}"
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    ]
)
#: Types whose values are compared as short texts: type -> the longest.
COMPARED_AS_TEXT = {f"{VENDOR}.NamedFormat": 64, f"{VENDOR}.URL": None}

# Costs.


def _smaller(args: Sequence[Sized]) -> Estimate:
    most = min(args[0].size.high, args[1].size.high)
    return Estimate(Range(1 if most else 0, most).scaled(PER_CHARACTER))


def _estimate_equality(target: Sized | None, args: Sequence[Sized]) -> Estimate:
    left, right = args
    if left.type == right.type:
        name = left.type.name
        if name in COMPARED_AT_ONCE:
            return Estimate(UNIT)
        if name in COMPARED_AS_TEXT:
            longest = COMPARED_AS_TEXT[name]
            if longest is None:
                longest = right.computed.high if right.computed is not None else 1
            return Estimate(Range(1, longest).scaled(PER_CHARACTER))
    return _smaller(args)


def _count_smaller(args: Sequence[Value], result: Value) -> int:
    return math.ceil(min(inner_size_of(args[0]), inner_size_of(args[1])) * PER_CHARACTER)


def _count_equality(args: Sequence[Value], result: Value) -> int:
    if isinstance(args[0], Opaque):
        return 1
    return _count_smaller(args, result)


def _estimate_sum(target: Sized | None, args: Sequence[Sized]) -> Estimate:
    size = args[0].size.plus(args[1].size)
    return Estimate(size.scaled(PER_CHARACTER), size)


def _estimate_both(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    if target is None:
        return None
    return Estimate(target.size.scaled(PER_CHARACTER).times(args[0].size.scaled(PER_CHARACTER)))


def _count_both(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size_of(args[0]) * PER_CHARACTER) * math.ceil(size_of(args[1]) * PER_CHARACTER)


def estimate_pattern(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    """Estimate a search with a pattern: an empty text costs as much as one of one character."""
    if target is None:
        return None
    text = target.size.plus(UNIT).scaled(PER_CHARACTER)
    return Estimate(text.times(args[0].size.scaled(PER_PATTERN_CHARACTER)))


def count_pattern(args: Sequence[Value], result: Value) -> int:
    text = math.ceil((1 + size_of(args[0])) * PER_CHARACTER)
    return text * math.ceil(size_of(args[1]) * PER_PATTERN_CHARACTER)


def _estimate_bytes(target: Sized | None, args: Sequence[Sized]) -> Estimate:
    size = args[0].size
    return Estimate(size.scaled(PER_CHARACTER), Range(size.low, size.high * 4 & UNBOUNDED))


def _estimate_text(target: Sized | None, args: Sequence[Sized]) -> Estimate:
    size = args[0].size
    return Estimate(size.scaled(PER_CHARACTER), Range(size.low // 4, size.high))


def count_reading(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size_of(args[0]) * PER_CHARACTER)


EQUALITY = Cost(_estimate_equality, _count_equality, True)
INEQUALITY = Cost(lambda target, args: _smaller(args), _count_smaller, True)
_ORDER = Cost(lambda target, args: _smaller(args), _count_smaller)
_SUM = Cost(_estimate_sum, lambda args, result: math.ceil((size_of(args[0]) + size_of(args[1])) * PER_CHARACTER))
_LISTS = Cost(lambda target, args: Estimate(UNIT, args[0].size.plus(args[1].size)))
_ELEMENT = Cost(lambda target, args: Estimate(args[1].size.scaled(1)), lambda args, result: size_of(args[1]))
_ENDS = Cost(lambda target, args: Estimate(args[0].size.scaled(PER_CHARACTER)), count_reading)
_SUBSTRING = Cost(_estimate_both, _count_both)
_PATTERN = Cost(estimate_pattern, count_pattern)

# Conversions.


def _conversion_error(value: Value, to: Type) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_of(value).name}' to '{to}'")


def _to_bool(text: str) -> bool:
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise _conversion_error(text, BOOL)


def _to_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _parse_double(text: str) -> float:
    number = numbers.parse_double(text)
    if number is None:
        raise _conversion_error(text, DOUBLE)
    return number


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NATURAL = re.compile(r"[0-9]+", re.ASCII)


def _parse_int(text: str) -> int:
    if _INTEGER.fullmatch(text) and len(text.lstrip("+-0")) < 20 and MIN_INT <= int(text) <= MAX_INT:
        return int(text)
    raise _conversion_error(text, INT)


def _parse_uint(text: str) -> Uint:
    if _NATURAL.fullmatch(text) and len(text.lstrip("0")) < 21 and int(text) <= UNBOUNDED:
        return Uint(int(text))
    raise _conversion_error(text, UINT)


def _double_to_int(value: float) -> int:
    if math.isnan(value) or not float(MIN_INT) < value < float(MAX_INT):
        raise EvaluationError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Uint:
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(value))


def _uint_to_int(value: Uint) -> int:
    if value.value > MAX_INT:
        raise EvaluationError("integer overflow")
    return value.value


def _int_to_uint(value: int) -> Uint:
    if value < 0:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


def _int_to_duration(value: int) -> Value:
    raise _conversion_error(value, DURATION)


def _parse_duration(text: str) -> Value:
    duration = times.parse_duration(text)
    if duration is None:
        raise _conversion_error(text, DURATION)
    return duration


def _parse_timestamp(text: str) -> Value:
    timestamp = times.parse_timestamp(text)
    if timestamp is None:
        raise _conversion_error(text, TIMESTAMP)
    return operators.checked_timestamp(timestamp.nanos, timestamp.offset)


def _identity(value: Value) -> Value:
    return value


def _convert(to: Type, name: str, *rows: tuple[Type, str, Implementation]) -> Function:
    """The function that converts to a type: rows of the type it converts from, that type's short name, and how."""
    short = {DURATION: "duration", TIMESTAMP: "timestamp"}
    costs = {
        "string_to_bytes": Cost(_estimate_bytes, count_reading),
        "bytes_to_string": Cost(_estimate_text, count_reading),
    }
    overloads = []
    for source, label, call in rows:
        identifier = f"{label}_to_{short.get(to, to.name)}"
        overloads.append(overload(identifier, [source], to, call, cost=costs.get(identifier, Cost())))
    return function(name, *overloads)


# Functions of strings.


def contains_text(text: Value, part: Value) -> bool:
    return _texts(text, part) and part in text


def _texts(text: Value, part: Value) -> bool:
    if text.__class__ is not str or part.__class__ is not str:
        raise no_overload()
    return True


def match_text(meter: Meter, text: Value, pattern: Value) -> bool:
    if text.__class__ is not str:
        raise operators.unsupported("matches", text)
    if pattern.__class__ is not str:
        raise no_overload()
    return dynamic_pattern(meter, pattern, "error parsing regexp").search(meter, text)


# Tables.

_COMPARABLE: tuple[tuple[str, Type, Cost], ...] = (
    ("bool", BOOL, Cost()),
    ("int64", INT, Cost()),
    ("uint64", UINT, Cost()),
    ("double", DOUBLE, Cost()),
    ("string", STRING, _ORDER),
    ("bytes", BYTES, _ORDER),
    ("timestamp", TIMESTAMP, Cost()),
    ("duration", DURATION, Cost()),
)


def _ordered(name: str, prefix: str, call: Callable[[Value, Value], bool]) -> Function:
    rows = [overload(f"{prefix}_{label}", [type_, type_], BOOL, cost=cost) for label, type_, cost in _COMPARABLE]
    return function(name, *rows, call=call)


def _ordered_numbers(name: str, prefix: str) -> Function:
    pairs = permutations((("int64", INT), ("uint64", UINT), ("double", DOUBLE)), 2)
    return function(name, *(overload(f"{prefix}_{a}_{b}", [first, second], BOOL) for (a, first), (b, second) in pairs))


_OPERATORS = (
    function("_?_:_", overload("conditional", [BOOL, A, A], A)),
    function("_&&_", overload("logical_and", [BOOL, BOOL], BOOL)),
    function("_||_", overload("logical_or", [BOOL, BOOL], BOOL)),
    function("!_", overload("logical_not", [BOOL], BOOL), call=operators.logical_not),
    function("@not_strictly_false", overload("not_strictly_false", [BOOL], BOOL)),
    function("_==_", overload("equals", [A, A], BOOL, cost=EQUALITY)),
    function("_!=_", overload("not_equals", [A, A], BOOL, cost=INEQUALITY)),
    function(
        "_+_",
        overload("add_bytes", [BYTES, BYTES], BYTES, cost=_SUM, metered=True),
        overload("add_double", [DOUBLE, DOUBLE], DOUBLE, metered=True),
        overload("add_duration_duration", [DURATION, DURATION], DURATION, metered=True),
        overload("add_duration_timestamp", [DURATION, TIMESTAMP], TIMESTAMP, metered=True),
        overload("add_timestamp_duration", [TIMESTAMP, DURATION], TIMESTAMP, metered=True),
        overload("add_int64", [INT, INT], INT, metered=True),
        overload("add_list", [LIST_A, LIST_A], LIST_A, cost=_LISTS, metered=True),
        overload("add_string", [STRING, STRING], STRING, cost=_SUM, metered=True),
        overload("add_uint64", [UINT, UINT], UINT, metered=True),
        call=operators.add_metered,
    ),
    function(
        "_/_",
        overload("divide_double", [DOUBLE, DOUBLE], DOUBLE),
        overload("divide_int64", [INT, INT], INT),
        overload("divide_uint64", [UINT, UINT], UINT),
        call=operators.divide,
    ),
    function(
        "_%_",
        overload("modulo_int64", [INT, INT], INT),
        overload("modulo_uint64", [UINT, UINT], UINT),
        call=operators.modulo,
    ),
    function(
        "_*_",
        overload("multiply_double", [DOUBLE, DOUBLE], DOUBLE),
        overload("multiply_int64", [INT, INT], INT),
        overload("multiply_uint64", [UINT, UINT], UINT),
        call=operators.multiply,
    ),
    function(
        "-_", overload("negate_double", [DOUBLE], DOUBLE), overload("negate_int64", [INT], INT), call=operators.negate
    ),
    function(
        "_-_",
        overload("subtract_double", [DOUBLE, DOUBLE], DOUBLE),
        overload("subtract_duration_duration", [DURATION, DURATION], DURATION),
        overload("subtract_int64", [INT, INT], INT),
        overload("subtract_timestamp_duration", [TIMESTAMP, DURATION], TIMESTAMP),
        overload("subtract_timestamp_timestamp", [TIMESTAMP, TIMESTAMP], DURATION),
        overload("subtract_uint64", [UINT, UINT], UINT),
        call=operators.subtract,
    ),
    _ordered("_<_", "less", operators.less),
    _ordered("_<=_", "less_equals", operators.less_or_equal),
    _ordered("_>_", "greater", operators.greater),
    _ordered("_>=_", "greater_equals", operators.greater_or_equal),
    function("_[_]", overload("index_list", [LIST_A, INT], A), overload("index_map", [MAP_AB, A], B)),
    function("@in", overload("in_list", [A, LIST_A], BOOL, cost=_ELEMENT), overload("in_map", [A, MAP_AB], BOOL)),
    function(
        "size",
        *(
            row(identifier, [type_], INT)
            for identifier, type_ in (("bytes", BYTES), ("list", LIST_A), ("map", MAP_AB), ("string", STRING))
            for row, identifier in ((overload, f"size_{identifier}"), (member, f"{identifier}_size"))
        ),
        call=operators.size,
    ),
)

_CONVERSIONS = (
    function("type", overload("type", [A], type_of_type(A), type_of), call=type_of),
    function("dyn", overload("to_dyn", [A], DYN, _identity), call=_identity),
    _convert(BOOL, "bool", (BOOL, "bool", _identity), (STRING, "string", _to_bool)),
    _convert(BYTES, "bytes", (BYTES, "bytes", _identity), (STRING, "string", str.encode)),
    _convert(
        DOUBLE,
        "double",
        (DOUBLE, "double", _identity),
        (INT, "int64", float),
        (STRING, "string", _parse_double),
        (UINT, "uint64", lambda value: float(value.value)),
    ),
    _convert(
        DURATION,
        "duration",
        (DURATION, "duration", _identity),
        (INT, "int64", _int_to_duration),
        (STRING, "string", _parse_duration),
    ),
    _convert(
        INT,
        "int",
        (INT, "int64", _identity),
        (DOUBLE, "double", _double_to_int),
        (DURATION, "duration", lambda value: value.nanos),
        (STRING, "string", _parse_int),
        (TIMESTAMP, "timestamp", lambda value: value.nanos // operators.NANOS),
        (UINT, "uint64", _uint_to_int),
    ),
    _convert(
        STRING,
        "string",
        (STRING, "string", _identity),
        (BOOL, "bool", lambda value: "true" if value else "false"),
        (BYTES, "bytes", _to_text),
        (DOUBLE, "double", numbers.shortest),
        (DURATION, "duration", times.duration_text),
        (INT, "int64", str),
        (TIMESTAMP, "timestamp", times.timestamp_text),
        (UINT, "uint64", lambda value: str(value.value)),
    ),
    _convert(
        TIMESTAMP,
        "timestamp",
        (TIMESTAMP, "timestamp", _identity),
        (INT, "int64", lambda value: operators.checked_timestamp(value * operators.NANOS)),
        (STRING, "string", _parse_timestamp),
    ),
    _convert(
        UINT,
        "uint",
        (UINT, "uint64", _identity),
        (DOUBLE, "double", _double_to_uint),
        (INT, "int64", _int_to_uint),
        (STRING, "string", _parse_uint),
    ),
)

_TEXTS = (
    function("contains", member("contains_string", [STRING, STRING], BOOL, cost=_SUBSTRING), call=contains_text),
    function(
        "endsWith",
        member("ends_with_string", [STRING, STRING], BOOL, cost=_ENDS),
        call=lambda text, end: _texts(text, end) and text.endswith(end),
    ),
    function(
        "startsWith",
        member("starts_with_string", [STRING, STRING], BOOL, cost=_ENDS),
        call=lambda text, start: _texts(text, start) and text.startswith(start),
    ),
    function(
        "matches",
        overload("matches", [STRING, STRING], BOOL, metered=True),
        member("matches_string", [STRING, STRING], BOOL, cost=_PATTERN, metered=True),
        call=match_text,
    ),
)


def _getter(name: str, of_timestamp: Callable[[Timestamp], int], of_duration: Callable[[int], int] | None) -> Function:
    """A getter of a part of a timestamp, with a time zone or in UTC, and of a duration."""

    def zoned(value: Timestamp, zone: str) -> int:
        return of_timestamp(times.in_zone(value, zone))

    rows = [
        member(f"timestamp_{name}", [TIMESTAMP], INT, lambda value: of_timestamp(Timestamp(value.nanos))),
        member(f"timestamp_{name}_with_tz", [TIMESTAMP, STRING], INT, zoned),
    ]
    if of_duration is not None:
        convert = of_duration
        rows.append(member(f"duration_{name}", [DURATION], INT, lambda value: convert(value.nanos)))
    return function(name, *rows)


_GETTERS = (
    _getter("getFullYear", times.year, None),
    _getter("getMonth", times.month, None),
    _getter("getDayOfYear", times.day_of_year, None),
    _getter("getDayOfMonth", times.day_of_month, None),
    _getter("getDate", times.date, None),
    _getter("getDayOfWeek", times.day_of_week, None),
    _getter("getHours", times.hours, lambda nanos: times.whole(nanos, 3600 * operators.NANOS)),
    _getter("getMinutes", times.minutes, lambda nanos: times.whole(nanos, 60 * operators.NANOS)),
    _getter("getSeconds", times.seconds, lambda nanos: times.whole(nanos, operators.NANOS)),
    _getter("getMilliseconds", times.milliseconds, lambda nanos: times.whole(nanos, 1_000_000) % 1000),
)

LIBRARY = Library(
    name="standard",
    functions=_OPERATORS + _CONVERSIONS + _TEXTS + _GETTERS,
    types=(*types.NAMED.values(), LIST_A, MAP_AB, types.TYPE),
)
#: Comparing numbers of different types.
NUMERIC_ORDER = Library(
    name="order of numbers",
    functions=(
        _ordered_numbers("_<_", "less"),
        _ordered_numbers("_<=_", "less_equals"),
        _ordered_numbers("_>_", "greater"),
        _ordered_numbers("_>=_", "greater_equals"),
    ),
)
#: To be put before the standard library: milliseconds of a duration are all of it, as in the reference.
TOTAL_MILLISECONDS = Library(
    name="total milliseconds",
    functions=(
        function(
            "getMilliseconds",
            member("duration_getMilliseconds", [DURATION], INT, lambda value: times.whole(value.nanos, 1_000_000)),
        ),
    ),
)
