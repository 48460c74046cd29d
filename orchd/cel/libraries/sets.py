"""Lists as sets: containment, equivalence, intersection."""

from __future__ import annotations

from collections.abc import Sequence

from orchd.cel.costs import UNIT, Cost, Estimate, Meter, Sized, size_of
from orchd.cel.declare import Implementation, Library, Overload, function
from orchd.cel.operators import contains
from orchd.cel.types import BOOL, LIST_A
from orchd.cel.values import Value


def _contains(meter: Meter, values: Value, sought: Value) -> bool:
    return all(contains(value, values, meter) for value in sought)


def _equivalent(meter: Meter, left: Value, right: Value) -> bool:
    return _contains(meter, left, right) and _contains(meter, right, left)


def _intersects(meter: Meter, left: Value, right: Value) -> bool:
    return any(contains(value, right, meter) for value in left)


def _product(factor: float) -> Cost:
    def estimate(target: Sized | None, args: Sequence[Sized]) -> Estimate:
        return Estimate(args[0].size.times(args[1].size).scaled(factor).plus(UNIT))

    def count(args: Sequence[Value], result: Value) -> int:
        return 1 + int(float(size_of(args[0]) * size_of(args[1])) * factor)

    return Cost(estimate, count)


def _row(identifier: str, call: Implementation, factor: float) -> Overload:
    return Overload(
        id=identifier, parameters=(LIST_A, LIST_A), result=BOOL, call=call, metered=True, cost=_product(factor)
    )


LIBRARY = Library(
    name="sets",
    functions=(
        function("sets.contains", _row("list_sets_contains_list", _contains, 1)),
        function("sets.equivalent", _row("list_sets_equivalent_list", _equivalent, 2)),
        function("sets.intersects", _row("list_sets_intersects_list", _intersects, 1)),
    ),
)
