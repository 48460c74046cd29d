"""Strict decoding: reports unknown and duplicate members of bodies.

By default, unknown members are dropped (`shape.canonical`) and the last of duplicate members is used. With
``fieldValidation``, a request has them reported. Release 1.23 names the members of built-in kinds, and gives paths for
patched objects and custom kinds; later releases give paths everywhere (`located`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any, Final, TypeAlias

from orchd.kinds.ir import Type
from orchd.kinds.objects import shape

#: Maximum number of problems reported for one body.
MAX_PROBLEMS: Final = 100

_OBJECT_NAMES: Final = frozenset(("apiVersion", "kind", "metadata"))
_KIND_NAMES: Final = frozenset(("apiVersion", "kind"))

#: Parts of a value still to be visited, in order, each with its path.
_Places: TypeAlias = Iterator[tuple[Any, Type, str]]
#: The parts of a value, its type and path; adds the paths of unknown members.
_Visit: TypeAlias = Callable[[Any, Type, str, list[str]], _Places]


class Members(list[tuple[str, Any]]):
    """A decoded JSON object with all members in order, including duplicates."""


def merged(value: Any) -> Any:
    """A value with `Members` as it is decoded to a built-in kind: repeated objects are merged, of others the last is
    used."""
    if isinstance(value, Members):
        out: dict[str, Any] = {}
        for key, item in value:
            out[key] = _merged_pair(out.get(key), merged(item))
        return out
    return [merged(item) for item in value] if isinstance(value, list) else value


def _merged_pair(first: Any, second: Any) -> Any:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second
    return {**first, **{key: _merged_pair(first.get(key), item) for key, item in second.items()}}


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


def join_path(path: str, name: str) -> str:
    """The path of a member of the object at `path`."""
    return f"{path}.{name}" if path else name


def duplicates(value: Any, *, located: bool = False, at: str = "") -> list[str]:
    """``duplicate field "x"`` for duplicate members at any level of a value with `Members`; `located`: with their
    paths, which begin with `at`."""
    problems = Problems()
    stack: list[Iterator[tuple[Any, str]]] = [iter(((value, at),))]
    while stack:
        for item, path in stack[-1]:
            if isinstance(item, Members):
                stack.append(_visit_members(item, path, problems, located=located))
                break
            if isinstance(item, list):
                stack.append(_items(item, path))
                break
        else:
            stack.pop()
    return list(problems)


def _items(items: list[Any], path: str) -> Iterator[tuple[Any, str]]:
    return ((each, f"{path}[{index}]") for index, each in enumerate(items))


def _visit_members(members: Members, path: str, problems: Problems, *, located: bool) -> Iterator[tuple[Any, str]]:
    """The values of an object. Duplicates are reported in order."""
    seen: set[str] = set()
    for key, item in members:
        here = join_path(path, key)
        if key in seen:
            problems.add(f'duplicate field "{here if located else key}"')
        seen.add(key)
        yield item, here


def names(value: Any, type: Type, *, located: bool = False, at: str = "") -> list[str]:
    """``unknown field "x"`` and ``duplicate field "x"`` for a body of a built-in kind, in the order of the text;
    `located`: with their paths, which begin with `at`, as releases after 1.24 report them."""
    problems = Problems()
    stack: list[_Places] = [iter(((value, type, at),))]
    while stack:
        for item, its, path in stack[-1]:
            if isinstance(item, dict | list):
                stack.append(_parts(item, its, path, problems, located=located))
                break
        else:
            stack.pop()
    return list(problems)


def _parts(value: Any, type: Type, path: str, problems: Problems, *, located: bool) -> _Places:
    kind = type.kind
    objects = isinstance(value, dict | Members)
    is_struct = kind == "struct" and not shape.is_union(type)
    if objects and (is_struct or kind == "map"):
        fields, own_names = type.fields if is_struct else {}, _KIND_NAMES if is_struct and shape.is_kind(type) else ()
        seen: set[str] = set()
        for key, item in _members(value):
            here = join_path(path, key) if located else key
            field = fields.get(key)
            if is_struct and field is None and key not in own_names:
                problems.add(f'unknown field "{here}"')
                continue
            if key in seen:
                problems.add(f'duplicate field "{here}"')
            seen.add(key)
            if not is_struct:
                yield item, type.element, here
            elif field is not None:
                yield item, field.type, here
    elif kind == "list" and not objects:
        for index, item in enumerate(value):
            yield item, type.element, f"{path}[{index}]" if located else ""


def paths(value: Any, type: Type, *, metadata: bool = False) -> list[str]:
    """``unknown field "spec.x"`` for pruned members of a custom object, or unknown members of the result of a strategic
    merge patch; sorted. `metadata`: also for those of the metadata of custom objects, which come first, and of objects
    embedded in them, which come last, as in releases after 1.24."""
    unknown: list[str] = []
    own: list[str] = []
    embedded: list[tuple[str, Any, Type]] = []
    below: _Visit = _left_over
    if shape.is_custom(type):
        below = partial(_visit_custom, embedded=embedded)
        field = type.fields.get("metadata")
        if metadata and field is not None:
            own = names(value.get("metadata"), field.type, located=True, at="metadata")
    stack = [below(value, type, "", unknown)]
    while stack:
        for item, its, path in stack[-1]:
            if isinstance(item, dict | list):
                stack.append(below(item, its, path, unknown))
                break
        else:
            stack.pop()
    out = own + [f'unknown field "{path}"' for path in sorted(unknown)]
    if metadata:
        for path, item, its in sorted(embedded, key=itemgetter(0)):
            out += names(item, its, located=True, at=path)
    return out


#: Where a schema specifies neither members nor items.
_NO_MEMBERS: Final = Type("any")


def _visit_custom(
    value: Any, type: Type, path: str, unknown: list[str], *, embedded: list[tuple[str, Any, Type]]
) -> _Places:
    """Parts of a value of a custom kind. Unknown members are reported; `embedded` gets the metadata of embedded
    objects."""
    kind = type.kind
    if isinstance(value, list):
        element = type.element if kind == "list" else type if kind == "any" or type.preserve_unknown else _NO_MEMBERS
        for index, item in enumerate(value):
            yield item, element, f"{path}[{index}]"
        return
    own_names = _OBJECT_NAMES if type.embedded_resource or not path else ()
    fields = type.fields if kind == "struct" else {}
    for key, item in value.items():
        here = f"{path}.{key}" if path else key
        field = fields.get(key)
        if key in own_names:
            if key == "metadata" and path and field is not None:
                embedded.append((here, item, field.type))
            continue
        if kind == "map":
            yield item, type.element, here
        elif field is not None:
            yield item, field.type, here
        elif not type.preserve_unknown:
            unknown.append(here)


def _left_over(value: Any, type: Type, path: str, unknown: list[str]) -> _Places:
    """Like `_visit_custom` for a built-in kind, where map keys are not part of paths."""
    kind = type.kind
    if isinstance(value, list):
        if kind == "list":
            for index, item in enumerate(value):
                yield item, type.element, f"{path}[{index}]"
    elif kind == "map":
        for item in value.values():
            yield item, type.element, path
    elif kind == "struct" and not shape.is_union(type):
        own_names = _KIND_NAMES if shape.is_kind(type) else ()
        for key, item in value.items():
            here = f"{path}.{key}" if path else key
            field = type.fields.get(key)
            if field is not None:
                yield item, field.type, here
            elif key not in own_names:
                unknown.append(here)
