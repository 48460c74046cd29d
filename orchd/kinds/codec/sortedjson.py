"""JSON of objects without types, as the reference writes those of custom kinds: members sorted, numbers as its encoder
spells them.

A number with the value of a 64-bit integer has no fraction or exponent (1.0 becomes 1), other numbers are floats. HTML
characters are escaped when objects are served.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

import orjson

from orchd.kinds.codec import json_

#: The first bytes of objects that are not sorted: apiVersion would precede kind.
UNSORTED: Final = b'{"kind":'
_INT64: Final = 1 << 63
#: Floats below this have all digits of the integers that they are; those above may have fewer, filled up with zeros.
_EXACT: Final = 1 << 53
#: A number with a fraction, an exponent or many digits. It may be found in strings, too.
_UNUSUAL: Final = re.compile(rb"[:\[,]\s*-?[0-9]+(?:[.eE]|[0-9]{18})")


def encode(value: Any, *, pretty: bool = False) -> bytes:
    """Encode a value as compact JSON, or indented by two spaces. Raises TypeError for values without a JSON form."""
    option = orjson.OPT_SORT_KEYS | (orjson.OPT_INDENT_2 if pretty else 0)
    text = orjson.dumps(value, option=option)
    if _UNUSUAL.search(text):
        text = orjson.dumps(_respell_numbers(value), option=option)
    # Copied: the buffer of orjson's result has several times its length, and would live as long as the object.
    return b"%b" % text


def encode_escaped(obj: Any, *, pretty: bool = False) -> bytes:
    """Encode an object of a custom kind, or a list of them, as it is served: with HTML characters escaped."""
    return json_.escape(encode(obj, pretty=pretty))


def sorted_form(json: bytes) -> bytes:
    """The JSON of an object with sorted members: `json` itself unless it begins with its kind, which no sorted object
    does."""
    return encode_escaped(orjson.loads(json)) if json.startswith(UNSORTED) else json


def _respell_numbers(value: Any) -> Any:
    """`value` with the reference's spelling of numbers."""
    kind = value.__class__
    if kind is dict:
        return {key: _respell_numbers(item) for key, item in value.items()}
    if kind is list:
        return [_respell_numbers(item) for item in value]
    if isinstance(value, float):
        return orjson.Fragment(number(value).encode())
    if kind is int and not -_INT64 <= value < _INT64:
        return orjson.Fragment(number(float(value)).encode())
    return value


def number(value: float) -> str:
    """The shortest spelling of a finite float: with an exponent below 1e-6 and from 1e21."""
    size = abs(value)
    if size and (size < 1e-6 or size >= 1e21):
        digits, _, exponent = repr(value).partition("e")
        sign, power = exponent[:1], exponent[1:].lstrip("0")
        return f"{digits}e{sign}{power.rjust(2, '0') if sign == '+' else power}"
    if size < _EXACT and value.is_integer():
        return "-0" if not value and str(value).startswith("-") else str(int(value))
    return format(Decimal(repr(value)), "f").removesuffix(".0")
