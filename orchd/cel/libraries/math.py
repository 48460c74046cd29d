"""Mathematics: ``math.greatest(a, b, ..)``, ``math.least``, rounding, signs, and bits. Not part of any release."""

from __future__ import annotations

import math
from collections.abc import Callable

from orchd.cel.building import Expander, MacroError
from orchd.cel.declare import Function, Implementation, Library, function, overload
from orchd.cel.macros import Maker
from orchd.cel.operators import compare
from orchd.cel.syntax import Ident, ListLiteral, Literal, MapLiteral, Node, StructLiteral
from orchd.cel.types import BOOL, DOUBLE, DYN, INT, UINT, Type, list_of
from orchd.cel.values import MAX_INT, MAX_UINT, MIN_INT, EvaluationError, Uint, Value

_NUMBERS = (DOUBLE, INT, UINT)
_SIGNED = 2**64


def _pick(replaced: int) -> Callable[[Value, Value], Value]:
    return lambda first, second: second if compare(first, second) == replaced else first


def _pick_of(name: str, replaced: int) -> Callable[[Value], Value]:
    pick = _pick(replaced)

    def find(values: Value) -> Value:
        if not len(values):
            raise EvaluationError(f"{name}(list) argument must not be empty")
        result, *rest = values
        for value in rest:
            result = pick(result, value)
        return result

    return find


def _is_number(node: Node) -> bool:
    """Say whether a node may be a number: it is no literal of anything else."""
    if isinstance(node, Literal):
        return node.value.__class__ in (int, float, Uint)
    return not isinstance(node, ListLiteral | MapLiteral | StructLiteral)


def _extreme(name: str, implementation: str) -> Expander:
    """``math.least(a, b, ..)``: the function of one number, of two, or of a list."""

    def expand(offset: int, target: Node | None, args: list[Node]) -> Node | None:
        if not isinstance(target, Ident) or target.name != "math":
            return None
        make = Maker(offset)
        if not args:
            raise MacroError(target.offset, f"{name}() requires at least one argument")
        if len(args) == 1:
            (arg,) = args
            numbers = isinstance(arg, ListLiteral) and bool(arg.elements) and all(map(_is_number, arg.elements))
            if not numbers and not _is_number(arg):
                raise MacroError(arg.offset, f"{name}() invalid single argument value")
            return make.call(implementation, arg)
        for arg in args:
            if not _is_number(arg):
                raise MacroError(arg.offset, f"{name}() simple literal arguments must be numeric")
        return make.call(implementation, *args) if len(args) == 2 else make.call(implementation, make.list(*args))

    return expand


def _extremes(name: str, replaced: int) -> Function:
    pick, pick_of = _pick(replaced), _pick_of(name, replaced)
    prefix = f"math_{name.removeprefix('math.')}"
    rows = [overload(f"{prefix}_{type_.name}", [type_], type_, lambda value: value) for type_ in _NUMBERS]
    for first in _NUMBERS:
        for second in _NUMBERS:
            result = first if first is second else DYN
            rows.append(overload(f"{prefix}_{first.name}_{second.name}", [first, second], result, pick))
    rows += [overload(f"{prefix}_list_{type_.name}", [list_of(type_)], type_, pick_of) for type_ in _NUMBERS]
    return function(name, *rows)


def _rounding(name: str, call: Callable[[float], float]) -> Function:
    def rounded(value: float) -> float:
        return call(value) if math.isfinite(value) else value

    return function(f"math.{name}", overload(f"math_{name}_double", [DOUBLE], DOUBLE, rounded))


def _round(value: float) -> float:
    """Round half away from zero."""
    whole = math.floor(abs(value))
    return math.copysign(whole + (abs(value) - whole >= 0.5), value)


def _test(name: str, call: Callable[[float], bool]) -> Function:
    return function(f"math.{name}", overload(f"math_{name}_double", [DOUBLE], BOOL, call))


def _absolute(value: int) -> int:
    if value == MIN_INT:
        raise EvaluationError("integer overflow")
    return abs(value)


def _sign(value: Value) -> Value:
    if value.__class__ is Uint:
        return Uint(min(value.value, 1))
    if value != value:
        return value
    return type(value)((value > 0) - (value < 0))


def _bits(name: str, call: Callable[[int, int], int]) -> Function:
    return function(
        f"math.{name}",
        overload(f"math_{name}_int_int", [INT, INT], INT, call),
        overload(f"math_{name}_uint_uint", [UINT, UINT], UINT, lambda left, right: Uint(call(left.value, right.value))),
    )


def _signed(bits: int) -> int:
    """Return the signed number that has 64 bits."""
    return bits - _SIGNED if bits > MAX_INT else bits


def _shift(name: str, call: Callable[[int, int], int]) -> Function:
    """Shift 64 bits; the sign is a bit like others."""

    def shifted(bits: int, count: int) -> int:
        if count < 0:
            raise EvaluationError(f"math.{name}() negative offset: {count}")
        return call(bits, min(count, 64)) & MAX_UINT

    return function(
        f"math.{name}",
        overload(f"math_{name}_int_int", [INT, INT], INT, lambda bits, count: _signed(shifted(bits & MAX_UINT, count))),
        overload(f"math_{name}_uint_int", [UINT, INT], UINT, lambda bits, count: Uint(shifted(bits.value, count))),
    )


def _square_root(value: Value) -> float:
    number = float(value.value) if value.__class__ is Uint else float(value)
    return math.sqrt(number) if number >= 0 else math.nan


def _of_each(name: str, *rows: tuple[Type, Type, Implementation]) -> Function:
    return function(
        f"math.{name}", *(overload(f"math_{name}_{type_.name}", [type_], result, call) for type_, result, call in rows)
    )


LIBRARY = Library(
    name="math",
    functions=(
        _extremes("math.@min", 1),
        _extremes("math.@max", -1),
        _rounding("ceil", lambda value: float(math.ceil(value))),
        _rounding("floor", lambda value: float(math.floor(value))),
        _rounding("round", _round),
        _rounding("trunc", lambda value: float(math.trunc(value))),
        _test("isInf", math.isinf),
        _test("isNaN", math.isnan),
        _test("isFinite", math.isfinite),
        _of_each("abs", (DOUBLE, DOUBLE, abs), (INT, INT, _absolute), (UINT, UINT, lambda value: value)),
        _of_each("sign", *((type_, type_, _sign) for type_ in _NUMBERS)),
        _of_each("sqrt", *((type_, DOUBLE, _square_root) for type_ in _NUMBERS)),
        _bits("bitAnd", lambda left, right: left & right),
        _bits("bitOr", lambda left, right: left | right),
        _bits("bitXor", lambda left, right: left ^ right),
        function(
            "math.bitNot",
            overload("math_bitNot_int_int", [INT], INT, lambda value: ~value),
            overload("math_bitNot_uint_uint", [UINT], UINT, lambda value: Uint(~value.value & MAX_UINT)),
        ),
        _shift("bitShiftLeft", lambda bits, count: bits << count),
        _shift("bitShiftRight", lambda bits, count: bits >> count),
    ),
    macros={
        ("least", -1, True): _extreme("math.least", "math.@min"),
        ("greatest", -1, True): _extreme("math.greatest", "math.@max"),
    },
)
