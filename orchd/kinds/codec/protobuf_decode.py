"""Compiles a `Type` into a decoder of its messages to JSON data. A zero is omitted if the field is ``omit`` and not a
pointer; a missing field that is always present gets its zero value.
"""

from __future__ import annotations

import base64
import struct as _struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from orchd.kinds.bounds import MAX_VALUES
from orchd.kinds.codec import json_
from orchd.kinds.codec.wire import (
    FIELDS,
    FIXED64,
    LENGTH,
    VARINT,
    ProtobufError,
    read_length,
    read_varint,
    skip,
    truncated_error,
)
from orchd.kinds.compile_lock import COMPILE_LOCK
from orchd.kinds.ir import Field, Type

#: Decodes the value at a position: (data, at, end) -> (value, position after it).
Read = Callable[[bytes, int, int], tuple[Any, int]]
#: Decodes a field into an object: (data, at, end, object) -> position after it.
Store = Callable[[bytes, int, int, dict[str, Any]], int]

_MEMO: Final = "protobuf.decode"
#: Key of a decoder that is not complete yet.
_BEGUN: Final = "protobuf.decode.begun"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS: Final = frozenset(("int32", "int64", "uint32", "uint64", "int64ns"))
#: Values of fields that are always present and missing in the message.
_ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "uint32": 0,
    "uint64": 0,
    "int64ns": 0,
    "number": 0,
}


def check_key(message: str, number: int, wire_type: int) -> None:
    """Raise ProtobufError for an invalid tag."""
    if wire_type == 4:
        raise ProtobufError(f"proto: {message}: wiretype end group for non-group")
    if not 0 < number < 1 << 29:
        raise ProtobufError(f"proto: {message}: illegal tag {number} (wire type {wire_type})")


class StructReader:
    """Decodes the messages of one struct."""

    __slots__ = ("_always", "_name", "_names", "_table")

    def __init__(self, name: str) -> None:
        self._name = name
        self._table: dict[int, Store] = {}
        self._names: dict[int, str] = {}
        self._always: dict[str, Any] = {}

    def fill(self, type_: Type) -> None:
        for member in type_.members:
            if not member.number:
                continue
            wire_type, store = _member(member)
            self._table[member.number << 3 | wire_type] = store
            self._names[member.number] = member.name[:1].upper() + member.name[1:]
            if not member.omit and not member.ptr and member.type.kind in _ZEROS:
                self._always[member.name] = _ZEROS[member.type.kind]

    def decode(self, data: bytes, at: int, end: int) -> dict[str, Any]:
        out = self._always.copy()
        table = self._table
        count = 1
        while at < end:
            count += 1
            if count > MAX_VALUES:
                FIELDS.spend(count)
            key = data[at]
            at += 1
            if key >= 0x80:
                key, at = read_varint(data, at - 1, end)
            store = table.get(key)
            if store is not None:
                at = store(data, at, end, out)
            else:
                at = self._unknown(key, data, at, end)
        if at != end:
            raise truncated_error()
        FIELDS.spend(count)
        return out

    def _unknown(self, key: int, data: bytes, at: int, end: int) -> int:
        check_key(self._name, key >> 3, key & 7)
        if key >> 3 in self._names:
            raise ProtobufError(f"proto: wrong wireType = {key & 7} for field {self._names[key >> 3]}")
        return skip(data, at, end, key & 7)


class _Schema:
    """Decodes the JSONSchemaPropsOr... structs, whose JSON form is an object, an array or a boolean."""

    __slots__ = ("_inner", "_name")

    def __init__(self, type_: Type) -> None:
        self._name = type_.name.rpartition("Or")[2]
        self._inner = StructReader(type_.name.rpartition(".")[2])

    def fill(self, type_: Type) -> None:
        self._inner.fill(type_)

    def decode(self, data: bytes, at: int, end: int) -> Any:
        fields = self._inner.decode(data, at, end)
        if "Schema" in fields:
            return fields["Schema"]
        if self._name == "Bool":
            return fields["Allows"]
        return fields.get("JSONSchemas" if self._name == "Array" else "Property", [])


def struct(type_: Type) -> Any:
    """The decoder of a struct: ``decode(data, at, end)``. Compiled once."""
    reader: Any = type_.memo.get(_MEMO)
    if reader is None:
        with COMPILE_LOCK:
            # Structs may be recursive: the one being filled is found under another key.
            reader = type_.memo.get(_MEMO) or type_.memo.get(_BEGUN)
            if reader is None:
                special = "JSONSchemaPropsOr" in type_.name
                reader = type_.memo[_BEGUN] = _Schema(type_) if special else StructReader(type_.name.rpartition(".")[2])
                reader.fill(type_)
                type_.memo[_MEMO] = reader
    return reader


