"""Types of protocol buffers that every environment knows: wrappers of scalars, durations, timestamps, and JSON.

A literal of one is the value that it stands for: ``google.protobuf.Int64Value{value: 1}`` is 1.
"""

from __future__ import annotations

import struct as binary
from collections.abc import Callable

from orchd.cel.environment import Struct
from orchd.cel.operators import NANOS, checked_duration, checked_timestamp
from orchd.cel.types import ANY, BOOL, BYTES, DOUBLE, DYN, INT, STRING, UINT, Type, list_of, map_of, wrapper
from orchd.cel.values import EvaluationError, Map, Uint, Value

_PREFIX = "google.protobuf."
_ZERO: dict[Type, Value] = {BOOL: False, BYTES: b"", DOUBLE: 0.0, INT: 0, STRING: "", UINT: Uint(0)}
_LIST, _MAP = list_of(DYN), map_of(STRING, DYN)


def _float32(value: Value) -> Value:
    try:
        return binary.unpack("f", binary.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _int32(value: Value) -> Value:
    if not -(2**31) <= value < 2**31:
        raise EvaluationError("integer overflow")
    return value


def _uint32(value: Value) -> Value:
    if value.value >= 2**32:
        raise EvaluationError("unsigned integer overflow")
    return value


def _same(value: Value) -> Value:
    return value


_WRAPPERS: dict[str, tuple[Type, Callable[[Value], Value]]] = {
    "BoolValue": (BOOL, _same),
    "BytesValue": (BYTES, _same),
    "DoubleValue": (DOUBLE, _same),
    "FloatValue": (DOUBLE, _float32),
    "Int32Value": (INT, _int32),
    "Int64Value": (INT, _same),
    "StringValue": (STRING, _same),
    "UInt32Value": (UINT, _uint32),
    "UInt64Value": (UINT, _same),
}


def _wrapped(type_: Type, check: Callable[[Value], Value]) -> Struct:
    def make(fields: dict[str, Value]) -> Value:
        value = fields.get("value")
        return _ZERO[type_] if value is None else check(value)

    return Struct(fields={"value": type_}, make=make)


def _instant(make: Callable[[int], Value]) -> Struct:
    def build(fields: dict[str, Value]) -> Value:
        return make(fields.get("seconds", 0) * NANOS + fields.get("nanos", 0))

    return Struct(fields={"seconds": INT, "nanos": INT}, make=build)


def _any(fields: dict[str, Value]) -> Value:
    raise EvaluationError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


def _json(fields: dict[str, Value]) -> Value:
    return next((None if name == "null_value" else value for name, value in fields.items()), None)


_JSON_FIELDS = {
    "null_value": INT,
    "number_value": DOUBLE,
    "string_value": STRING,
    "bool_value": BOOL,
    "struct_value": _MAP,
    "list_value": _LIST,
}

#: Types by full name, as expressions see them.
TYPES: dict[str, Type] = {
    **{f"{_PREFIX}{name}": wrapper(type_) for name, (type_, _) in _WRAPPERS.items()},
    f"{_PREFIX}Any": ANY,
    f"{_PREFIX}Value": DYN,
    f"{_PREFIX}ListValue": _LIST,
    f"{_PREFIX}Struct": _MAP,
}
STRUCTS: dict[str, Struct] = {
    **{f"{_PREFIX}{name}": _wrapped(*described) for name, described in _WRAPPERS.items()},
    f"{_PREFIX}Duration": _instant(checked_duration),
    f"{_PREFIX}Timestamp": _instant(checked_timestamp),
    f"{_PREFIX}Any": Struct(fields={"type_url": STRING, "value": BYTES}, make=_any),
    f"{_PREFIX}Value": Struct(fields=_JSON_FIELDS, make=_json),
    f"{_PREFIX}ListValue": Struct(fields={"values": _LIST}, make=lambda fields: fields.get("values", [])),
    f"{_PREFIX}Struct": Struct(fields={"fields": _MAP}, make=lambda fields: fields.get("fields", Map())),
}
CONSTANTS: dict[str, Value] = {f"{_PREFIX}NullValue.NULL_VALUE": 0}
