"""Compiles a `Type` into an encoder of its messages.

A struct has a list of chunks, one per member, initially those of the zero value; a present member replaces its chunk,
and the chunks are joined. The cost therefore depends on the members that are present, not on those that are declared.
"""

from __future__ import annotations

import base64
import struct as _struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from orchd.kinds.codec import json_
from orchd.kinds.codec.wire import FIXED64, LENGTH, VARINT, encode_delimited, tag, varint
from orchd.kinds.compile_lock import COMPILE_LOCK
from orchd.kinds.ir import Field, Type
from orchd.kinds.verbatim import Verbatim

#: Encodes a value with its tag.
Write = Callable[[Any], bytes]

_MEMO: Final = "protobuf.encode"
#: Key of an encoder that is not complete yet.
_BEGUN: Final = "protobuf.encode.begun"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZEROS: Final = {
    "string": b"\x00",
    "bool": b"\x00",
    "int32": b"\x00",
    "int64": b"\x00",
    "uint32": b"\x00",
    "uint64": b"\x00",
    "int64ns": b"\x00",
    "number": bytes(8),
    "quantity": b"\x03\x0a\x010",
    "int-or-string": b"\x06\x08\x00\x10\x00\x1a\x00",
    "time": b"\x00",
    "microtime": b"\x00",
    "raw": b"\x00",
    "any": b"\x00",
    "fieldsv1": b"\x00",
    "duration": b"\x02\x08\x00",
}


class StructWriter:
    """Encodes the messages of one struct."""

    __slots__ = ("_inlines", "_table", "_zero", "zero")

    def __init__(self) -> None:
        self._zero: list[bytes] = []
        #: JSON name -> (index of the chunk, encoder); names of an inlined struct have its index and None.
        self._table: dict[str, tuple[int, Write | None]] = {}
        self._inlines: dict[int, Write] = {}
        self.zero = b""

    def fill(self, type_: Type) -> None:
        members = sorted((m for m in type_.members if m.number), key=lambda m: m.number)
        for index, member in enumerate(members):
            write = _member(member)
            self._zero.append(_zero(member))
            if member.inline:
                self._inlines[index] = write
                self._table.update((name, (index, None)) for name in member.type.fields)
            else:
                self._table[member.name] = (index, write)
        self.zero = b"".join(self._zero)

    def encode(self, obj: Mapping[str, Any]) -> bytes:
        chunks = self._zero.copy()
        table = self._table
        inlined: dict[int, dict[str, Any]] | None = None
        for name, value in obj.items():
            if value is None:
                continue
            writer = table.get(name)
            if writer is None:
                continue
            index, write = writer
            if write is not None:
                chunks[index] = write(value)
            else:
                if inlined is None:
                    inlined = {}
                inlined.setdefault(index, {})[name] = value
        if inlined:
            for index, part in inlined.items():
                chunks[index] = self._inlines[index](part)
        return b"".join(chunks)


class _Schema:
    """Encodes the JSONSchemaPropsOr... structs, whose JSON form is an object, an array or a boolean."""

    __slots__ = ("_name", "_schema", "zero")

    def __init__(self, type_: Type) -> None:
        self._name = type_.name.rpartition("Or")[2]
        self._schema = struct(type_.fields["Schema"].type)
        self.zero = b"\x08\x00" if self._name == "Bool" else b""

    def encode(self, value: Any) -> bytes:
        if self._name == "Bool":
            if isinstance(value, dict):
                return b"\x08\x01" + encode_delimited(b"\x12", self._schema.encode(value))
            return b"\x08\x01" if value else b"\x08\x00"
        if isinstance(value, dict):
            return encode_delimited(b"\x0a", self._schema.encode(value))
        if self._name == "Array":
            return b"".join(encode_delimited(b"\x12", self._schema.encode(v)) for v in value)
        return b"".join(encode_delimited(b"\x12", v.encode()) for v in value)


def struct(type_: Type) -> Any:
    """The encoder of a struct: ``encode(value) -> bytes`` and ``zero``. Compiled once."""
    writer: Any = type_.memo.get(_MEMO)
    if writer is None:
        with COMPILE_LOCK:
            # Structs may be recursive: the one being filled is found under another key.
            writer = type_.memo.get(_MEMO) or type_.memo.get(_BEGUN)
            if writer is None:
                if "JSONSchemaPropsOr" in type_.name:
                    writer = _Schema(type_)
                else:
                    writer = type_.memo[_BEGUN] = StructWriter()
                    writer.fill(type_)
                type_.memo[_MEMO] = writer
    return writer


