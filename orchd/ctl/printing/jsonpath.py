"""JSONPath templates of the field: ``{.items[*].metadata.name}``, ranges, filters, unions, slices, descent.

Template.parse('{range .items[*]}{.metadata.name}{"\\n"}{end}').render(value)
find(value, ".status.phase")            # all values at a path
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from orchd.ctl.errors import CommandError
from orchd.kinds import jsonpath
from orchd.kinds.jsonpath import JsonPath, JsonPathError


def compile_path(path: str) -> JsonPath:
    """A compiled path; braces and the leading dot may be omitted. Raises CommandError."""
    path = path.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1].strip()
    try:
        return jsonpath.compile_path(path if path[:1] in (".", "[", "$", "@") else f".{path}")
    except JsonPathError as error:
        raise CommandError(f"jsonpath: {error}") from None


def find(value: Any, path: str) -> list[Any]:
    """All values at a path. Raises CommandError."""
    return compile_path(path).find(value)


@dataclass(frozen=True, slots=True)
class _Range:
    path: JsonPath
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
                inner = _Range(compile_path(action[5:]), [])
                stack[-1].append(inner)
                stack.append(inner.parts)
            elif action == "end":
                if len(stack) == 1:
                    raise CommandError("jsonpath: {end} without {range}")
                stack.pop()
            elif action[:1] in ("'", '"') and action[-1:] == action[:1]:
                stack[-1].append(_unescape(action[1:-1]))
            else:
                stack[-1].append(compile_path(action))
        if len(stack) > 1:
            raise CommandError("jsonpath: {end} is missing")
        return cls(root)

    def render(self, value: Any, *, missing_is_error: bool = False) -> str:
        """The text for a value. Paths that find nothing give nothing, or raise CommandError with `missing_is_error`.
        Raises CommandError for the index of an element that a list does not have."""
        return _render(self._parts, value, missing_is_error)


#: The index of one element in a path, and what makes a path search: then finding nothing is no error.
_INDEX: Final = re.compile(r"\[(-?\d{1,9})\]")
_SEARCH: Final = re.compile(r"\*|\?\(|\.\.|:")


def _find_all(path: JsonPath, value: Any, missing_is_error: bool) -> list[Any]:
    values = path.find(value)
    if values:
        return values
    for match in _INDEX.finditer(path.text):
        for each in compile_path(path.text[: match.start()] or ".").find(value):
            if isinstance(each, list) and not -len(each) <= int(match[1]) < len(each):
                raise CommandError(
                    f"jsonpath: {path.text}: array index out of bounds: index {match[1]}, length {len(each)}"
                )
    if missing_is_error and not _SEARCH.search(path.text):
        raise CommandError(f"jsonpath: {path.text} is not found")
    return values


def _render(parts: list[Any], value: Any, missing_is_error: bool) -> str:
    out = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, _Range):
            out += [
                _render(part.parts, each, missing_is_error) for each in _find_all(part.path, value, missing_is_error)
            ]
        else:
            out.append(" ".join(map(plain_text, _find_all(part, value, missing_is_error))))
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
