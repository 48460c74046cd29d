"""Functions of lists: sums and extremes of elements that can be added or ordered, searching, and making new lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cmp_to_key

from orchd.cel.building import MacroError
from orchd.cel.costs import (
    EXCEEDED,
    LIST,
    PER_CHARACTER,
    UNBOUNDED,
    UNIT,
    Cost,
    Estimate,
    Meter,
    Range,
    Sized,
    fixed,
    size_of,
)
from orchd.cel.declare import Function, Library, Overload, function, member
from orchd.cel.libraries.strings import SEARCH
from orchd.cel.macros import Maker, collect, name_of
from orchd.cel.operators import COMPARED, ListView, add, compare, equal_values, is_list, is_map, unsupported
from orchd.cel.syntax import Broken, Call, Comprehension, Ident, ListLiteral, Literal, Node, Select
from orchd.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, LIST_A, STRING, TIMESTAMP, UINT, A, Type, list_of
from orchd.cel.values import (
    Breakdown,
    Cancelled,
    Duration,
    EvaluationError,
    Uint,
    Value,
    class_name,
    no_overload,
    type_of,
)

_COMPARABLE = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "bool": BOOL,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "bytes": BYTES,
}
_ZERO = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}

# Searching and adding up.


def _comparable(value: Value) -> Value:
    if value.__class__ is EvaluationError:
        raise value
    if value.__class__ not in COMPARED:
        raise no_overload()
    return value


def _compared(left: Value, right: Value) -> int | None:
    """Return the order of two values, None if they have none."""
    try:
        return compare(left, right)
    except EvaluationError:
        return None


def _is_sorted(values: Value) -> bool:
    before: Value = None
    for index, value in enumerate(values):
        if index and _compared(before, _comparable(value)) == 1:
            return False
        before = _comparable(value)
    return True


def _sum(zero: Value) -> Callable[[Value], Value]:
    def total(values: Value) -> Value:
        result = zero
        for value in values:
            if value.__class__ is EvaluationError:
                raise value
            result = add(result, value)
        return result

    return total


def _extreme(name: str, replaced: int) -> Callable[[Value], Value]:
    """A function that returns the least or the greatest element: a later one replaces the result if the result compares
    to it as `replaced`."""

    def find(values: Value) -> Value:
        result: Value = None
        empty = True
        for value in values:
            if empty or _compared(result, _comparable(value)) == replaced:
                result = _comparable(value)
            empty = False
        if empty:
            raise EvaluationError(f"{name} called on empty list")
        return result

    return find


def _index_of(meter: Meter, values: Value, sought: Value) -> int:
    for index, value in enumerate(values):
        if _equal(value, sought, meter):
            return index
    return -1


def _last_index_of(meter: Meter, values: Value, sought: Value) -> int:
    last = -1
    for index, value in enumerate(values):
        if _equal(value, sought, meter):
            last = index
    return last


def _equal(left: Value, right: Value, meter: Meter) -> bool:
    meter.work(1)
    if left.__class__ is EvaluationError:
        return False
    try:
        return equal_values(left, right, meter)
    except EvaluationError:
        return False


# New lists.


def _slice(values: Value, start: int, end: int) -> Value:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    if values.__class__ is list:
        return values[start:end]
    get = values.item if isinstance(values, ListView) else values.__getitem__
    return [get(index) for index in range(start, end)]


def _flatten(meter: Meter, values: Value, *depths: Value) -> Value:
    depth = depths[0] if depths else 1
    if not is_list(values) or depth.__class__ is not int:
        types = [_written(each) for each in (values, *depths)]
        raise EvaluationError(f"no such overload: {types[0]}.flatten({', '.join(types[1:])})")
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    result: list[Value] = []
    stack: list[tuple[Value, int]] = [(iter(values), depth)]
    while stack:
        meter.work(1)
        elements, levels = stack[-1]
        try:
            value = next(elements)
        except StopIteration:
            stack.pop()
            continue
        if levels and is_list(value):
            stack.append((iter(value), levels - 1))
        else:
            result.append(value)
    return result


def _written(value: Value) -> str:
    """The type of a value as messages print it. The types of keys and values of maps are not known."""
    return "map(dyn, dyn)" if is_map(value) else type_of(value).name


def _end_early(meter: Meter, cost: int) -> None:
    """End an evaluation before the work of a call, if the cost of the call exceeds the rest of the budget. Raises
    `Cancelled`."""
    if cost > meter[0]:
        meter[0] -= cost
        raise Cancelled(EXCEEDED)


def _sort(meter: Meter, values: Value) -> Value:
    if not is_list(values):
        raise unsupported("sort", values)
    return _sort_by(meter, values, values)


def _sort_by(meter: Meter, values: Value, keys: Value) -> Value:
    if not is_list(values) or not is_list(keys):
        raise unsupported("@sortByAssociatedKeys", values)
    if len(values) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got"
            f" {len(values)} and {len(keys)} elements respectively"
        )
    if not len(values):
        return values
    # The cost of the call may be less than its work, where several overloads match.
    steps = len(keys) * len(keys).bit_length()
    if steps > meter[1]:
        _end_early(meter, _count_compared(1)((values, keys), None))
    meter.work(steps)
    rows: list[tuple[Value, Value]] = list(zip(keys, values, strict=True))
    first = rows[0][0]
    if first.__class__ not in COMPARED:
        raise EvaluationError("list elements must be comparable")
    if len(rows) > 1 and any(key.__class__ is not first.__class__ for key, _ in rows):
        raise EvaluationError("list elements must have the same type")
    order = cmp_to_key(lambda left, right: _compared(left, right) or 0)
    rows.sort(key=lambda row: order(row[0]))
    return [value for _, value in rows]


def _range(meter: Meter, count: int) -> list[Value]:
    _end_early(meter, _allocated(1, max(count, 0)))
    return list(range(count))


def _distinct(meter: Meter, values: Value) -> Value:
    if not len(values):
        return values
    _end_early(meter, _count_compared(0)((values,), None))
    result: list[Value] = []
    for value in values:
        if not any(_equal(value, other, meter) for other in result):
            result.append(value)
    return result


def _sort_by_macro(offset: int, target: Node | None, args: list[Node]) -> Node:
    """``list.sortBy(x, key(x))``"""
    assert target is not None
    if isinstance(target, Broken):
        applicable = not target.macro
    else:
        applicable = isinstance(target, ListLiteral | Select | Ident | Comprehension | Call)
    if not applicable:
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.offset, text)
    make = Maker(offset)
    name = "@__sortBy_input__"
    variable = name_of(args[0], "argument is not an identifier")
    if variable in ("@result", "__result__"):
        raise MacroError(args[0].offset, "iteration variable overwrites accumulator variable")
    keys = collect(make, Ident(offset, name), (variable, None), args[1], None)
    call = Call(offset, "@sortByAssociatedKeys", [keys], Ident(offset, name))
    return make.bind(name, target, call)


# Costs.

#: Types whose values can be added.
_ADDED = frozenset(
    ["bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "string", "uint"]
)


def _allocating(factor: float, size: Range) -> Estimate:
    return Estimate(size.scaled(factor).plus(UNIT).plus(fixed(LIST)), size)


def _literal(argument: Sized, default: int) -> int:
    """Return the value of a literal integer, 0 if it is negative, a default for everything else."""
    node = argument.node
    if isinstance(node, Literal) and node.value.__class__ is int:
        return int(max(node.value, 0))
    return default


def _estimate_slice(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    if target is None:
        return None
    size = _literal(args[1], target.size.high) - _literal(args[0], 0) & UNBOUNDED
    return _allocating(1, fixed(size))


def _estimate_flatten(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
    if target is None:
        return None
    return _allocating(float(_literal(args[0], UNBOUNDED)) if args else 1.0, target.size)


def _estimate_squared(factor: float, place: int) -> Callable[[Sized | None, Sequence[Sized]], Estimate | None]:
    def estimate(target: Sized | None, args: Sequence[Sized]) -> Estimate | None:
        if target is None:
            return None
        size = (target if place == 0 else args[0]).size
        return _allocating(factor, size.times(size))

    return estimate


def _allocated(factor: float, size: int) -> int:
    product = float(size) * factor
    # A product beyond 64 bits becomes the lowest integer, and a negative one counts backwards.
    whole = int(product) if -(2.0**63) <= product < 2.0**64 else 2**63
    return whole + 1 + LIST


def _measured(values: Value) -> Value:
    """Return the list whose size a cost is made of. Raises `Breakdown` for a value that is not a list."""
    if is_list(values):
        return values
    method = "Contains" if values.__class__ is not EvaluationError and type_of(values).name in _ADDED else "Add"
    name = class_name(values)
    raise Breakdown(f"internal error: interface conversion: {name} is not traits.Lister: missing method {method}")


def _count_compared(place: int) -> Callable[[Sequence[Value], Value], int]:
    def count(args: Sequence[Value], result: Value) -> int:
        values = _measured(args[place])
        size = size_of(values)
        factor = 2.0
        if size and next(iter(values)).__class__ in (str, bytes):
            factor += PER_CHARACTER
        return _allocated(factor, size * size)

    return count


def _count_flatten(args: Sequence[Value], result: Value) -> int:
    depth = args[1] if len(args) == 2 else 1
    if depth.__class__ is not int:
        raise Breakdown(f"internal error: interface conversion: ref.Val is {class_name(depth)}, not types.Int")
    return _allocated(float(depth), size_of(args[0]))


_MADE = lambda args, result: _allocated(1, size_of(result))  # noqa: E731 - a cost function of a table
_SLICE = Cost(_estimate_slice, _MADE)
_RANGE = Cost(lambda target, args: _allocating(1, fixed(_literal(args[0], UNBOUNDED))), _MADE)
_REVERSE = Cost(lambda target, args: None if target is None else _allocating(1, target.size), _MADE)
_FLATTEN = Cost(_estimate_flatten, _count_flatten)
_DISTINCT = Cost(_estimate_squared(2.0, 0), _count_compared(0))


def _sorting(type_: Type, place: int) -> Cost:
    factor = 2.0 + PER_CHARACTER if type_.kind in ("string", "bytes") else 2.0
    return Cost(_estimate_squared(factor, place), _count_compared(place))


# Tables.


def _templated(name: str, suffix: str, result: Type | None, call: Callable[[Value], Value]) -> Function:
    """A function of lists of every type that can be ordered; ``result`` is the type of the result, None for the type of
    the elements.
    """
    return function(
        name,
        *(
            member(f"list_{label}_{suffix.format(label)}", [list_of(type_)], result or type_, call, cost=SEARCH)
            for label, type_ in _COMPARABLE.items()
        ),
    )


#: Aggregates and searching.
AGGREGATES = Library(
    name="list aggregates",
    functions=(
        _templated("isSorted", "is_sorted_bool", BOOL, _is_sorted),
        _templated("max", "max_{}", None, _extreme("max", -1)),
        _templated("min", "min_{}", None, _extreme("min", 1)),
        function(
            "sum",
            *(
                member(
                    f"list_{label}_sum_{label}",
                    [list_of(_COMPARABLE[label])],
                    _COMPARABLE[label],
                    _sum(zero),
                    cost=SEARCH,
                )
                for label, zero in _ZERO.items()
            ),
        ),
        function("indexOf", member("list_a_index_of_int", [LIST_A, A], INT, _index_of, cost=SEARCH, metered=True)),
        function(
            "lastIndexOf",
            member("list_a_last_index_of_int", [LIST_A, A], INT, _last_index_of, cost=SEARCH, metered=True),
        ),
    ),
)

#: Making new lists, version 3.
LIBRARY = Library(
    name="lists",
    functions=(
        function("slice", member("list_slice", [LIST_A, INT, INT], LIST_A, _slice, cost=_SLICE)),
        function(
            "flatten",
            replace(
                member("list_flatten", [list_of(LIST_A)], LIST_A, _flatten, cost=_FLATTEN, metered=True), guarded=False
            ),
            replace(
                member("list_flatten_int", [list_of(DYN), INT], list_of(DYN), _flatten, cost=_FLATTEN, metered=True),
                guarded=False,
            ),
        ),
        function(
            "sort",
            *(
                member(
                    f"list_{type_.name}_sort", [list_of(type_)], list_of(type_), cost=_sorting(type_, 0), metered=True
                )
                for type_ in _COMPARABLE.values()
            ),
            call=_sort,
        ),
        function(
            "@sortByAssociatedKeys",
            *(
                member(
                    f"list_{type_.name}_sortByAssociatedKeys",
                    [LIST_A, list_of(type_)],
                    LIST_A,
                    cost=_sorting(type_, 1),
                    metered=True,
                )
                for type_ in _COMPARABLE.values()
            ),
            call=_sort_by,
        ),
        function(
            "lists.range",
            Overload(id="lists_range", parameters=(INT,), result=list_of(INT), call=_range, metered=True, cost=_RANGE),
        ),
        function("reverse", member("list_reverse", [LIST_A], LIST_A, lambda values: list(values)[::-1], cost=_REVERSE)),
        function("distinct", member("list_distinct", [LIST_A], LIST_A, _distinct, cost=_DISTINCT, metered=True)),
    ),
    macros={("sortBy", 2, True): _sort_by_macro},
)
