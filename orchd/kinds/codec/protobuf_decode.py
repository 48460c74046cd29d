"""Compiles a `Type` into a decoder of its messages to JSON data. A zero is omitted if the field is ``omit`` and not a
pointer; a missing field that is always present gets its zero value.

Most fields are texts, integers, messages and lists of messages: `StructReader.decode` reads these in one loop. Others
have a function each.
"""

from __future__ import annotations

import base64
import struct as _struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from orchd.kinds.bounds import MAX_VALUES
from orchd.kinds.codec import json_
from orchd.kinds.codec.wire import (
    FIXED64,
    LENGTH,
    VARINT,
    Decoding,
    ProtobufError,
    read_length,
    read_varint,
    skip,
    truncated_error,
)
from orchd.kinds.compile_lock import COMPILE_LOCK
from orchd.kinds.ir import Field, Type

#: Decodes the payload of a length-delimited field: (data, at, end, decoding).
Read = Callable[[bytes, int, int, Decoding], Any]
#: Decodes a value without a length: (data, at, end) -> (value, position after it).
ReadScalar = Callable[[bytes, int, int], tuple[Any, int]]
#: How a field is decoded: its form, name, function (none for texts), and whether an empty value is kept.
_Member = tuple[int, str, Any, bool]

#: Forms of fields. Those below _SMALL have a length.
_TEXT, _MESSAGE, _MESSAGES, _ENTRY, _VALUE, _VALUES, _INLINE, _SMALL, _SCALAR, _SCALARS = range(10)

_MEMO: Final = "protobuf.decode"
#: Key of a decoder that is not complete yet.
_BEGUN: Final = "protobuf.decode.begun"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Longest message that is compared with earlier ones.
_LONGEST_REPEAT: Final = 512
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
        self._table: dict[int, _Member] = {}
        self._names: dict[int, str] = {}
        self._always: dict[str, Any] = {}

    def fill(self, type_: Type) -> None:
        for member in type_.members:
            if not member.number:
                continue
            wire_type, how = _member(member)
            self._table[member.number << 3 | wire_type] = how
            self._names[member.number] = member.name[:1].upper() + member.name[1:]
            if not member.omit and not member.ptr and member.type.kind in _ZEROS:
                self._always[member.name] = _ZEROS[member.type.kind]

    def decode(self, data: bytes, at: int, end: int, decoding: Decoding) -> dict[str, Any]:
        """The message of the bytes from `at` to `end`. One long loop on purpose: it takes most of the time of decoding,
        and a call per field would take as long as the field."""
        out = self._always.copy()
        table = self._table
        repeats = decoding.repeats
        count = 1
        while at < end:
            count += 1
            if count > MAX_VALUES:
                decoding.spend(count)
            key = data[at]
            at += 1
            if key >= 0x80:
                key, at = read_varint(data, at - 1, end)
            member = table.get(key)
            if member is None:
                at = self._unknown(key, data, at, end, decoding)
                continue
            form, name, read, keep = member
            if form >= _SMALL:
                if form == _SMALL and data[at] < 0x80:
                    value: Any = data[at]
                    at += 1
                    if read is _bool:
                        value = value != 0
                else:
                    value, at = read(data, at, end)
                    if form == _SCALARS:
                        out[name] = [*(out.get(name) or ()), value]
                        continue
                if value or keep:
                    out[name] = value
                continue
            size = data[at]
            at += 1
            if size >= 0x80:
                at, stop = read_length(data, at - 1, end)
            else:
                stop = at + size
                if stop > end:
                    raise truncated_error()
            if form == _TEXT:
                try:
                    value = data[at:stop].decode()
                except UnicodeDecodeError:
                    value = data[at:stop].decode("utf-8", "replace")
                if value or keep:
                    out[name] = value
            elif form <= _MESSAGES:
                if repeats is None or not 8 <= stop - at <= _LONGEST_REPEAT:
                    value = read(data, at, stop, decoding)
                else:
                    place = (data[at:stop], read)
                    value = repeats.get(place)
                    if value is None:
                        value = repeats[place] = read(data, at, stop, decoding)
                if form == _MESSAGE:
                    if value or keep:
                        out[name] = value
                else:
                    values = out.get(name)
                    if values is None:
                        out[name] = [value]
                    else:
                        values.append(value)
            elif form == _ENTRY:
                entry, value = read(data, at, stop, decoding)
                entries = out.get(name)
                if entries is None:
                    out[name] = {entry: value}
                else:
                    entries[entry] = value
            else:
                value = read(data, at, stop, decoding)
                if form == _VALUES:
                    values = out.get(name)
                    if values is None:
                        out[name] = [value]
                    else:
                        values.append(value)
                elif form == _INLINE:
                    out.update(value)
                elif value or keep:
                    out[name] = value
            at = stop
        if at != end:
            raise truncated_error()
        decoding.spend(count)
        return out

    def _unknown(self, key: int, data: bytes, at: int, end: int, decoding: Decoding) -> int:
        check_key(self._name, key >> 3, key & 7)
        if key >> 3 in self._names:
            raise ProtobufError(f"proto: wrong wireType = {key & 7} for field {self._names[key >> 3]}")
        return skip(data, at, end, key & 7, decoding)


