"""Unification: which types fit together, and what type parameters stand for then.

A `Bindings` maps type parameters to types. An attempt that fails leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchd.cel import types
from orchd.cel.types import DYN, Type, list_of, map_of, type_of_type

_BY_VALUE = frozenset("bool bytes double int string uint any duration timestamp struct".split())


class Bindings:
    """Types bound to type parameters."""

    __slots__ = ("_counter", "_trail", "bound")

    def __init__(self) -> None:
        self.bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []
        self._counter = 0

    def fresh(self) -> Type:
        """Return a new type parameter."""
        self._counter += 1
        return types.parameter(f"_var{self._counter - 1}")

    def assignable(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        """Bind parameters so that each type fits its counterpart; say whether that is possible."""
        mark = len(self._trail)
        if len(first) == len(second) and all(map(self._fits, first, second)):
            return True
        while len(self._trail) > mark:
            parameter, before = self._trail.pop()
            if before is None:
                del self.bound[parameter]
            else:
                self.bound[parameter] = before
        return False

    def resolve(self, type_: Type, *, to_dyn: bool = False) -> Type:
        """Return a type with parameters replaced by what they stand for; free ones by dyn if asked."""
        while type_.kind == "param":
            bound = self.bound.get(type_)
            if bound is None:
                return DYN if to_dyn else type_
            type_ = bound
        if not type_.generic:
            return type_
        parameters = tuple(self.resolve(parameter, to_dyn=to_dyn) for parameter in type_.parameters)
        if parameters == type_.parameters:
            return type_
        match type_.kind:
            case "list":
                return list_of(parameters[0])
            case "map":
                return map_of(*parameters)
            case "type":
                return type_of_type(parameters[0])
        return Type(type_.kind, type_.name, parameters)

    def _bind(self, parameter: Type, type_: Type) -> None:
        self._trail.append((parameter, self.bound.get(parameter)))
        self.bound[parameter] = type_

    def _fits(self, first: Type, second: Type) -> bool:
        if second.kind == "param":
            valid, bound = self._substitutes(first, second)
            if valid or bound:
                return valid
        if first.kind == "param":
            return self._substitutes(second, first)[0]
        if first.kind in ("dyn", "any", "error") or second.kind in ("dyn", "any", "error"):
            return True
        if first.kind == "null":
            return second.takes_null or second.kind == "null"
        if second.kind == "null":
            return first.takes_null
        if first.kind in _BY_VALUE:
            return second.accepts(first)
        if first.kind == "type":
            return second.kind == "type"
        return (
            first.kind == second.kind
            and first.name == second.name
            and len(first.parameters) == len(second.parameters)
            and all(map(self._fits, first.parameters, second.parameters))
        )

    def _substitutes(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Say whether a parameter may stand for a type, and whether it already stands for something."""
        if type_ == parameter:
            return True, True
        bound = self.bound.get(parameter)
        if bound is not None:
            if type_ == bound:
                return True, True
            if self._fits(type_, bound):
                general = more_general(type_, bound)
                if not self._occurs(parameter, general):
                    self._bind(parameter, general)
                return True, True
            return False, True
        if not self._occurs(parameter, type_):
            self._bind(parameter, type_)
            return True, False
        return False, False

    def _occurs(self, parameter: Type, within: Type) -> bool:
        if parameter == within:
            return True
        if not within.generic:
            return False
        if within.kind == "param":
            bound = self.bound.get(within)
            return bound is not None and self._occurs(parameter, bound)
        return any(self._occurs(parameter, part) for part in within.parameters)


def more_general(first: Type, second: Type) -> Type:
    """Return the less specific of two types that fit together."""
    return first if _covers(first, second) else second


def _covers(first: Type, second: Type) -> bool:
    if first.is_dyn or first.kind == "param":
        return True
    if second.is_dyn or second.kind == "param" or first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    if first.kind in ("opaque", "list", "map"):
        return (
            first.name == second.name
            and len(first.parameters) == len(second.parameters)
            and all(map(_covers, first.parameters, second.parameters))
        )
    return first == second