def _zero(member: Field) -> bytes:
    """The encoding of an absent member."""
    kind = member.type.kind
    if (member.ptr and member.wire != "zero") or kind in ("list", "map", "bytes"):
        return b""
    if kind == "struct":
        return encode_delimited(tag(member.number, LENGTH), struct(member.type).zero)
    wire_type = FIXED64 if kind == "number" else VARINT if kind in _VARINTS else LENGTH
    return tag(member.number, wire_type) + _ZEROS[kind]


_VARINTS: Final = frozenset(("bool", "int32", "int64", "uint32", "uint64", "int64ns"))


def _member(member: Field) -> Write:
    type_, number = member.type, member.number
    if type_.kind == "list":
        if member.wire:
            return _strings_message(number)
        item = _value(type_.element, number)
        return lambda values: b"".join([item(v) for v in values])
    if type_.kind == "map":
        return _map(type_.element, number, wrapped="ExtraValue" in member.wire)
    if member.wire == "runtime.Unknown":
        head = tag(number, LENGTH)
        empty = encode_delimited(b"\x0a", b"\x0a\x00\x12\x00")
        tail = b"\x1a\x00" + encode_delimited(b"\x22", b"application/json")
        return lambda value: encode_delimited(head, empty + encode_delimited(b"\x12", json_.encode(value)) + tail)
    return _value(type_, number)


def _strings_message(number: int) -> Write:
    """Encode a list of strings as a message {items 1}."""
    head = tag(number, LENGTH)
    return lambda values: encode_delimited(head, b"".join([encode_delimited(b"\x0a", v.encode()) for v in values]))


def _map(element: Type, number: int, *, wrapped: bool) -> Write:
    head = tag(number, LENGTH)
    if element.kind == "string":

        def strings(values: Mapping[str, str | None]) -> bytes:
            return b"".join(
                [
                    encode_delimited(
                        head,
                        encode_delimited(b"\x0a", key.encode())
                        + encode_delimited(b"\x12", (values[key] or "").encode()),
                    )
                    for key in sorted(values)
                ]
            )

        return strings
    write = _strings_message(2) if wrapped else _value(element, 2)
    zero = b"\x12\x00" if wrapped or element.kind == "list" else _zero(Field("", element, number=2))

    def entries(values: Mapping[str, Any]) -> bytes:
        return b"".join(
            [
                encode_delimited(
                    head,
                    encode_delimited(b"\x0a", key.encode()) + (zero if values[key] is None else write(values[key])),
                )
                for key in sorted(values)
            ]
        )

    return entries


def _value(type_: Type, number: int) -> Write:
    """The encoder of one value of a type as field `number`."""
    kind = type_.kind
    if kind == "struct":
        return _message(type_, number)
    if kind == "bool":
        head = tag(number, VARINT)
        true, false = head + b"\x01", head + b"\x00"
        return lambda value: true if value else false
    if kind in _VARINTS:
        head = tag(number, VARINT)
        return lambda value: head + varint(int(value))
    head = tag(number, LENGTH)
    if kind == "number":
        head = tag(number, FIXED64)
        pack = _struct.Struct("<d").pack
        return lambda value: head + pack(float(value))
    if kind == "string":
        return lambda value: encode_delimited(head, value.encode())
    if kind == "bytes":
        return lambda value: encode_delimited(head, base64.b64decode(value))
    if kind == "quantity":
        return lambda value: encode_delimited(head, encode_delimited(b"\x0a", str(value).encode()))
    if kind == "int-or-string":
        return lambda value: encode_delimited(head, _int_or_string(value))
    if kind in ("time", "microtime"):
        return lambda value: encode_delimited(head, _timestamp(value))
    assert kind in ("any", "raw", "fieldsv1"), kind
    return lambda value: encode_delimited(head, encode_delimited(b"\x0a", _json_text(value)))


def _json_text(value: Any) -> bytes:
    return value.text if value.__class__ is Verbatim else json_.encode(value)


def _message(type_: Type, number: int) -> Write:
    head = tag(number, LENGTH)
    # A recursive struct is filled later, so its method is bound now and called later.
    encode = struct(type_).encode
    return lambda value: encode_delimited(head, encode(value))


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + encode_delimited(b"\x1a", value.encode())
    return b"\x08\x00\x10" + varint(int(value)) + b"\x1a\x00"


def _timestamp(text: str) -> bytes:
    """{seconds 1, nanos 2} of a time such as 2020-01-01T00:00:00Z or ...00.123456Z; b"" for the zero time ("")."""
    if not text:
        return b""
    since = datetime.fromisoformat(text) - _EPOCH
    return b"\x08" + varint(since.days * 86400 + since.seconds) + b"\x10" + varint(since.microseconds * 1000)
