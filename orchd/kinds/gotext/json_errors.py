"""Errors of the reference's JSON decoder for values of the wrong type."""

from __future__ import annotations

from typing import Final

from orchd.kinds.gotext.json_syntax import syntax_error


def json_error(data: bytes, into: str = "map[string]interface {}", expected: str = "object") -> str:
    """The error of a text that must be a JSON object (or array, as `expected`) or null, "" if it is.

    `into` is the Go type that the reference decodes to.
    """
    wrong = syntax_error(data)
    if wrong:
        return wrong
    # The first byte determines the type of the value.
    kind = _KINDS.get(data.lstrip(b" \t\r\n")[:1], "number")
    return f"json: cannot unmarshal {kind} into Go value of type {into}" if kind not in ("", expected) else ""


def json_kind(value: object) -> str:
    """The name of a JSON value in the decoder's messages."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "number"
    if isinstance(value, float):
        return f"number {value!r}"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


_KINDS: Final = {b"{": "object", b"n": "", b'"': "string", b"t": "bool", b"f": "bool", b"[": "array"}
