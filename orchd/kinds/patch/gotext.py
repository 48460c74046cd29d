"""Formatting of values and types in the style of Go, for messages.

The reference prints values with its language's formatting verbs; several recorded messages contain them, so the
rules are written down here: `plain` is ``%v``, `quoted` is ``%q``, `type_name` and `kind_name` are the names of types.
"""

from __future__ import annotations

from typing import Any

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
}

_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}
_KINDS = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
_JSON = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def plain(value: Any) -> str:
    """JSON data as ``%v`` prints it: ``map[a:1 b:[x y]]``; keys sorted, strings bare, null as ``<nil>``."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{plain(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(plain, value)) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """A float in the shortest form: no fraction when whole, an exponent of at least two digits from 1e21 on."""
    if abs(value) < 1e21 and value == int(value):
        return str(int(value))
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text
    sign = "-" if exponent.startswith("-") else "+"
    return f"{mantissa.removesuffix('.0')}e{sign}{exponent.lstrip('+-').zfill(2)}"


def quoted(text: str) -> str:
    """A string as ``%q`` prints it."""
    out = []
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        elif ord(char) < 0x80:
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")
    return '"' + "".join(out) + '"'


def type_name(value: Any) -> str:
    """The full type of a decoded JSON value: ``map[string]interface {}``."""
    return _TYPES.get(type(value), "%!s(<nil>)")


def kind_name(value: Any) -> str:
    """The kind of a decoded JSON value: ``map``, ``slice``, ``string``, ``int64``."""
    return _KINDS.get(type(value), "invalid")


def json_name(value: Any) -> str:
    """What a JSON decoder calls the value in ``cannot unmarshal ... into``: ``object``, ``array``, ``number``."""
    return _JSON.get(type(value), "null")
