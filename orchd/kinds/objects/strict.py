"""Strict decoding: reports unknown and duplicate members of bodies.

By default, unknown members are dropped (`shape.canonical`) and the last of duplicate members is used. With
``fieldValidation``, a request has them reported as in release 1.23: for built-in kinds by the name of the member, for patched
objects and custom kinds by its path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from orchd.kinds.ir import Type
from orchd.kinds.objects import shape

#: Maximum number of problems reported for one body.
MAX_PROBLEMS: Final = 100

_OBJECT_NAMES: Final = frozenset(("apiVersion", "kind", "metadata"))
_KIND_NAMES: Final = frozenset(("apiVersion", "kind"))

#: Parts of a value still to be visited, in order.
_Parts: TypeAlias = Iterator[tuple[Any, Type]]
#: The same, each with its path.
_Places: TypeAlias = Iterator[tuple[Any, Type, str]]


class Members(list[tuple[str, Any]]):
    """A decoded JSON object with all members in order, including duplicates."""


class Problems:
    """Distinct messages in order, up to `MAX_PROBLEMS`."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def add(self, text: str) -> None:
        if len(self._texts) < MAX_PROBLEMS:
            self._texts.setdefault(text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """Members in reporting order: that of the text, or alphabetic for values from YAML or a patch."""
    return value if isinstance(value, Members) else [(key, value[key]) for key in sorted(value)]


def duplicates(value: Any) -> list[str]:
    """``duplicate field "x"`` for duplicate members at any level of a value with `Members`."""
    problems = Problems()
    stack: list[Iterator[Any]] = [iter((value,))]
    while stack:
        for item in stack[-1]:
            if isinstance(item, Members):
                stack.append(_noted(item, problems))
                break
            if isinstance(item, list):
                stack.append(iter(item))
                break
        else:
            stack.pop()
    return list(problems)


def _noted(members: Members, problems: Problems) -> Iterator[Any]:
    """The values of an object. Duplicates are reported in order."""
    seen: set[str] = set()
    for key, item in members:
        if key in seen:
            problems.add(f'duplicate field "{key}"')
        seen.add(key)
        yield item


def names(value: Any, type: Type) -> list[str]:
    """``unknown field "x"`` and ``duplicate field "x"`` for a body of a built-in kind, in the order of the text."""
    problems = Problems()
    stack: list[_Parts] = [iter(((value, type),))]
    while stack:
        for item, its in stack[-1]:
            if isinstance(item, dict | list):
                stack.append(_parts(item, its, problems))
                break
        else:
            stack.pop()
    return list(problems)


def _parts(value: Any, type: Type, problems: Problems) -> _Parts:
    kind = type.kind
    objects = isinstance(value, dict | Members)
    if kind == "struct" and objects and not shape.is_union(type):
        fields, known = type.fields, _KIND_NAMES if shape.is_kind(type) else ()
        seen: set[str] = set()
        for key, item in _members(value):
            field = fields.get(key)
            if field is None and key not in known:
                problems.add(f'unknown field "{key}"')
                continue
            if key in seen:
                problems.add(f'duplicate field "{key}"')
            seen.add(key)
            if field is not None:
                yield item, field.type
    elif kind == "map" and objects:
        seen = set()
        for key, item in _members(value):
            if key in seen:
                problems.add(f'duplicate field "{key}"')
            seen.add(key)
            yield item, type.element
    elif kind == "list" and not objects:
        for item in value:
            yield item, type.element


def paths(value: Any, type: Type) -> list[str]:
    """``unknown field "spec.x"`` for pruned members of a custom object, or unknown members of the result of a strategic merge
    patch; sorted."""
    found: list[str] = []
    below = _pruned if shape.is_custom(type) else _left_over
    stack = [below(value, type, "", found)]
    while stack:
        for item, its, path in stack[-1]:
            if isinstance(item, dict | list):
                stack.append(below(item, its, path, found))
                break
        else:
            stack.pop()
    return [f'unknown field "{path}"' for path in sorted(found)]


def _pruned(value: Any, type: Type, path: str, found: list[str]) -> _Places:
    """Parts of a value of a custom kind. Unknown members are reported."""
    kind = type.kind
    if isinstance(value, list):
        if kind in ("list", "any"):
            for index, item in enumerate(value):
                yield item, type.element if kind == "list" else type, f"{path}[{index}]"
        return
    known = _OBJECT_NAMES if type.embedded_resource or not path else ()
    fields = type.fields if kind == "struct" else {}
    for key, item in value.items():
        here = f"{path}.{key}" if path else key
        field = fields.get(key)
        if key in known:
            continue
        if kind == "map":
            yield item, type.element, here
        elif field is not None:
            yield item, field.type, here
        elif not type.preserve_unknown:
            found.append(here)


def _left_over(value: Any, type: Type, path: str, found: list[str]) -> _Places:
    """Like `_pruned` for a built-in kind, where map keys are not part of paths."""
    kind = type.kind
    if isinstance(value, list):
        if kind == "list":
            for index, item in enumerate(value):
                yield item, type.element, f"{path}[{index}]"
    elif kind == "map":
        for item in value.values():
            yield item, type.element, path
    elif kind == "struct" and not shape.is_union(type):
        known = _KIND_NAMES if shape.is_kind(type) else ()
        for key, item in value.items():
            here = f"{path}.{key}" if path else key
            field = type.fields.get(key)
            if field is not None:
                yield item, field.type, here
            elif key not in known:
                found.append(here)
