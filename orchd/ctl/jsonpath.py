"""JSONPath templates of the field: ``{.items[*].metadata.name}``, ranges, filters, unions, slices, descent.

    Template.parse('{range .items[*]}{.metadata.name}{"\\n"}{end}').render(value)
    find(value, ".status.phase")            # all values at a path
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from orchd.ctl.errors import CommandError

#: Gives the values that one step finds in one value.
Step = Callable[[Any], Iterator[Any]]

_NAME: Final = re.compile(r"(?:[^\s.\[\]{}()'\"=!<>,|&\\]|\\.)+")
_FILTER: Final = re.compile(r"^(?P<left>.+?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<right>.+))?$")
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "<=": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
}


def find(value: Any, path: str) -> list[Any]:
    """All values at a path; braces and the dot in front may be left out. Raises CommandError."""
    return evaluate(parse_path(relax(path)), value)


def relax(path: str) -> str:
    """A path without its braces and with a dot in front."""
    path = path.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1].strip()
    return path if path[:1] in (".", "[", "$", "@") else f".{path}"


def evaluate(steps: list[Step], value: Any) -> list[Any]:
    """What is left after all steps."""
    found = [value]
    for step in steps:
        found = [inner for each in found for inner in step(each)]
    return found


def parse_path(path: str) -> list[Step]:
    """The steps of a path. Raises CommandError."""
    steps: list[Step] = []
    at = 1 if path[:1] in ("$", "@") else 0
    while at < len(path):
        if path.startswith("..", at):
            steps.append(_descend)
            at += 2
            if path[at : at + 1] not in ("[", ""):
                at = _name(path, at, steps)
        elif path[at] == ".":
            at += 1
            if at < len(path) and path[at] != "[":
                at = _name(path, at, steps)
        elif path[at] == "[":
            end = _closing(path, at)
            steps.append(_bracket(path[at + 1 : end].strip(), path))
            at = end + 1
        else:
            raise CommandError(f"jsonpath {path!r}: unexpected {path[at:]!r}: steps begin with . or [")
    return steps


def _name(path: str, at: int, steps: list[Step]) -> int:
    if path[at] == "*":
        steps.append(_all)
        return at + 1
    match = _NAME.match(path, at)
    if match is None:
        raise CommandError(f"jsonpath {path!r}: a field name is missing at {path[at:]!r}")
    steps.append(_field(re.sub(r"\\(.)", r"\1", match.group())))
    return match.end()


def _closing(path: str, at: int) -> int:
    """Where the bracket that opens at `at` closes; quotes hide brackets."""
    depth, quote = 0, ""
    for index in range(at, len(path)):
        char = path[index]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if not depth:
                return index
    raise CommandError(f"jsonpath {path!r}: ] is missing")


def _bracket(text: str, path: str) -> Step:
    if text == "*":
        return _all
    if text.startswith("?(") and text.endswith(")"):
        return _filter(text[2:-1].strip())
    parts = [part.strip() for part in _split(text)]
    if len(parts) > 1:
        steps = [_bracket(part, path) for part in parts]
        return lambda value: (inner for step in steps for inner in step(value))
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return _field(text[1:-1])
    if re.fullmatch(r"-?\d+", text):
        return _index(int(text))
    if re.fullmatch(r"-?\d*(:-?\d*){1,2}", text):
        return _slice(slice(*(int(part) if part else None for part in text.split(":"))))
    raise CommandError(f"jsonpath {path!r}: cannot read [{text}]: give an index, a slice, 'a name' or ?(a filter)")


def _split(text: str) -> list[str]:
    """At commas outside of quotes."""
    return re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^,'\"])+", text)


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _descend(value: Any) -> Iterator[Any]:
    yield value
    for inner in _all(value):
        yield from _descend(inner)


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(number: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= number < len(value):
            yield value[number]

    return step


def _slice(part: slice) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[part]

    return step


def _filter(text: str) -> Step:
    match = _FILTER.match(text)
    if match is None:
        raise CommandError(f"jsonpath: the filter {text!r} is empty: write ?(@.field==value)")
    left = _operand(match["left"].strip())
    if match["op"] is None:
        return lambda value: (each for each in _all(value) if left(each))
    right, compare = _operand(match["right"].strip()), _COMPARE[match["op"]]

    def step(value: Any) -> Iterator[Any]:
        for each in _all(value):
            for one, other in ((one, other) for one in left(each) for other in right(each)):
                try:
                    if compare(one, other):
                        yield each
                        break
                except TypeError:
                    continue  # values of different kinds have no order

    return step


def _operand(text: str) -> Callable[[Any], list[Any]]:
    if text[:1] in ("@", "."):
        steps = parse_path(text)
        return lambda value: evaluate(steps, value)
    if text[:1] in ("'", '"') and text[-1:] == text[:1]:
        return lambda value: [text[1:-1]]
    try:
        constant = json.loads(text)
    except ValueError:
        raise CommandError(f"jsonpath: cannot read {text!r} in a filter: quote texts, begin paths with @") from None
    return lambda value: [constant]


@dataclass(frozen=True, slots=True)
class _Range:
    steps: list[Step]
    parts: list[Any]


class Template:
    """A text with actions in braces."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    @classmethod
    def parse(cls, text: str) -> Template:
        """Raises CommandError."""
        root: list[Any] = []
        stack = [root]
        for part in _tokens(text):
            if isinstance(part, str):
                stack[-1].append(part)
                continue
            action = part[0].strip()
            if action.startswith("range"):
                inner = _Range(parse_path(relax(action[5:])), [])
                stack[-1].append(inner)
                stack.append(inner.parts)
            elif action == "end":
                if len(stack) == 1:
                    raise CommandError("jsonpath: {end} without {range}")
                stack.pop()
            elif action[:1] in ("'", '"') and action[-1:] == action[:1]:
                stack[-1].append(_unescape(action[1:-1]))
            else:
                stack[-1].append(parse_path(relax(action)))
        if len(stack) > 1:
            raise CommandError("jsonpath: {end} is missing")
        return cls(root)

    def render(self, value: Any) -> str:
        """The text for a value. Paths that find nothing give nothing."""
        return _render(self._parts, value)


def _render(parts: list[Any], value: Any) -> str:
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, _Range):
            out += [_render(part.parts, each) for each in evaluate(part.steps, value)]
        else:
            out.append(" ".join(map(plain_text, evaluate(part, value))))
    return "".join(out)


def _tokens(text: str) -> Iterator[str | tuple[str]]:
    """Texts, and actions as tuples of one."""
    at = 0
    while at < len(text):
        start = text.find("{", at)
        if start < 0:
            yield text[at:]
            return
        if start > at:
            yield text[at:start]
        end = re.compile(r"(?:'[^']*'|\"(?:\\.|[^\"])*\"|[^}'\"])*\}").match(text, start + 1)
        if end is None:
            raise CommandError("jsonpath: } is missing")
        yield (text[start + 1 : end.end() - 1],)
        at = end.end()


def _unescape(text: str) -> str:
    names = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: names.get(match[1], match[1]), text)


def plain_text(value: Any) -> str:
    """A value as output shows it: texts as they are, everything else as JSON; nothing for null."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
