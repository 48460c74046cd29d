"""The cost model: ranges of sizes and costs, costs of calls, and the meter of an evaluation.

A cost is a number of units, about 50 ns of a compiled implementation each. Names and selections cost 1, constants
nothing, a list literal 10, a map literal 30, a struct literal 40. Reading a string costs 0.1 per code point, and a
regular expression 0.25 per code point of the pattern for every unit of the text. Estimates are pairs of the least and
the most; the most is at most 2**64 - 1, which stands for "unknown". Products with fractions are computed in doubles,
because others compute them so too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from orchd.cel.values import Cancelled, Opaque, Optional, Value

if TYPE_CHECKING:
    from orchd.cel.syntax import Node
    from orchd.cel.types import Type

UNBOUNDED = 2**64 - 1

SELECT = 1
LIST = 10
MAP = 30
STRUCT = 40
PER_CHARACTER = 0.1
PER_PATTERN_CHARACTER = 0.25

EXCEEDED = "operation cancelled: actual cost limit exceeded"


class Range(NamedTuple):
    """The least and the most of a size or a cost."""

    low: int
    high: int

    def plus(self, other: Range) -> Range:
        return Range(min(self.low + other.low, UNBOUNDED), min(self.high + other.high, UNBOUNDED))

    def times(self, other: Range) -> Range:
        return Range(min(self.low * other.low, UNBOUNDED), min(self.high * other.high, UNBOUNDED))

    def scaled(self, factor: float) -> Range:
        return Range(scale(self.low, factor), scale(self.high, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


def scale(number: int, factor: float) -> int:
    """Return a number times a factor, rounded up."""
    product = float(number) * factor
    if product >= 2.0**64:
        return UNBOUNDED
    return math.ceil(product)


def fixed(number: int) -> Range:
    return Range(number, number)


UNKNOWN = Range(0, UNBOUNDED)
ZERO = fixed(0)
UNIT = fixed(1)


class Sized(Protocol):
    """An argument of a call under estimation."""

    node: Node | None
    type: Type
    #: Known from the expression; None where only the declared type may know it.
    computed: Range | None

    @property
    def size(self) -> Range:
        """The size, `UNKNOWN` at worst."""

    def element(self) -> Sized | None:
        """The elements, for a list."""


class Estimate(NamedTuple):
    """Estimated cost of a call without its arguments, and the size of its result if that is known."""

    cost: Range
    size: Range | None = None


Estimator = Callable[["Sized | None", Sequence["Sized"]], "Estimate | None"]
Counter = Callable[[Sequence[Value], Value], int]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one overload.

    ``estimate`` gets the target, if there is one, and the arguments; None for it, or from it, means 1. ``count`` gets
    all arguments, target first, and the result. ``by_name`` costs hold for a function by name, whichever overload was
    meant.
    """

    estimate: Estimator | None = None
    count: Counter | None = None
    by_name: bool = False


ONE = Cost()
#: 1 even where equality or something else would say more.
FLAT = Cost(lambda target, args: Estimate(UNIT), lambda args, result: 1, True)


def size_of(value: Value) -> int:
    """Return the size of a value for costs: code points, bytes, elements or entries; 1 for everything else."""
    kind = value.__class__
    if kind is str or kind is bytes:
        return len(value)
    if kind is int or kind is bool or kind is float or value is None:
        return 1
    if isinstance(value, Opaque):
        return value.size()
    return len(value) if hasattr(kind, "__len__") else 1


def inner_size_of(value: Value) -> int:
    """Like `size_of`; for an optional value, the size of the value that it has."""
    while value.__class__ is Optional and value.present:
        value = value.value
    return size_of(value)


def reading(index: int, factor: float = PER_CHARACTER, *, sized: bool = False, by_name: bool = True) -> Cost:
    """The cost of reading one argument, counted with the target; with ``sized`` the result is as large."""

    def estimate(target: Sized | None, args: Sequence[Sized]) -> Estimate:
        size = (args if target is None else [target, *args])[index].size
        return Estimate(size.scaled(factor), size if sized else None)

    def count(args: Sequence[Value], result: Value) -> int:
        return math.ceil(size_of(args[index]) * factor)

    return Cost(estimate, count, by_name)


class Meter(list[Value]):
    """The state of one evaluation: a list, because nothing is faster.

    ``[0]`` is what is left of the budget, ``[1]`` what is left of the work that no cost shows (comparing what is
    nested, making large strings), ``[2]`` says whether anybody still waits for the result; variables come behind.
    """

    __slots__ = ()

    def work(self, units: int) -> None:
        """Count work that the cost model does not see: elements that are looked at. Raises `Cancelled`."""
        self[1] -= units
        if self[1] < 0:
            raise Cancelled(EXCEEDED)

    def write(self, characters: int) -> None:
        """Count characters of a text before it is made. Raises `Cancelled`."""
        self.work(characters >> 4)


#: Places of a `Meter` before its first variable.
FIRST_SLOT = 3
#: Units of work per unit of the budget.
WORK = 1
#: Work that every evaluation may do, so that it ends because of its cost wherever that shows.
LEAST_WORK = 10_000
