"""What the reference's decoders say about broken text; users meet these words inside messages."""

from __future__ import annotations

from typing import Final

from orchd.kinds.jsontext import syntax_error


def json_error(data: bytes, into: str = "map[string]interface {}", wanted: str = "object") -> str:
    """What keeps a text from being a JSON object (or array, as `wanted`; or null), "" when nothing does.

    `into` is what the reference reads it into.
    """
    wrong = syntax_error(data)
    if wrong:
        return wrong
    # The type of a value shows in its first byte.
    kind = _KINDS.get(data.lstrip(b" \t\r\n")[:1], "number")
    return f"json: cannot unmarshal {kind} into Go value of type {into}" if kind not in ("", wanted) else ""


def json_kind(value: object) -> str:
    """What the reference's decoder calls a JSON value."""
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