class _Schema:
    """Decodes the JSONSchemaPropsOr... structs, whose JSON form is an object, an array or a boolean."""

    __slots__ = ("_inner", "_name")

    def __init__(self, type_: Type) -> None:
        self._name = type_.name.rpartition("Or")[2]
        self._inner = StructReader(type_.name.rpartition(".")[2])

    def fill(self, type_: Type) -> None:
        self._inner.fill(type_)

    def decode(self, data: bytes, at: int, end: int, decoding: Decoding) -> Any:
        fields = self._inner.decode(data, at, end, decoding)
        if "Schema" in fields:
            return fields["Schema"]
        if self._name == "Bool":
            return fields["Allows"]
        return fields.get("JSONSchemas" if self._name == "Array" else "Property", [])


def struct(type_: Type) -> Any:
    """The decoder of a struct: ``decode(data, at, end, decoding)``. Compiled once."""
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


def _member(member: Field) -> tuple[int, _Member]:
    """Wire type of a field, and how it is decoded."""
    type_, name = member.type, member.name
    if type_.kind == "list":
        if member.wire:
            return LENGTH, (_VALUE, name, _items, True)
        element = type_.element
        if element.kind == "struct":
            return LENGTH, (_MESSAGES, name, struct(element).decode, True)
        if element.kind in _SCALAR_READS:
            wire_type, scalar = _SCALAR_READS[element.kind]
            return wire_type, (_SCALARS, name, scalar, True)
        return LENGTH, (_VALUES, name, _DELIMITED[element.kind], True)
    if type_.kind == "map":
        return LENGTH, (_ENTRY, name, _entry(type_.element, wrapped="ExtraValue" in member.wire), True)
    if member.wire == "runtime.Unknown":
        return LENGTH, (_VALUE, name, _unknown_json, True)
    keep = not member.omit or member.ptr
    if type_.kind == "struct":
        decode = struct(type_).decode
        if member.inline:
            return LENGTH, (_INLINE, name, decode, True)
        return LENGTH, (_MESSAGE, name, decode, keep)
    if type_.kind in _SCALAR_READS:
        wire_type, scalar = _SCALAR_READS[type_.kind]
        return wire_type, (_SMALL if wire_type == VARINT else _SCALAR, name, scalar, keep)
    if type_.kind == "string":
        return LENGTH, (_TEXT, name, None, keep)
    if type_.kind in ("time", "microtime") or (not member.ptr and type_.kind in ("bytes", "raw", "any", "fieldsv1")):
        keep = False
    return LENGTH, (_VALUE, name, _DELIMITED[type_.kind], keep)


def _entry(element: Type, *, wrapped: bool) -> Read:
    """Decodes an entry of a map to its key and value."""
    scalar: ReadScalar | None = None
    wire_type, read = LENGTH, cast(Read, _items)
    if element.kind in _SCALAR_READS:
        wire_type, scalar = _SCALAR_READS[element.kind]
    elif not wrapped:
        read = struct(element).decode if element.kind == "struct" else _DELIMITED[element.kind]
    value_key = 2 << 3 | wire_type
    empty: Any = (
        []
        if wrapped or element.kind == "list"
        else {}
        if element.kind in ("struct", "map")
        else _ZEROS.get(element.kind, "")
    )

    def entry(data: bytes, at: int, stop: int, decoding: Decoding) -> tuple[str, Any]:
        key, value = "", empty
        count = 0
        while at < stop:
            tag = data[at]
            at += 1
            if tag >= 0x80:
                tag, at = read_varint(data, at - 1, stop)
            if tag == 0x0A:
                start, at = read_length(data, at, stop)
                key = _text(data, start, at, decoding)
            elif tag != value_key:
                at = skip(data, at, stop, tag & 7, decoding)
                continue
            elif scalar is not None:
                value, at = scalar(data, at, stop)
            else:
                start, at = read_length(data, at, stop)
                value = read(data, start, at, decoding)
            count += 1
        if at != stop:
            raise truncated_error()
        decoding.spend(count)
        return key, value

    return entry


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