def _member(member: Field) -> tuple[int, Store]:
    type_, name = member.type, member.name
    if type_.kind == "list":
        if member.wire:
            return LENGTH, _store(name, _items)
        return _list(type_.element, name)
    if type_.kind == "map":
        return LENGTH, _map(type_.element, name, wrapped="ExtraValue" in member.wire)
    if member.wire == "runtime.Unknown":
        return LENGTH, _store(name, _unknown_json)
    wire_type, read = _value(type_)
    if member.inline:
        return LENGTH, _inline(read)
    if member.ptr:
        return wire_type, _store_not_none(name, read) if type_.kind in ("time", "microtime") else _store(name, read)
    if member.omit or type_.kind in ("time", "microtime", "bytes", "raw", "any", "fieldsv1"):
        return wire_type, _store_not_zero(name, read)
    return wire_type, _store(name, read)


def _store(name: str, read: Read) -> Store:
    def store(data: bytes, at: int, end: int, out: dict[str, Any]) -> int:
        out[name], at = read(data, at, end)
        return at

    return store


def _store_not_none(name: str, read: Read) -> Store:
    def store(data: bytes, at: int, end: int, out: dict[str, Any]) -> int:
        value, at = read(data, at, end)
        if value is not None:
            out[name] = value
        return at

    return store


def _store_not_zero(name: str, read: Read) -> Store:
    """Store a value of an ``omit`` field unless it is empty. A quantity or int-or-string of 0 is not empty."""

    def store(data: bytes, at: int, end: int, out: dict[str, Any]) -> int:
        value, at = read(data, at, end)
        if value:
            out[name] = value
        return at

    return store


def _inline(read: Read) -> Store:
    def store(data: bytes, at: int, end: int, out: dict[str, Any]) -> int:
        value, at = read(data, at, end)
        out.update(value)
        return at

    return store


def _list(element: Type, name: str) -> tuple[int, Store]:
    wire_type, read = _value(element)

    def store(data: bytes, at: int, end: int, out: dict[str, Any]) -> int:
        value, at = read(data, at, end)
        values = out.get(name)
        if values is None:
            out[name] = [value]
        else:
            values.append(value)
        return at

    return wire_type, store


def _map(element: Type, name: str, *, wrapped: bool) -> Store:
    wire_type, read = (LENGTH, _items) if wrapped else _value(element)
    value_key = 2 << 3 | wire_type
    empty: Any = (
        []
        if wrapped or element.kind == "list"
        else {}
        if element.kind in ("struct", "map")
        else _ZEROS.get(element.kind, "")
    )

    def store(data: bytes, at: int, end: int, out: dict[str, Any]) -> int:
        at, stop = read_length(data, at, end)
        key, value = "", empty
        while at < stop:
            tag, at = read_varint(data, at, stop)
            if tag == 0x0A:
                FIELDS.spend(1)
                start, at = read_length(data, at, stop)
                key = data[start:at].decode("utf-8", "replace")
            elif tag == value_key:
                FIELDS.spend(1)
                value, at = read(data, at, stop)
            else:
                at = skip(data, at, stop, tag & 7)
        if at != stop:
            raise truncated_error()
        values = out.get(name)
        if values is None:
            out[name] = {key: value}
        else:
            values[key] = value
        return stop

    return store


def _value(type_: Type) -> tuple[int, Read]:
    """Wire type and decoder of one value."""
    kind = type_.kind
    if kind == "struct":
        return LENGTH, _message(type_)
    if kind == "bool":
        return VARINT, _bool
    if kind == "int32":
        return VARINT, _int32
    if kind in ("int64", "int64ns"):
        return VARINT, _int64
    if kind in _INTEGERS:
        return VARINT, read_varint
    if kind == "number":
        return FIXED64, _double
    return LENGTH, _DELIMITED[kind]


def _message(type_: Type) -> Read:
    decode = struct(type_).decode

    def read(data: bytes, at: int, end: int) -> tuple[Any, int]:
        at, stop = read_length(data, at, end)
        return decode(data, at, stop), stop

    return read


def _bool(data: bytes, at: int, end: int) -> tuple[bool, int]:
    value, at = read_varint(data, at, end)
    return value != 0, at


def _int32(data: bytes, at: int, end: int) -> tuple[int, int]:
    value, at = read_varint(data, at, end)
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value, at


