"""Paths of fields in schemas: ``.spec.color`` and ``['spec']['a.b']``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

#: A quoted key to its end or, without one, to the end of the path; a delimiter; anything else.
_TOKEN: Final = re.compile(r"'(?:.*?(?<!\\)'|.*)|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """An invalid path; the text is the reason."""


def resolve(
    path: str, schema: Mapping[str, Any], *, brackets: bool = True
) -> tuple[tuple[str, ...], str, Mapping[str, Any]]:
    """The names of a path, its text in messages and the schema of its field. `brackets`: names may be in brackets and
    quotes.

    Raises FieldPathError.
    """
    names: list[str] = []
    text = ""
    tokens = iter(_TOKEN.findall(path))
    for token in tokens:
        if token == "[" and not brackets:
            raise FieldPathError("array notation is not allowed")
        if token not in (".", "["):
            raise FieldPathError(f"expected [ or . but got: {token}")
        name = next(tokens, "")
        if not name:
            raise FieldPathError("unexpected end of JSON path")
        if token == "[":
            name = _quoted(name)
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        below = properties.get(name) if properties else more
        if not isinstance(below, Mapping):
            raise FieldPathError("does not refer to a valid field")
        text += f"[{name}]" if not properties else f".{name}" if names else name
        schema = below
        names.append(name)
        if token == "[":
            end = next(tokens, "")
            if end != "]":
                raise FieldPathError(f"expected ] but got {end}" if end else "unexpected end of JSON path")
    return tuple(names), text, schema


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")

    def replace(match: re.Match[str]) -> str:
        if match.group(1) not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {match.group()}")
        return _ESCAPES[match.group(1)]

    return _ESCAPE.sub(replace, token[1:-1])