_SCALAR_READS: Final[dict[str, tuple[int, ReadScalar]]] = {
    "bool": (VARINT, _bool),
    "int32": (VARINT, _int32),
    "int64": (VARINT, _int64),
    "int64ns": (VARINT, _int64),
    "uint32": (VARINT, read_varint),
    "uint64": (VARINT, read_varint),
    "number": (FIXED64, _double),
}


def _text(data: bytes, at: int, end: int, decoding: Decoding) -> str:
    try:
        return data[at:end].decode()
    except UnicodeDecodeError:
        return data[at:end].decode("utf-8", "replace")


def _bytes(data: bytes, at: int, end: int, decoding: Decoding) -> str:
    return base64.b64encode(data[at:end]).decode()


def _items(data: bytes, at: int, end: int, decoding: Decoding) -> list[str]:
    """Decode a message {items 1} of strings."""
    out: list[str] = []
    while at < end:
        tag, at = read_varint(data, at, end)
        if tag == 0x0A:
            start, at = read_length(data, at, end)
            out.append(_text(data, start, at, decoding))
            decoding.spend(1)
        else:
            at = skip(data, at, end, tag & 7, decoding)
    if at != end:
        raise truncated_error()
    return out


def payload(data: bytes, at: int, stop: int, decoding: Decoding, number: int = 1) -> bytes:
    """The last payload of field `number` of a message."""
    first = b""
    while at < stop:
        tag, at = read_varint(data, at, stop)
        if tag == number << 3 | LENGTH:
            decoding.spend(1)
            start, at = read_length(data, at, stop)
            first = data[start:at]
        else:
            at = skip(data, at, stop, tag & 7, decoding)
    if at != stop:
        raise truncated_error()
    return first


def _quantity(data: bytes, at: int, end: int, decoding: Decoding) -> str:
    return payload(data, at, end, decoding).decode("utf-8", "replace") or "0"


def _json(data: bytes, at: int, end: int, decoding: Decoding) -> Any:
    return _parse_json(payload(data, at, end, decoding))


def _unknown_json(data: bytes, at: int, end: int, decoding: Decoding) -> Any:
    return _parse_json(payload(data, at, end, decoding, 2))


def _parse_json(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json_.decode(raw)
    except json_.JSONError as error:
        raise ProtobufError(str(error)) from None


def _numbers(data: bytes, at: int, stop: int, decoding: Decoding) -> tuple[dict[int, int], bytes]:
    """The integers of a message by field number, and its field 3 if that is length-delimited."""
    out: dict[int, int] = {}
    text = b""
    while at < stop:
        tag, at = read_varint(data, at, stop)
        if tag & 7 == VARINT:
            decoding.spend(1)
            out[tag >> 3], at = _int64(data, at, stop)
        elif tag == 3 << 3 | LENGTH:
            decoding.spend(1)
            start, at = read_length(data, at, stop)
            text = data[start:at]
        else:
            at = skip(data, at, stop, tag & 7, decoding)
    if at != stop:
        raise truncated_error()
    return out, text


def _int_or_string(data: bytes, at: int, end: int, decoding: Decoding) -> int | str:
    numbers, text = _numbers(data, at, end, decoding)
    if numbers.get(1, 0):
        return text.decode("utf-8", "replace")
    value = numbers.get(2, 0) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _moment(data: bytes, at: int, stop: int, decoding: Decoding) -> datetime | None:
    if at == stop:
        return None
    numbers, _ = _numbers(data, at, stop, decoding)
    try:
        return _EPOCH + timedelta(seconds=numbers.get(1, 0), microseconds=numbers.get(2, 0) // 1000)
    except OverflowError:
        raise ProtobufError("Time.MarshalJSON: year outside of range [0,9999]") from None


def _time(data: bytes, at: int, end: int, decoding: Decoding) -> str | None:
    moment = _moment(data, at, end, decoding)
    return None if moment is None else moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def _microtime(data: bytes, at: int, end: int, decoding: Decoding) -> str | None:
    moment = _moment(data, at, end, decoding)
    return None if moment is None else moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


_DELIMITED: Final[dict[str, Read]] = {
    "string": _text,
    "bytes": _bytes,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "microtime": _microtime,
    "any": _json,
    "raw": _json,
    "fieldsv1": _json,
}
