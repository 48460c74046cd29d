"""Closures that call functions: arguments are evaluated, the implementation is called, and the cost is spent.

A call with one or two arguments costs what it costs even where an argument is an error; one with more stops at the
first error.
"""

from __future__ import annotations

from orchd.cel.attributes import Evaluator
from orchd.cel.costs import EXCEEDED, UNBOUNDED, Cost, Meter
from orchd.cel.declare import Implementation
from orchd.cel.values import Cancelled, EvaluationError, Value


def spend(frame: Meter, cost: int) -> None:
    """Take a cost from what is left of the budget. Raises `Cancelled` when nothing is left.

    Costs are unsigned: one that would be negative, such as that of `flatten` with a negative level, is very high.
    """
    left = frame[0] = frame[0] - (cost if cost >= 0 else cost & UNBOUNDED)
    if left < 0:
        raise Cancelled(EXCEEDED)


def overdrawn(frame: Meter) -> None:
    """End an evaluation whose budget was passed by one of several steps of cost 1: that step was the last."""
    frame[0] = max(frame[0], -1)
    raise Cancelled(EXCEEDED)


def priced(run: Evaluator, price: int) -> Evaluator:
    """Pay a price after an evaluation, also where it ends with an error of the language."""

    def paid(frame: Meter) -> Value:
        try:
            value = run(frame)
        except EvaluationError:
            spend(frame, price)
            raise
        spend(frame, price)
        return value

    return paid


class NullaryCall:
    """A call without arguments."""

    __slots__ = ("_call", "_cost")

    def __init__(self, call: Implementation, cost: Cost) -> None:
        self._call = call
        self._cost = cost.count((), None) if cost.count is not None else 1

    def __call__(self, frame: Meter) -> Value:
        spend(frame, self._cost)
        return self._call()


def call_single(argument: Evaluator, call: Implementation, cost: Cost, *, metered: bool = False) -> Evaluator:
    count = cost.count

    def run(frame: Meter) -> Value:
        value: Value
        try:
            value = argument(frame)
        except EvaluationError as error:
            spend(frame, 1 if count is None else count((error,), error))
            raise
        try:
            result = call(frame, value) if metered else call(value)
        except EvaluationError as error:
            spend(frame, 1 if count is None else count((value,), error))
            raise
        if count is None:
            left = frame[0] = frame[0] - 1
            if left < 0:
                spend(frame, 0)
        else:
            spend(frame, count((value,), result))
        return result

    return run


def call_pair(
    first: Evaluator, second: Evaluator, call: Implementation, cost: Cost, *, metered: bool = False
) -> Evaluator:
    count = cost.count

    def failed(frame: Meter, left: Value, right: Value, error: EvaluationError) -> None:
        spend(frame, 1 if count is None else count((left, right), error))

    def run(frame: Meter) -> Value:
        left: Value
        right: Value
        try:
            left = first(frame)
        except EvaluationError as error:
            try:
                right = second(frame)
            except EvaluationError as other:
                right = other
            failed(frame, error, right, error)
            raise
        try:
            right = second(frame)
        except EvaluationError as error:
            failed(frame, left, error, error)
            raise
        try:
            result = call(frame, left, right) if metered else call(left, right)
        except EvaluationError as error:
            failed(frame, left, right, error)
            raise
        if count is None:
            budget = frame[0] = frame[0] - 1
            if budget < 0:
                spend(frame, 0)
        else:
            spend(frame, count((left, right), result))
        return result

    return run


def call_each(arguments: list[Evaluator], call: Implementation, cost: Cost, *, metered: bool = False) -> Evaluator:
    count = cost.count
    last = len(arguments) - 1

    def run(frame: Meter) -> Value:
        values: list[Value] = []
        for position, argument in enumerate(arguments):
            try:
                values.append(argument(frame))
            except EvaluationError as error:
                if position == last:
                    spend(frame, 1 if count is None else count((*values, error), error))
                raise
        try:
            result = call(frame, *values) if metered else call(*values)
        except EvaluationError as error:
            spend(frame, 1 if count is None else count(values, error))
            raise
        spend(frame, 1 if count is None else count(values, result))
        return result

    return run