def _int64(data: bytes, at: int, end: int) -> tuple[int, int]:
    value, at = read_varint(data, at, end)
    return value - (1 << 64) if value >= 1 << 63 else value, at


def _double(data: bytes, at: int, end: int) -> tuple[float, int]:
    if at + 8 > end:
        raise truncated_error()
    value: float = _struct.unpack_from("<d", data, at)[0]
    if value != value or value in (float("inf"), float("-inf")):
        raise ProtobufError("json: unsupported value: not a finite number")
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value, at + 8


def _string(data: bytes, at: int, end: int) -> tuple[str, int]:
    start, at = read_length(data, at, end)
    return data[start:at].decode("utf-8", "replace"), at


def _bytes(data: bytes, at: int, end: int) -> tuple[str, int]:
    start, at = read_length(data, at, end)
    return base64.b64encode(data[start:at]).decode(), at


def _items(data: bytes, at: int, end: int) -> tuple[list[str], int]:
    """Decode a message {items 1} of strings."""
    at, stop = read_length(data, at, end)
    out: list[str] = []
    while at < stop:
        tag, at = read_varint(data, at, stop)
        if tag == 0x0A:
            item, at = _string(data, at, stop)
            FIELDS.spend(1)
            out.append(item)
        else:
            at = skip(data, at, stop, tag & 7)
    if at != stop:
        raise truncated_error()
    return out, stop


def _first(data: bytes, at: int, stop: int, number: int = 1) -> bytes:
    """The last payload of field `number` of a message."""
    first = b""
    while at < stop:
        tag, at = read_varint(data, at, stop)
        if tag == number << 3 | LENGTH:
            FIELDS.spend(1)
            start, at = read_length(data, at, stop)
            first = data[start:at]
        else:
            at = skip(data, at, stop, tag & 7)
    if at != stop:
        raise truncated_error()
    return first


def _quantity(data: bytes, at: int, end: int) -> tuple[str, int]:
    at, stop = read_length(data, at, end)
    return _first(data, at, stop).decode("utf-8", "replace") or "0", stop


def _json(data: bytes, at: int, end: int) -> tuple[Any, int]:
    at, stop = read_length(data, at, end)
    return _parse_json(_first(data, at, stop)), stop


def _unknown_json(data: bytes, at: int, end: int) -> tuple[Any, int]:
    at, stop = read_length(data, at, end)
    return _parse_json(_first(data, at, stop, 2)), stop


def _parse_json(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json_.decode(raw)
    except json_.JSONError as error:
        raise ProtobufError(str(error)) from None


def _numbers(data: bytes, at: int, stop: int) -> tuple[dict[int, int], bytes]:
    """The integers of a message by field number, and its field 3 if that is length-delimited."""
    out: dict[int, int] = {}
    text = b""
    while at < stop:
        tag, at = read_varint(data, at, stop)
        if tag & 7 == VARINT:
            FIELDS.spend(1)
            out[tag >> 3], at = _int64(data, at, stop)
        elif tag == 3 << 3 | LENGTH:
            FIELDS.spend(1)
            start, at = read_length(data, at, stop)
            text = data[start:at]
        else:
            at = skip(data, at, stop, tag & 7)
    if at != stop:
        raise truncated_error()
    return out, text


def _int_or_string(data: bytes, at: int, end: int) -> tuple[int | str, int]:
    at, stop = read_length(data, at, end)
    numbers, text = _numbers(data, at, stop)
    if numbers.get(1, 0):
        return text.decode("utf-8", "replace"), stop
    value = numbers.get(2, 0) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value, stop


def _moment(data: bytes, at: int, stop: int) -> datetime | None:
    if at == stop:
        return None
    numbers, _ = _numbers(data, at, stop)
    try:
        return _EPOCH + timedelta(seconds=numbers.get(1, 0), microseconds=numbers.get(2, 0) // 1000)
    except OverflowError:
        raise ProtobufError("Time.MarshalJSON: year outside of range [0,9999]") from None


def _time(data: bytes, at: int, end: int) -> tuple[str | None, int]:
    at, stop = read_length(data, at, end)
    moment = _moment(data, at, stop)
    return None if moment is None else moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z", stop


def _microtime(data: bytes, at: int, end: int) -> tuple[str | None, int]:
    at, stop = read_length(data, at, end)
    moment = _moment(data, at, stop)
    return None if moment is None else moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z", stop


_DELIMITED: Final[dict[str, Read]] = {
    "string": _string,
    "bytes": _bytes,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "microtime": _microtime,
    "any": _json,
    "raw": _json,
    "fieldsv1": _json,
}
