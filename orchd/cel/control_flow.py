"""Closures of expressions that may leave operands unevaluated (logic, conditions, optional alternatives), of
comprehensions, and of literals of lists and maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from orchd.cel.attributes import Evaluator, passed_on
from orchd.cel.calls import overdrawn, priced, spend
from orchd.cel.costs import LIST, MAP, Meter
from orchd.cel.operators import MISSING, find_key, is_list, is_map
from orchd.cel.printed import printed
from orchd.cel.syntax import Call, Comprehension, ListLiteral, MapLiteral
from orchd.cel.values import (
    Breakdown,
    Cancelled,
    EvaluationError,
    Map,
    Opaque,
    Optional,
    Uint,
    Value,
    class_name,
    map_key,
    no_overload,
)

if TYPE_CHECKING:
    from orchd.cel.program import _Planner

#: Turns of a loop between two looks at whether anybody still waits.
INTERRUPTION = 100


def failing(message: str) -> Evaluator:
    """An expression that always is an error."""

    def run(frame: Meter) -> Value:
        raise EvaluationError(message)

    return run


def lazy_variable(slot: int, start: Evaluator) -> Evaluator:
    """Read a variable that is computed when it is first needed; an error stays its value."""

    def run(frame: Meter) -> Value:
        value = frame[slot]
        if value is MISSING:
            try:
                value = start(frame)
            except EvaluationError as error:
                value = error
            frame[slot] = value
        if value.__class__ is EvaluationError:
            raise value
        return passed_on(value)

    return run


# Logic.


def conjunction(terms: list[Evaluator]) -> Evaluator:
    """False if one term is false; otherwise the first error, if there is one; otherwise true."""
    return _logic(terms, decisive=False)


def disjunction(terms: list[Evaluator]) -> Evaluator:
    """True if one term is true; otherwise the first error, if there is one; otherwise false."""
    return _logic(terms, decisive=True)


def _logic(terms: list[Evaluator], *, decisive: bool) -> Evaluator:
    neutral = not decisive
    first, second = terms

    def run(frame: Meter) -> Value:
        failure: EvaluationError | None = None
        try:
            value = first(frame)
            if value is decisive:
                return decisive
            if value is not neutral:
                failure = no_overload()
        except EvaluationError as error:
            failure = error
        try:
            value = second(frame)
            if value is decisive:
                return decisive
            if value is not neutral and failure is None:
                failure = no_overload()
        except EvaluationError as error:
            failure = failure or error
        if failure is not None:
            raise failure
        return neutral

    return run


def not_strictly_false(argument: Evaluator) -> Evaluator:
    def run(frame: Meter) -> bool:
        try:
            value = argument(frame)
        except EvaluationError:
            value = True
        spend(frame, 1)
        return value is not False

    return run


def membership(argument: Evaluator, members: frozenset[Any]) -> Evaluator:
    """Search a constant list, for nothing."""

    def run(frame: Meter) -> bool:
        value = argument(frame)
        check_hashable(value)
        return map_key(value) in members

    return run


def alternative(first: Evaluator, second: Evaluator, *, unwrap: bool) -> Evaluator:
    """The first optional value if it is present, otherwise the second value; with ``unwrap`` the content of the
    first."""

    def run(frame: Meter) -> Value:
        value = first(frame)
        if value.__class__ is not Optional:
            return value
        if value.present:
            if unwrap and value.value.__class__ is EvaluationError:
                raise value.value
            return value.value if unwrap else value
        return second(frame)

    return run


# Literals.


def list_maker(closures: list[Evaluator], optional: frozenset[int]) -> Evaluator:
    def run(frame: Meter) -> list[Value]:
        if not optional:
            return [closure(frame) for closure in closures]
        values: list[Value] = []
        for index, closure in enumerate(closures):
            value = closure(frame)
            if index in optional:
                if value.__class__ is not Optional:
                    text = f"cannot initialize optional list element from non-optional value {printed(value)}"
                    raise EvaluationError(text)
                if not value.present:
                    continue
                value = value.value
            values.append(value)
        return values

    return priced(run, LIST)


def map_maker(rows: list[tuple[Evaluator, Evaluator, bool]], *, exact: bool) -> Evaluator:
    def run(frame: Meter) -> Value:
        result = Map()
        for key, value, optional in rows:
            made_key = key(frame)
            made_value = value(frame)
            if not exact:
                check_hashable(made_key)
            if optional:
                if made_value.__class__ is not Optional:
                    raise EvaluationError(
                        f"cannot initialize optional entry '{printed(made_key)}' from non-optional value"
                        f" {printed(made_value)}"
                    )
                if not made_value.present:
                    result.remove(made_key)
                    continue
                made_value = made_value.value
            if exact:
                _check_new(made_key, result)
            result.put(made_key, made_value)
        return result

    return priced(run, MAP)


def _check_new(key: Value, entries: Map) -> None:
    if key.__class__ not in _KEYS:
        raise EvaluationError("unsupported key type")
    if entries.find(key) is not None:
        raise EvaluationError("Failed with repeated key")


def check_hashable(value: Value) -> None:
    """Raise `Breakdown` for a value with which the reference breaks down when it is the key of a map literal, or is
    looked for in a constant list.
    """
    if value.__class__ not in _KEYS and class_name(value) in _UNHASHABLE:
        raise Breakdown(f"internal error: runtime error: hash of unhashable type {class_name(value)}")


_UNHASHABLE = frozenset(["types.Bytes", "cel.Semver", "cel.Format"])
#: Classes of keys of maps.
_KEYS = frozenset([str, int, bool, Uint])


# Comprehensions.


def plan(node: Comprehension, planner: _Planner) -> Evaluator:
    """Plan a comprehension; those of the usual macros get closures of their own."""
    over = planner.closure(node.over)
    if node.hint == "bind":
        return _bind(node, planner)
    scope = planner.scope
    start = planner.closure(node.start)
    if isinstance(node.start, MapLiteral) and not node.start.entries:
        start = _own_map(start)
    accumulator = scope.push(node.accumulator)
    scope.starts[accumulator] = start
    loop = _Loop(over, scope.push(node.variable), -1 if node.variable2 is None else scope.push(node.variable2))
    run: Callable[[Meter], Value]
    match node.hint, node.step:
        case (("all" | "exists"), Call(args=[_, predicate])):
            run = _quantifier(loop, planner.closure(predicate), decisive=node.hint == "exists")
        case "map", Call(function="_+_", args=[_, ListLiteral(elements=[element])]):
            run = _transform(loop, None, *planner.element(element))
        case "map", Call(args=[predicate, Call(args=[_, ListLiteral(elements=[element])]), _]):
            run = _transform(loop, planner.closure(predicate), *planner.element(element))
        case _:
            run = _fold(loop, accumulator, planner.closure(node.condition), planner.closure(node.step))
    scope.pop(node.variable)
    if node.variable2 is not None:
        scope.pop(node.variable2)
    if run.__name__ == "fold":
        result = planner.closure(node.result)
        fold = run

        def run(frame: Meter) -> Value:
            fold(frame)
            return result(frame)

    scope.pop(node.accumulator)
    return run


def _own_map(start: Evaluator) -> Evaluator:
    """An empty map of each evaluation, since steps insert into it; the one that `start` returns may be a constant."""

    def run(frame: Meter) -> Value:
        start(frame)
        return Map()

    return run


def _bind(node: Comprehension, planner: _Planner) -> Evaluator:
    """A variable for one expression: computed when it is first needed, once."""
    start = planner.closure(node.start)
    slot = planner.scope.push(node.accumulator)
    planner.scope.starts[slot] = start
    # The step is the variable itself: it is planned for its errors only.
    planner.closure(node.step)
    result = planner.closure(node.result)
    planner.scope.pop(node.accumulator)

    def run(frame: Meter) -> Value:
        frame[slot] = MISSING
        return result(frame)

    return run


class _Loop:
    """The range of a comprehension, and the slots of its variables."""

    __slots__ = ("first", "over", "second")

    def __init__(self, over: Evaluator, first: int, second: int) -> None:
        self.over = over
        self.first = first
        self.second = second

    def turns(self, frame: Meter) -> Iterable[Value]:
        """Yield what the first variable is in each turn, having set the second."""
        values = self.over(frame)
        interrupted: Callable[[], bool] | None = frame[2]
        if self.second < 0:
            if not (is_list(values) or is_map(values) or (isinstance(values, Opaque) and isinstance(values, Iterable))):
                raise EvaluationError(f"got '{class_name(values)}', expected iterable type")
            turns: Iterable[Value] = values
        else:
            turns = self._pairs(frame, values)
        return turns if interrupted is None else _watched(turns, interrupted)

    def _pairs(self, frame: Meter, values: Value) -> Iterator[Value]:
        second = self.second
        if is_map(values):
            for key in values:
                frame[second] = find_key(values, key)
                yield key
        elif is_list(values):
            for index, value in enumerate(values):
                frame[second] = value
                yield index
        else:
            raise EvaluationError(f"unsupported comprehension range type: {class_name(values)}")


def _watched(turns: Iterable[Value], interrupted: Callable[[], bool]) -> Iterator[Value]:
    left = INTERRUPTION
    for turn in turns:
        left -= 1
        if not left:
            left = INTERRUPTION
            if interrupted():
                raise Cancelled("operation interrupted")
        yield turn


def _quantifier(loop: _Loop, predicate: Evaluator, *, decisive: bool) -> Evaluator:
    """``exists`` (decided by true) and ``all`` (decided by false), which absorb errors when they are decided."""
    neutral = not decisive
    # The condition reads the accumulator, and ``exists`` negates it; then the step reads it.
    condition = 3 if decisive else 2
    each = condition + 1
    first = loop.first

    def run(frame: Meter) -> Value:
        failure: EvaluationError | None = None
        turns = iter(loop.turns(frame))
        for value in turns:
            frame[first] = value
            left = frame[0] = frame[0] - each
            if left < 0:
                overdrawn(frame)
            try:
                verdict = predicate(frame)
            except EvaluationError as error:
                failure = failure or error
                continue
            if verdict is decisive:
                if next(turns, MISSING) is not MISSING:
                    left = frame[0] = frame[0] - condition
                    if left < 0:
                        overdrawn(frame)
                spend(frame, 1)
                return decisive
            if verdict is not neutral:
                failure = failure or no_overload()
        spend(frame, 1)
        if failure is not None:
            raise failure
        return neutral

    return run


def _transform(loop: _Loop, predicate: Evaluator | None, element: Evaluator, price: int) -> Evaluator:
    """``map`` and ``filter``. An error makes the result an error, but the loop goes on."""
    first = loop.first

    def run(frame: Meter) -> list[Value]:
        failure: EvaluationError | None = None
        elements: list[Value] = []
        for value in loop.turns(frame):
            frame[first] = value
            if predicate is not None:
                try:
                    chosen = predicate(frame)
                    if chosen is False:
                        continue
                    if chosen is not True:
                        raise no_overload()
                except EvaluationError as error:
                    failure = error
                    continue
            left = frame[0] = frame[0] - 1
            if left < 0:
                overdrawn(frame)
            try:
                elements.append(element(frame))
            except EvaluationError as error:
                failure = failure or error
            spend(frame, price)
            spend(frame, 1)
        spend(frame, 1)
        if failure is not None:
            raise failure
        return elements

    return run


def _fold(loop: _Loop, slot: int, condition: Evaluator, step: Evaluator) -> Evaluator:
    """The general comprehension. An error of a step stays in the accumulator, and the loop goes on."""
    first = loop.first

    def fold(frame: Meter) -> None:
        turns = loop.turns(frame)
        frame[slot] = MISSING
        for value in turns:
            frame[first] = value
            try:
                if condition(frame) is False:
                    break
            except EvaluationError:
                pass
            try:
                frame[slot] = step(frame)
            except EvaluationError as error:
                frame[slot] = error

    return fold


def block(node: Call, planner: _Planner) -> Evaluator:
    """``cel.@block``: expressions with numbers, each computed when it is first needed."""
    slots = node.args[0]
    assert isinstance(slots, ListLiteral)
    places = []
    for index, element in enumerate(slots.elements):
        start = planner.closure(element)
        slot = planner.scope.push(f"@index{index}")
        planner.scope.starts[slot] = start
        places.append(slot)
    result = planner.closure(node.args[1])
    for index in range(len(slots.elements)):
        planner.scope.pop(f"@index{index}")

    def run(frame: Meter) -> Value:
        for slot in places:
            frame[slot] = MISSING
        return result(frame)

    return run
