"""Fast paths for the most frequent expressions of rules: reading variables and fields, and comparing them with
constants.

These closures give the same results and costs as the general closures of `program` and `calls`, in fewer steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from orchd.cel.attributes import Evaluator, passed_on, qualify, qualify_all
from orchd.cel.calls import overdrawn, spend
from orchd.cel.costs import PER_CHARACTER, Cost, Meter
from orchd.cel.objects import ObjectView
from orchd.cel.operators import MISSING
from orchd.cel.values import EvaluationError, Optional, Value

#: Compares values of any classes.
General = Callable[[Meter, Value, Value], bool]
#: Classes of what stands for a variable that has no value yet, or none at all, and of values that are not passed on as
#: they are.
_UNREADY = frozenset([EvaluationError, MISSING.__class__, FunctionType, Optional])


def _ready(frame: Meter, slot: int, name: str) -> Value:
    """Return the value of a variable that was not there at once. Raises `EvaluationError`."""
    value = frame[slot]
    if value is MISSING:
        raise EvaluationError(f"no such attribute(s): {name}")
    if value.__class__ is FunctionType:
        value = frame[slot] = value()
    if value.__class__ is EvaluationError:
        raise value
    return passed_on(value)


def read_variable(slot: int, name: str, price: int) -> Evaluator:
    """Read a variable, at a price."""

    def run(frame: Meter) -> Value:
        left = frame[0] = frame[0] - price
        if left < 0:
            overdrawn(frame)
        value = frame[slot]
        if value.__class__ in _UNREADY:
            return _ready(frame, slot, name)
        return value

    return run


def read_field(slot: int, name: str, key: str, price: int) -> Evaluator:
    """Read one field of a variable, at 1 and a price."""
    total = 1 + price

    def run(frame: Meter) -> Value:
        left = frame[0] = frame[0] - total
        value = frame[slot]
        # Nothing is selected from a variable that is an error.
        if left < 0 and (left < -1 or value.__class__ is not EvaluationError):
            overdrawn(frame)
        if value.__class__ is ObjectView:
            field = value.shape.fields.get(key)
            if field is not None:
                data = value.data.get(field[0])
                if data.__class__ is field[2]:
                    return data
        elif value.__class__ in _UNREADY and value.__class__ is not Optional:
            try:
                value = _ready(frame, slot, name)
            except EvaluationError:
                frame[0] += 1
                raise
        if value.__class__ is Optional:
            frame[0] += total
            return qualify_all(frame, value, [key], price)
        return qualify(value, key)

    return run


def select_keys(base: Evaluator, keys: list[str], price: int) -> Evaluator:
    """Select constant keys one after the other, each at 1, and pay a price for the whole."""
    total = len(keys) + price

    def run(frame: Meter) -> Value:
        try:
            value = base(frame)
        except EvaluationError:
            spend(frame, price)
            raise
        if value.__class__ is Optional:
            return qualify_all(frame, value, keys, price)
        done = 0
        try:
            for key in keys:
                done += 1
                value = qualify(value, key)
        except EvaluationError:
            frame[0] -= done + price
            if frame[0] < 0:
                overdrawn(frame)
            raise
        left = frame[0] = frame[0] - total
        if left < 0:
            overdrawn(frame)
        return value

    return run


def compare_constant(
    argument: Evaluator, constant: Value, compare: Callable[[Any, Any], bool], general: General, cost: Cost
) -> Evaluator:
    """Compare with a constant scalar, at 1. ``general`` compares values of other classes, at ``cost``."""
    kind = constant.__class__
    count = cost.count

    def run(frame: Meter) -> Value:
        try:
            value = argument(frame)
        except EvaluationError:
            spend(frame, 1)
            raise
        left = frame[0] = frame[0] - 1
        if left < 0:
            overdrawn(frame)
        if value.__class__ is kind:
            return compare(value, constant)
        if count is not None:
            frame[0] += 1
            spend(frame, count((value, constant), None))
        return general(frame, value, constant)

    return run


def compare_text(
    argument: Evaluator, constant: str, compare: Callable[[Any, Any], bool], general: General, cost: Cost
) -> Evaluator:
    """Compare with a constant string: the shorter of both is read."""
    length = len(constant)
    prices = [math.ceil(size * PER_CHARACTER) for size in range(length + 1)]
    count = cost.count
    assert count is not None

    def run(frame: Meter) -> Value:
        try:
            value = argument(frame)
        except EvaluationError as error:
            spend(frame, count((error, constant), error))
            raise
        if value.__class__ is str:
            size = len(value)
            left = frame[0] = frame[0] - prices[size if size < length else length]
            if left < 0:
                spend(frame, 0)
            return compare(value, constant)
        try:
            result = general(frame, value, constant)
        except EvaluationError as error:
            spend(frame, count((value, constant), error))
            raise
        spend(frame, count((value, constant), result))
        return result

    return run
