"""JSONPath, compiled to a function from a value to the values found: columns of custom kinds, and output of the command
line.

``.a.b``, ``.a\\.b``, ``['x']``, ``['x','y']``, ``[*]``, ``.*``, ``[0]``, ``[-1]``, ``[0,2]``, ``[1:3]``, ``[::2]``,
``..name`` and filters ``[?(@.x=="y")]`` with ``== != < <= > >=`` or a path alone, which selects elements that have it.
A path may begin with ``$`` and be enclosed in ``{}``. Members of a map are visited in the order of their names. A path
that finds nothing is not an error.

`JsonPath.find` returns a value as often as the path reaches it: each ``..`` multiplies the work by the depth of the
object. `JsonPath.first` looks at each value once per step and ends when its budget of visited values is spent: columns
are evaluated in the server, for paths and objects of clients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from orchd.kinds.digits import integer

#: Values that all columns of one object may visit.
MAX_VISITED: Final = 25_000


@dataclass(slots=True)
class Visits:
    """What is left of the values that an evaluation may visit; None is no limit. With a limit each step takes a list or
    map once, however often it was found: then the first result is the same, and the work is linear."""

    left: int | None = MAX_VISITED

    def spend(self) -> bool:
        """Count one value. False if none was left."""
        if self.left is None:
            return True
        self.left -= 1
        return self.left >= 0


#: From the values found so far to those that the step finds in them.
Step = Callable[[Iterable[Any], Visits], Iterator[Any]]
#: The values that a step finds in one value.
_Members = Callable[[Any], Iterable[Any]]

_INTEGER: Final = re.compile(r"-?\d+$")
_SLICE: Final = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d*))?$")
_FILTER: Final = re.compile(r"\?\((.*)\)$", re.DOTALL)
_NAME_END: Final = re.compile(r"(?:\\.|[^.\[\]{}()\s'\"?=!<>,|])+")
_OPERATORS: Final = ("==", "!=", "<=", ">=", "<", ">")


class JsonPathError(ValueError):
    """An invalid path."""


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A compiled path."""

    text: str
    steps: tuple[Step, ...]

    def find(self, value: Any) -> list[Any]:
        """All values that the path finds in `value`, in order. Without a limit."""
        return list(self._search(value, Visits(None)))

    def first(self, value: Any, visits: Visits | None = None) -> Sequence[Any]:
        """The first value that the path finds, in a sequence of one; () without a value, and when `visits` is spent
        before one is found. Stops at the first."""
        return tuple(islice(self._search(value, visits or Visits()), 1))

    def _search(self, value: Any, visits: Visits) -> Iterator[Any]:
        values: Iterator[Any] = iter((value,))
        for step in self.steps:
            values = step(values, visits)
        return values


def compile_path(text: str) -> JsonPath:
    """Compile a path. Raises JsonPathError."""
    path = text.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1].strip()
    return JsonPath(text, tuple(_steps(path)))


def _steps(path: str) -> Iterator[Step]:
    at = 1 if path[:1] in ("$", "@") else 0
    if at == 0 and path and path[0] not in ".[":
        raise JsonPathError(f"a path begins with . or [: {path!r}")
    while at < len(path):
        if path.startswith("..", at):
            at += 2
            yield _descend
            if at < len(path) and path[at] == "[":
                continue
            name, at = _name(path, at)
            yield _member(name)
        elif path[at] == ".":
            at += 1
            if at == len(path):
                return
            if path[at] == "[":
                continue
            name, at = _name(path, at)
            yield _member(name)
        elif path[at] == "[":
            inner, at = _bracket(path, at)
            yield _subscript(inner)
        else:
            raise JsonPathError(f"unexpected {path[at]!r} in {path!r}")


def _name(path: str, at: int) -> tuple[str, int]:
    match = _NAME_END.match(path, at)
    if match is None:
        raise JsonPathError(f"a name is missing in {path!r}")
    return re.sub(r"\\(.)", r"\1", match.group()), match.end()


def _outside_quotes(text: str, at: int = 0) -> Iterator[tuple[int, str]]:
    """Positions and characters outside of quotes, from `at` on. In quotes, a backslash escapes the next character."""
    quote = ""
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        else:
            yield at, char
        at += 1


def _bracket(path: str, start: int) -> tuple[str, int]:
    """The text in the brackets that open at `start`, and the position after them."""
    depth = 0
    for at, char in _outside_quotes(path, start):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if depth == 0:
                return path[start + 1 : at].strip(), at + 1
    raise JsonPathError(f"unterminated bracket in {path!r}")


