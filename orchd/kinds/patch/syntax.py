"""Decoding patch documents, and saying what is wrong with one in the reference's words."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

_SPACE = " \t\r\n"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {"t": "true", "f": "false", "n": "null"}


class SyntaxProblem(ValueError):
    """A document that is not JSON; the text is the reference decoder's."""


def decode(document: bytes | str) -> Any:
    """The value of a JSON document; `SyntaxProblem` when it is none."""
    try:
        return orjson.loads(document)
    except ValueError:
        text = document.decode("utf-8", "replace") if isinstance(document, bytes) else document
        raise SyntaxProblem(explain(text)) from None


def explain(text: str) -> str:
    """Why `text` is not JSON: ``unexpected end of JSON input`` or ``invalid character 'x' looking for ...``."""
    try:
        end = _value(text, _skip(text, 0), "looking for beginning of value")
        end = _skip(text, end)
        if end < len(text):
            raise _bad(text, end, "after top-level value")
    except SyntaxProblem as problem:
        return str(problem)
    except RecursionError:
        return "exceeded max depth"
    return "invalid JSON"


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _bad(text: str, at: int, where: str) -> SyntaxProblem:
    if at >= len(text):
        return SyntaxProblem("unexpected end of JSON input")
    char = text[at]
    shown = {"'": "'\\''", '"': "'\"'"}.get(char) or "'" + json.dumps(char, ensure_ascii=False)[1:-1] + "'"
    return SyntaxProblem(f"invalid character {shown} {where}")


def _value(text: str, at: int, where: str) -> int:
    if at >= len(text):
        raise _bad(text, at, where)
    char = text[at]
    if char == "{":
        return _object(text, _skip(text, at + 1))
    if char == "[":
        return _array(text, _skip(text, at + 1))
    if char == '"':
        return _string(text, at + 1)
    if char == "-" or char.isdecimal():
        found = _NUMBER.match(text, at)
        if found is None:
            raise _bad(text, at + 1, "in numeric literal")
        return found.end()
    word = _LITERALS.get(char)
    if word is None:
        raise _bad(text, at, where)
    for offset, expected in enumerate(word):
        if at + offset >= len(text) or text[at + offset] != expected:
            raise _bad(text, at + offset, f"in literal {word} (expecting '{expected}')")
    return at + len(word)


def _object(text: str, at: int) -> int:
    if at < len(text) and text[at] == "}":
        return at + 1
    while True:
        if at >= len(text) or text[at] != '"':
            raise _bad(text, at, "looking for beginning of object key string")
        at = _skip(text, _string(text, at + 1))
        if at >= len(text) or text[at] != ":":
            raise _bad(text, at, "after object key")
        at = _skip(text, _value(text, _skip(text, at + 1), "looking for beginning of value"))
        if at < len(text) and text[at] == "}":
            return at + 1
        if at >= len(text) or text[at] != ",":
            raise _bad(text, at, "after object key:value pair")
        at = _skip(text, at + 1)


def _array(text: str, at: int) -> int:
    if at < len(text) and text[at] == "]":
        return at + 1
    while True:
        at = _skip(text, _value(text, at, "looking for beginning of value"))
        if at < len(text) and text[at] == "]":
            return at + 1
        if at >= len(text) or text[at] != ",":
            raise _bad(text, at, "after array element")
        at = _skip(text, at + 1)


def _string(text: str, at: int) -> int:
    while at < len(text):
        char = text[at]
        if char == '"':
            return at + 1
        if char == "\\":
            at += 1
            if at < len(text) and text[at] not in '"\\/bfnrtu':
                raise _bad(text, at, "in string escape code")
        elif char < " ":
            raise _bad(text, at, "in string literal")
        at += 1
    raise _bad(text, at, "")
