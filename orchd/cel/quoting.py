"""Texts in double quotes, as messages quote them."""

from __future__ import annotations

import re

#: Characters with an escape of their own.
ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """Return a text in double quotes, with escapes for what cannot be printed."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    escape = ESCAPES.get(character)
    if escape is not None:
        return escape
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no text
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_ascii(text: str) -> str:
    """Return a text in double quotes, with the bytes of control characters and of those that are not ASCII."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_NOT_ASCII.sub(_hexadecimal, escaped)}"'


_NOT_ASCII = re.compile("[^ -\x7f]")


def _hexadecimal(match: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in match.group().encode("utf-8", "surrogatepass"))
