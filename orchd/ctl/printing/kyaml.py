"""KYAML: YAML in the flow style, in which every string is quoted and indentation has no meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from orchd.kinds.codec import yaml_

#: Keys without quotes, unless a parser reads them as another type than a string.
_PLAIN: Final = re.compile(r"\w(?:[\w./-]*\w)?\Z")
#: What parsers of older YAML and of other languages read as a number, a truth value or a date.
_AMBIGUOUS: Final = re.compile(
    r"[tTfFyYnN]|[+-]?(?:inf|infinity|nan)|\d{4}-\d{1,2}-\d{1,2}(?:[Tt ].*)?|0x[0-9a-f.]*p[+-]?\d+", re.I
)
_NAMED: Final = {
    "\a": "a", "\b": "b", "\f": "f", "\r": "r", "\v": "v", "\0": "0", "\x1b": "e", "\x85": "N", "\xa0": "_",
    "\u2028": "L", "\u2029": "P", '"': '"', "\\": "\\", "\n": "n",
}  # fmt: skip


def encode(value: Any) -> str:
    """A document with its header and a newline at its end."""
    return "---\n" + "".join(_pieces(value, 0)) + "\n"


def _pieces(value: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(value, str):
        yield _string(value, depth + 1)
    elif isinstance(value, dict) and value:
        yield "{\n"
        for key, inner in sorted(value.items()):
            yield f"{indent}  {_key(key)}: "
            yield from _pieces(inner, depth + 1)
            yield ",\n"
        yield f"{indent}}}"
    elif isinstance(value, list) and value and all(isinstance(inner, dict | list) for inner in value):
        # Brackets of collections within a list share lines.
        for number, inner in enumerate(value):
            yield ", " if number else "["
            yield from _pieces(inner, depth)
        yield "]"
    elif isinstance(value, list) and value:
        yield "[\n"
        for inner in value:
            yield f"{indent}  "
            yield from _pieces(inner, depth + 1)
            yield ",\n"
        yield f"{indent}]"
    else:
        yield json.dumps(value)


def _key(key: str) -> str:
    if _PLAIN.match(key) and not _AMBIGUOUS.fullmatch(key) and isinstance(yaml_.resolve(key), str):
        return key
    return '"' + "".join("\\t" if char == "\t" else _escaped(char) for char in key) + '"'


def _string(text: str, depth: int) -> str:
    """A text in quotes; one with several lines begins on a line of its own, and each ends with a folded newline."""
    if "\n" not in text:
        return '"' + "".join(map(_escaped, text)) + '"'
    indent = "  " * depth
    lines = text.split("\n")
    ends = [*("\\n\\\n" for _ in lines[:-1]), "\\\n" if lines[-1] else ""]
    # A space at the beginning of a line has to be escaped, and the others are aligned with it.
    marks = ["\\" if line[:1].isspace() else " " for line in lines]
    body = (
        f"{indent}{mark}{''.join(map(_escaped, line))}{end}"
        for mark, line, end in zip(marks, lines, ends, strict=True)
        if end
    )
    return '"\\\n' + "".join(body) + indent + '"'


def _escaped(char: str) -> str:
    if char in _NAMED:
        return "\\" + _NAMED[char]
    if char.isprintable() or char == "\t":
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
