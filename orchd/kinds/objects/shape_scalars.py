"""Conversions of scalars to canonical form, each a function from a value to the same value or its canonical form.

They raise `MismatchError` for a value of another type, and `ScalarError` for text that cannot be read.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Any, Final

from orchd.cel.base64_errors import STANDARD, failure_offset
from orchd.kinds.gotext.durations import DurationError, canonical_duration
from orchd.kinds.gotext.values import json_name
from orchd.kinds.objects.scalars import ScalarError, canonical_quantity
from orchd.kinds.times import TimeError, canonical_microtime, canonical_time

Convert = Callable[[Any], Any]

_RANGES: Final = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "int64ns": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


#: Encoders write integers below this bound.
_WHOLE: Final = 1 << 63


class NumberText(float):
    """A number with its spelling in the body, for exact error messages."""

    text: str

    def __new__(cls, text: str) -> NumberText:
        number = super().__new__(cls, text)
        number.text = text
        return number


class MismatchError(Exception):
    """A type mismatch, which propagates to the struct that adds its name."""

    def __init__(self, actual: str, expected: str) -> None:
        self.actual = actual
        self.expected = expected
        self.owner = ""
        self.path: list[str] = []

    def text(self) -> str:
        field = f"Go struct field {self.owner}.{'.'.join(reversed(self.path))}" if self.path else "Go value"
        return f"json: cannot unmarshal {self.actual} into {field} of type {self.expected}"


class Base64Error(ScalarError):
    """Malformed base64, with the offset of the invalid byte. Unlike other malformed scalars it does not end the
    reference's decoder."""


def number_text(value: Any) -> str:
    if isinstance(value, NumberText):
        return value.text
    return repr(value)


def _string(expected: str = "string") -> Convert:
    def convert(value: Any) -> Any:
        if value.__class__ is not str:
            raise MismatchError(json_name(value), expected)
        return value

    return convert


def _bool(expected: str) -> Convert:
    def convert(value: Any) -> Any:
        if value.__class__ is not bool:
            raise MismatchError(json_name(value), expected)
        return value

    return convert


def _integer(kind: str, expected: str) -> Convert:
    low, high = _RANGES[kind]

    def convert(value: Any) -> Any:
        if value.__class__ is int and low <= value <= high:
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise MismatchError(f"number {number_text(value)}", expected)
        raise MismatchError(json_name(value), expected)

    return convert


def _float(value: Any) -> Any:
    if value.__class__ is int:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _WHOLE else value
    raise MismatchError(json_name(value), "float64")


def _text(read: Callable[[str], Any]) -> Convert:
    def convert(value: Any) -> Any:
        if value.__class__ is not str:
            raise MismatchError(json_name(value), "string")
        try:
            return read(value)
        except (TimeError, DurationError) as error:
            raise ScalarError(str(error)) from None

    return convert


def int_or_string(value: Any) -> Any:
    if value.__class__ is str:
        return value
    return _int32(value)


_int32 = _integer("int32", "int32")
_uint8 = _integer("uint8", "uint8")


def identity(value: Any) -> Any:
    return value


def _bytes(value: Any) -> Any:
    if value.__class__ is str:
        return base64_text(value)
    if value.__class__ is not list:
        raise MismatchError(json_name(value), "[]uint8")
    data = bytes(0 if item is None else _uint8(item) for item in value)
    return binascii.b2a_base64(data, newline=False).decode()


def base64_text(value: str) -> str:
    """Canonical base64; line breaks are ignored. Raises Base64Error."""
    try:
        decoded = binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, ValueError):
        return _decode_loose_base64(value)
    if value[-1:] != "=":
        return value
    text = binascii.b2a_base64(decoded, newline=False).decode()
    return value if text == value else text


def _decode_loose_base64(text: str) -> str:
    """Decode base64 with line breaks, or raise the error with the offset of the invalid byte."""
    raw = text.encode("utf-8", "surrogatepass")
    offset = failure_offset(raw, STANDARD)
    if offset is not None:
        raise Base64Error(f"illegal base64 data at input byte {offset}")
    return binascii.b2a_base64(binascii.a2b_base64(raw), newline=False).decode()


_SCALARS: Final[dict[str, Convert]] = {
    "bytes": _bytes,
    "number": _float,
    "quantity": canonical_quantity,
    "int-or-string": int_or_string,
    "time": _text(canonical_time),
    "microtime": _text(canonical_microtime),
    "duration": _text(canonical_duration),
    "any": identity,
    "raw": identity,
    "fieldsv1": identity,
}


def scalar(kind: str, alias: str = "") -> Convert:
    if kind == "string":
        return _string(alias or "string")
    if kind == "bool":
        return _bool(alias or "bool")
    if kind in _RANGES:
        return _integer(kind, alias or kind.removesuffix("ns"))
    return _SCALARS[kind]
