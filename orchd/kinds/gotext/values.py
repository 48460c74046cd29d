"""Values as Go's formatting verbs print them, and names of the Go types of decoded JSON values.

`plain` is ``%v``, `quote` is ``%q``, `interface` is ``%#v``, `go_type` is ``%T``.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import orjson

from orchd.errors import quoted

#: A string as ``%q`` prints it.
quote: Final = quoted

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


def type_name(value: Any) -> str:
    """The type of a decoded JSON value: ``map[string]interface {}``; for null, a nil type printed with ``%s``."""
    return _TYPES.get(type(value), "%!s(<nil>)")


def go_type(value: Any) -> str:
    """The type of a decoded JSON value as ``%T`` prints it, ``<nil>`` for null; numbers of other types are floats."""
    return "<nil>" if value is None else _TYPES.get(type(value), "float64")


def kind_name(value: Any) -> str:
    """The kind of a decoded JSON value: ``map``, ``slice``, ``string``, ``int64``."""
    return _KINDS.get(type(value), "invalid")


def json_name(value: Any) -> str:
    """The name of a value in the JSON decoder's ``cannot unmarshal ... into``: ``object``, ``array``, ``number``."""
    # Numbers may be of a subclass that keeps their text.
    return _JSON.get(type(value)) or ("number" if isinstance(value, int | float) else "null")


_INT64: Final = 1 << 63
#: Floats below this have all digits of the integers that they are; those above may have fewer, filled up with zeros.
_EXACT: Final = 1 << 53


def respell_numbers(value: Any) -> Any:
    """`value` with numbers that orjson spells as the reference's encoder does: 1.0 becomes 1."""
    kind = value.__class__
    if kind is dict:
        return {key: respell_numbers(item) for key, item in value.items()}
    if kind is list:
        return [respell_numbers(item) for item in value]
    if isinstance(value, float):
        return orjson.Fragment(json_number(value).encode())
    if kind is int and not -_INT64 <= value < _INT64:
        return orjson.Fragment(json_number(float(value)).encode())
    return value


def json_number(value: float) -> str:
    """The shortest spelling of a finite float in JSON: with an exponent below 1e-6 and from 1e21."""
    size = abs(value)
    if size and (size < 1e-6 or size >= 1e21):
        digits, _, exponent = repr(value).partition("e")
        sign, power = exponent[:1], exponent[1:].lstrip("0")
        return f"{digits}e{sign}{power.rjust(2, '0') if sign == '+' else power}"
    if size < _EXACT and value.is_integer():
        return "-0" if not value and str(value).startswith("-") else str(int(value))
    return format(Decimal(repr(value)), "f").removesuffix(".0")


#: Characters that Go's encoder of JSON escapes in strings.
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def escape_json(text: str) -> str:
    """A text of JSON with the characters escaped that Go's encoder escapes."""
    for char, escaped in _ESCAPES.items():
        if char in text:
            text = text.replace(char, escaped)
    return text


class GoText(str):
    """Text in Go's syntax; `show` does not quote it."""

    __slots__ = ()


def show(value: Any) -> str:
    """A value in the form of validation messages: strings quoted, scalars plain, lists and maps as ``%#v``."""
    if value is None:
        return '"null"'
    if isinstance(value, GoText):
        return value
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        if all(isinstance(v, str) for v in value):
            return "[]string{" + ", ".join(map(quote, value)) + "}"
        return "[]interface {}{" + ", ".join(map(interface, value)) + "}"
    if isinstance(value, dict) and value and all(isinstance(v, str) for v in value.values()):
        return "map[string]string{" + ", ".join(f"{quote(k)}:{quote(value[k])}" for k in sorted(value)) + "}"
    return interface(value)


def show_json(value: Any) -> str:
    """A value in the form of validation messages of later releases: strings quoted, scalars plain, all others as
    JSON."""
    if isinstance(value, GoText):
        text: str = getattr(value, "as_json", value)
        return text
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return number(value)
    return escape_json(orjson.dumps(respell_numbers(value), option=orjson.OPT_SORT_KEYS).decode())


def interface(value: Any) -> str:
    """JSON data as ``%#v`` prints it."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, dict):
        return "map[string]interface {}{" + ", ".join(f"{quote(k)}:{interface(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(interface, value)) + "}"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return number(value)
    return json.dumps(value)
