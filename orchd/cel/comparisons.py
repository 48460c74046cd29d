"""Closures of comparisons: equality and order, with short ways where one side is a constant."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from orchd.cel import operators
from orchd.cel.attributes import Evaluator
from orchd.cel.calls import call_pair
from orchd.cel.costs import Cost, Meter
from orchd.cel.fast_paths import General, compare_constant, compare_text
from orchd.cel.operators import equals
from orchd.cel.plans import Constant
from orchd.cel.values import EvaluationError, Value

#: Classes of constants whose comparison costs 1, and whose order is that of Python among themselves.
_SCALARS = frozenset([int, bool])


def _equal(frame: Meter, left: Value, right: Value) -> bool:
    return equals(left, right, frame)


def _differ(frame: Meter, left: Value, right: Value) -> bool:
    """Values that cannot be compared are different."""
    try:
        return not equals(left, right, frame)
    except EvaluationError:
        return True


def _unmetered(compare: Callable[[Value, Value], bool]) -> General:
    return lambda frame, left, right: compare(left, right)


#: function -> (comparison of two values of one scalar class, comparison of any values)
_COMPARISONS: dict[str, tuple[Callable[[Any, Any], bool], General]] = {
    "_==_": (operator.eq, _equal),
    "_!=_": (operator.ne, _differ),
    "_<_": (operator.lt, _unmetered(operators.less)),
    "_<=_": (operator.le, _unmetered(operators.less_or_equal)),
    "_>_": (operator.gt, _unmetered(operators.greater)),
    "_>=_": (operator.ge, _unmetered(operators.greater_or_equal)),
}


def plan(function: str, plans: Sequence[object], closures: list[Evaluator], cost: Cost) -> Evaluator:
    """Return the closure of a comparison. ``plans`` are those of the closures."""
    compare, general = _COMPARISONS[function]
    right = plans[1]
    equality = function in ("_==_", "_!=_")
    if isinstance(right, Constant):
        kind = right.value.__class__
        if kind in _SCALARS and (equality or cost.count is None):
            return compare_constant(closures[0], right.value, compare, general, cost)
        if kind is str and equality:
            return compare_text(closures[0], right.value, compare, general, cost)
    return call_pair(closures[0], closures[1], general, cost, metered=True)