def _subscript(inner: str) -> Step:
    if inner == "*":
        return _each(_every)
    filter_ = _FILTER.match(inner)
    if filter_:
        return _filter(filter_.group(1).strip())
    parts = _split_union(inner)
    if len(parts) > 1:
        return _union([_subscript(part) for part in parts])
    if inner[:1] in ("'", '"'):
        if len(inner) < 2 or inner[-1] != inner[0]:
            raise JsonPathError(f"unterminated string in [{inner}]")
        return _member(re.sub(r"\\(.)", r"\1", inner[1:-1]), wildcard=False)
    if _INTEGER.match(inner):
        return _index(integer(inner))
    cut = _SLICE.match(inner)
    if cut:
        numbers = [integer(part) if part else None for part in (cut.group(1), cut.group(2), cut.group(3) or "")]
        if numbers[2] is not None and numbers[2] < 1:
            raise JsonPathError(f"the step of a slice is positive: [{inner}]")
        return _slice(slice(*numbers))
    raise JsonPathError(f"not an index, a slice, a name or a filter: [{inner}]")


def _split_union(inner: str) -> list[str]:
    """The parts between commas outside of quotes."""
    commas = [at for at, char in _outside_quotes(inner) if char == ","]
    return [inner[low + 1 : high].strip() for low, high in zip([-1, *commas], [*commas, len(inner)], strict=True)]


def _once(values: Iterable[Any], visits: Visits) -> Iterator[Any]:
    """`values` without the lists and maps that were there before, until `visits` is spent."""
    seen: set[int] = set()
    for value in values:
        if not visits.spend():
            return
        if visits.left is not None and isinstance(value, (dict, list)):
            if id(value) in seen:
                continue
            seen.add(id(value))
        yield value


def _each(members: _Members) -> Step:
    """The step that finds `members` in each value."""

    def step(values: Iterable[Any], visits: Visits) -> Iterator[Any]:
        for value in _once(values, visits):
            for item in members(value):
                if not visits.spend():
                    return
                yield item

    return step


def _union(steps: Sequence[Step]) -> Step:
    def step(values: Iterable[Any], visits: Visits) -> Iterator[Any]:
        for value in _once(values, visits):
            for one in steps:
                yield from one((value,), visits)

    return step


def _member(name: str, *, wildcard: bool = True) -> Step:
    if wildcard and name == "*":
        return _each(_every)
    return _each(lambda value: (value[name],) if isinstance(value, dict) and name in value else ())


def _index(index: int) -> Step:
    return _each(lambda value: (value[index],) if isinstance(value, list) and -len(value) <= index < len(value) else ())


def _slice(cut: slice) -> Step:
    return _each(lambda value: value[cut] if isinstance(value, list) else ())


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield value[key]


def _descend(values: Iterable[Any], visits: Visits) -> Iterator[Any]:
    """The values and the lists and maps below them."""
    walked: set[int] = set()
    for value in values:
        pending = [iter((value,))]
        while pending:
            item = next(pending[-1], pending)
            if item is pending:
                pending.pop()
                continue
            if not visits.spend():
                return
            inner = isinstance(item, (dict, list))
            if inner or len(pending) == 1:
                if visits.left is not None and inner:
                    if id(item) in walked:
                        continue
                    walked.add(id(item))
                yield item
                pending.append(_every(item))


def _filter(text: str) -> Step:
    left, operator, right = _comparison(text)
    find_left = _operand(left)
    find_right = _operand(right) if operator else None

    def step(values: Iterable[Any], visits: Visits) -> Iterator[Any]:
        for value in _once(values, visits):
            for item in _every(value):
                if not visits.spend():
                    return
                a = find_left(item, visits)
                if not a:
                    continue
                if find_right is not None:
                    b = find_right(item, visits)
                    if not b or not _compare(a[0], operator, b[0]):
                        continue
                yield item

    return step


def _comparison(text: str) -> tuple[str, str, str]:
    quote, depth = "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
        elif depth == 0:
            for operator in _OPERATORS:
                if text.startswith(operator, at):
                    return text[:at].strip(), operator, text[at + len(operator) :].strip()
    return text, "", ""


def _operand(text: str) -> Callable[[Any, Visits], Sequence[Any]]:
    """The function that returns the first value of an operand, in a sequence of one, or an empty one."""
    if text[:1] in ("@", "$", "."):
        return compile_path(text).first
    if text[:1] in ("'", '"') and len(text) > 1 and text[-1] == text[0]:
        constant: Any = text[1:-1]
    elif text in ("true", "false"):
        constant = text == "true"
    else:
        try:
            constant = integer(text) if _INTEGER.match(text) else float(text)
        except ValueError:
            raise JsonPathError(f"not a value: {text!r}") from None
    return lambda item, visits: (constant,)


def _compare(a: Any, operator: str, b: Any) -> bool:
    """Compare two values; values of different types are unequal and unordered."""
    number = (int, float)
    alike = type(a) is type(b) or (
        isinstance(a, number) and isinstance(b, number) and not isinstance(a, bool) and not isinstance(b, bool)
    )
    if operator == "==":
        return alike and bool(a == b)
    if operator == "!=":
        return not alike or bool(a != b)
    if not alike or not isinstance(a, (str, *number)):
        return False
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])
