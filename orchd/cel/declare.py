"""Declarations: functions with their overloads, macros, and libraries, which are tables of both.

A library is a value of `Library`; adding a function is adding a row to its table:

    function("size", overload("size_string", [STRING], INT, len))

A row says everything about one overload: its identifier, the types of its arguments and of its result, what it does,
and what it costs (estimated from the sizes of types, and counted when it has run).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from orchd.cel.building import Expander
from orchd.cel.costs import ONE, Cost
from orchd.cel.types import Type
from orchd.cel.values import Value

#: Does what an overload does: values of arguments to the value of the result. Raises `EvaluationError`.
Implementation = Callable[..., Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """One way to call a function.

    ``metered`` implementations get the `costs.Meter` of the evaluation first, because their result may be much larger
    than their arguments. ``sequential`` ones stop at the first argument that is an error, at no cost. ``guarded`` ones
    are only called with values of the declared types.
    """

    id: str
    parameters: tuple[Type, ...]
    result: Type
    call: Implementation | None = None
    member: bool = False
    metered: bool = False
    sequential: bool = False
    guarded: bool = True
    cost: Cost = ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A name and its overloads, in the order in which they are tried.

    ``call`` is set where one implementation serves all overloads; it checks the types itself.
    """

    name: str
    overloads: tuple[Overload, ...]
    call: Implementation | None = None

    def merged(self, other: Function) -> Function:
        """Return this function with the overloads of another of the same name behind its own."""
        identifiers = {overload.id for overload in self.overloads}
        more = tuple(overload for overload in other.overloads if overload.id not in identifiers)
        return Function(name=self.name, overloads=self.overloads + more, call=self.call or other.call)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Library:
    """A named set of functions, macros and types. Two libraries are never equal."""

    name: str
    functions: tuple[Function, ...] = ()
    #: (name, number of arguments or -1 for any, with a target) -> expander
    macros: Mapping[tuple[str, int, bool], Expander] = field(default_factory=dict)
    #: Types that expressions may name.
    types: tuple[Type, ...] = ()


def function(name: str, *overloads: Overload, call: Implementation | None = None) -> Function:
    """A row of a library's table."""
    return Function(name=name, overloads=overloads, call=call)


def overload(
    identifier: str,
    parameters: Sequence[Type],
    result: Type,
    call: Implementation | None = None,
    *,
    cost: Cost = ONE,
    metered: bool = False,
) -> Overload:
    """A way to call ``function(a, b)``."""
    return Overload(id=identifier, parameters=tuple(parameters), result=result, call=call, cost=cost, metered=metered)


def member(
    identifier: str,
    parameters: Sequence[Type],
    result: Type,
    call: Implementation | None = None,
    *,
    cost: Cost = ONE,
    metered: bool = False,
) -> Overload:
    """A way to call ``a.function(b)``; the first parameter is the target."""
    return Overload(
        id=identifier, parameters=tuple(parameters), result=result, call=call, member=True, cost=cost, metered=metered
    )
