"""Literals of numbers, strings and bytes: the value of a token."""

from __future__ import annotations

import re

from orchd.cel.lex import Token
from orchd.cel.values import MAX_INT, MAX_UINT, MIN_INT, Uint, Value

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE = re.compile(r"\\(?:([0-3][0-7]{2})|[xX]([0-9a-fA-F]{2})|(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(.))", re.DOTALL)
_CONSTANTS: dict[str, Value] = {"'true'": True, "'false'": False, "'null'": None}


class LiteralError(ValueError):
    """A token has the shape of a literal but no value."""


def read_literal(token: Token, *, negative: bool = False) -> Value:
    """Return the value of a literal token, negated for ``negative`` (of int and double). Raises `LiteralError`."""
    match token.kind:
        case "NUM_INT":
            value = -_integer(token.text) if negative else _integer(token.text)
            if not MIN_INT <= value <= MAX_INT:
                raise LiteralError("invalid int literal")
            return value
        case "NUM_UINT":
            value = _integer(token.text[:-1])
            if value > MAX_UINT:
                raise LiteralError("invalid uint literal")
            return Uint(value)
        case "NUM_FLOAT":
            number = float(token.text)
            if number == float("inf"):
                raise LiteralError("invalid double literal")
            return -number if negative else number
        case "STRING":
            return _text(token.text)
        case "BYTES":
            return _bytes(token.text[1:])
    return _CONSTANTS[token.kind]


def _integer(text: str) -> int:
    # Digits of a number that is too long are not converted: conversion is quadratic.
    if text.startswith("0x"):
        return int(text[2:], 16)
    return int(text) if len(text.lstrip("0")) < 40 else MAX_UINT + 1


def _body(text: str) -> tuple[str, bool]:
    """Return the text between the quotes, with line ends as \\n, and whether it is raw."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes], raw


def _text(text: str) -> str:
    body, raw = _body(text)
    return body if raw or "\\" not in body else _ESCAPE.sub(_character, body)


def _character(match: re.Match[str]) -> str:
    octal, two, more, simple = match.groups()
    if simple is not None:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal is not None else int(two or more[1:], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _bytes(text: str) -> bytes:
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body.encode()
    parts, at = [], 0
    for match in _ESCAPE.finditer(body):
        octal, two, more, simple = match.groups()
        if more is not None:
            raise LiteralError("unable to unescape string")
        parts.append(body[at : match.start()].encode())
        parts.append(
            _SIMPLE[simple].encode() if simple is not None else bytes([int(octal, 8) if octal else int(two, 16)])
        )
        at = match.end()
    parts.append(body[at:].encode())
    return b"".join(parts)
