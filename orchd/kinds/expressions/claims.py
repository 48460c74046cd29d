"""Claims of a token, and the user made of them, as expressions see them.

Numbers of claims are doubles. Names of members may be escaped like those of fields (``foo__dot__bar``) wherever they
are selected, but not in what a comprehension goes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchd.cel.costs import Meter
from orchd.cel.names import unescape
from orchd.cel.operators import MISSING, ListView, MapView, equal_values
from orchd.cel.types import Type
from orchd.cel.values import EvaluationError, Opaque, Value, concatenate, no_overload


class Members(Opaque):
    """A value with members that are converted when they are selected. A comprehension goes through their values; it has
    no size and is equal to itself only."""

    __slots__ = ("_converted", "_data", "cel_type")

    def __init__(self, data: Mapping[str, Any], cel_type: Type) -> None:
        self._data = data
        self._converted: dict[str, Value] = {}
        self.cel_type = cel_type

    def __iter__(self) -> Iterator[Value]:
        return map(self._member, self._data)

    def size(self) -> int:
        return len(self._data)

    def field(self, key: Value) -> Value:
        """The value of a member, `MISSING` without one; an EvaluationError if it cannot be converted."""
        if key.__class__ is not str:
            raise no_overload()
        name = unescape(key)
        return self._member(name) if name is not None and name in self._data else MISSING

    def equals(self, other: Value, meter: Meter) -> bool:
        if not isinstance(other, Members):
            raise no_overload()
        return self is other

    def _member(self, name: str) -> Value:
        if name not in self._converted:
            try:
                self._converted[name] = _view(_with_doubles(self._data[name]))
            except OverflowError as error:
                self._converted[name] = EvaluationError(f'claim "{name}" failed to unmarshal: {error}')
        return self._converted[name]


class _Map(MapView):
    __slots__ = ("_data",)
    class_name = "*oidc.unescapeMapper"

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def find(self, key: Value) -> Value:
        if key.__class__ is not str:
            return MISSING
        name = unescape(key)
        return _view(self._data.get(key if name is None else name, MISSING))

    def contains(self, key: Value) -> bool:
        return key.__class__ is str and key in self._data

    def equals(self, other: Value, meter: Meter) -> bool:
        return equal_values(self._data, other, meter)


class _List(ListView):
    __slots__ = ("_data",)
    class_name = "*oidc.unescapeLister"

    def __init__(self, data: list[Any]) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._data)

    def item(self, index: int) -> Value:
        return _view(self._data[index])

    def add(self, other: Value) -> Value:
        return concatenate(self._data, other)

    def contains(self, value: Value, meter: Meter) -> bool:
        return any(equal_values(value, element, meter) for element in self._data)

    def equals(self, other: Value, meter: Meter) -> bool:
        return equal_values(self._data, other, meter)


def _view(value: Any) -> Value:
    if value.__class__ is dict:
        return _Map(value)
    return _List(value) if value.__class__ is list else value


def _with_doubles(value: Any) -> Any:
    """The same data with doubles for integers. Raises OverflowError for an integer that is none."""
    kind = value.__class__
    if kind is int:
        return float(value)
    if kind is dict:
        return {name: _with_doubles(member) for name, member in value.items()}
    return [_with_doubles(element) for element in value] if kind is list else value
