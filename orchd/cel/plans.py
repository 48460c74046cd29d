"""Helpers of the planner: places of variables, and constant lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchd.cel.values import Uint, Value, map_key, same_numbers

if TYPE_CHECKING:
    from orchd.cel.attributes import Evaluator

#: Types of elements that a constant list may have to be searched at once.
CONSTANT_LIST_TYPES = frozenset([bool, float, int, str, Uint])


class Constant:
    """A part of an expression whose value is known."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class Scope:
    """Gives every variable a place of its own in the state of an evaluation."""

    def __init__(self, first: int) -> None:
        self._next = first
        self._first = first
        self.globals: dict[str, int] = {}
        self._locals: dict[str, list[int]] = {}
        #: Places of variables that are computed when they are first needed.
        self.starts: dict[int, Evaluator] = {}

    @property
    def size(self) -> int:
        return self._next - self._first

    def reserve(self) -> int:
        self._next += 1
        return self._next - 1

    def push(self, name: str) -> int:
        """Declare a variable of a comprehension and return its place."""
        slot = self.reserve()
        self._locals.setdefault(name, []).append(slot)
        return slot

    def pop(self, name: str) -> None:
        self._locals[name].pop()

    def slot(self, name: str, *, local: bool) -> int:
        if local:
            return self._locals[name][-1]
        if name not in self.globals:
            self.globals[name] = self.reserve()
        return self.globals[name]


def constant_members(values: Value) -> frozenset[Any] | None:
    """Return the keys (`map_key`) of all values that are in a constant list, None if it must be searched."""
    members = set()
    for value in values:
        if value.__class__ not in CONSTANT_LIST_TYPES:
            return None
        members.add(map_key(value))
        members.update(map_key(number) for number in same_numbers(value))
        if value.__class__ is int:
            members.add(map_key(float(value)))
        elif value.__class__ is Uint:
            members.add(map_key(float(value.value)))
    return frozenset(members)
