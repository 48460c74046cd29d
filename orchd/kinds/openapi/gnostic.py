"""Protobuf encoding of OpenAPI documents by tables of messages, as gnostic defines them for v2 and v3.

Free-form values (defaults, enums, extensions) are YAML text there, for which JSON will do.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

Encode = Callable[[Any], bytes]

#: Characters that are valid in JSON strings and not in YAML.
_YAML_ESCAPES: Final = {c: f"\\u{c:04x}" for c in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}


def varint(value: int) -> bytes:
    """An integer of protobuf's wire format; negative ones in two's complement of 64 bits."""
    if value < 0:
        value += 1 << 64
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, wire: int) -> bytes:
    """The head of a field with a wire type (0: varint, 1: 64 bits, 2: with length)."""
    return varint(number << 3 | wire)


def text(value: Any) -> bytes:
    """The contents of a string field."""
    return str(value).encode()


def yaml_value(value: Any) -> bytes:
    """Message Any with its second field: the value as one line of YAML."""
    line = orjson.dumps(value).decode()
    raw = (line if line.isascii() and "\x7f" not in line else line.translate(_YAML_ESCAPES)).encode() + b"\n"
    return b"\x12" + varint(len(raw)) + raw


def scalar(type_: str, number: int) -> Encode | None:
    """An encoder of a whole field of a number type, None for other types. Zero values are left out (proto3)."""
    if type_ == "bool":
        head = tag(number, 0) + b"\x01"
        return lambda value: head if value else b""
    if type_ == "int64":
        head = tag(number, 0)
        return lambda value: head + varint(int(value)) if value else b""
    if type_ == "double":
        tag64 = tag(number, 1)
        return lambda value: tag64 + struct.pack("<d", value) if value else b""
    return None


class MessageEncoder:
    """Encoders of messages, compiled from tables.

    `messages`: message -> fields as ``member:number`` with ``=Type`` unless a string, ``*`` where repeated. ``x``
    stands for all members whose names begin with ``x-``. Members that no message has are left out of the encoding.
    `maps`: messages that are ordered maps -> the number of their only repeated field and the type of the values.
    Subclasses add messages that are neither.
    """

    def __init__(self, messages: Mapping[str, str], maps: Mapping[str, tuple[int, str]]) -> None:
        self._tables = messages
        self._maps = maps
        self._messages: dict[str, Encode] = {}

    def message(self, name: str) -> Encode:
        """The encoder of a message's contents."""
        encode = self._messages.get(name)
        if encode is None:
            # First a detour, so that a message may hold itself.
            self._messages[name] = lambda value: self._messages[name](value)
            encode = self._messages[name] = self._compile(name)
        return encode

    def _compile(self, name: str) -> Encode:
        if name in self._maps:
            return self._map(*self._maps[name])
        encode = self._special(name)
        return self._struct(self._tables[name]) if encode is None else encode

    def _special(self, name: str) -> Encode | None:
        """The encoder of a message that no table describes, None for others."""
        plain: dict[str, Encode] = {"string": text, "Any": yaml_value}
        return plain.get(name)

    def _field(self, number: int, type_: str) -> Encode:
        """The encoder of a whole field: tag, length and contents."""
        number_field = scalar(type_, number)
        if number_field is not None:
            return number_field
        head = tag(number, 2)
        contents = self.message(type_)

        def field(value: Any) -> bytes:
            raw = contents(value)
            return head + varint(len(raw)) + raw

        return field

    @staticmethod
    def _list(one: Encode) -> Encode:
        """A wrapper whose only field is repeated; a single value stands for a list of one."""
        return lambda value: b"".join(map(one, value)) if isinstance(value, list) else one(value)

    def _map(self, number: int, type_: str) -> Encode:
        entry = self.entry(number, type_)
        return lambda value: b"".join([entry(key, item) for key, item in value.items()])

    def entry(self, number: int, type_: str) -> Callable[[str, Any], bytes]:
        """The encoder of one entry of a map: (key, value)."""
        entry_tag = tag(number, 2)
        name = self._field(1, "string")
        value_field = self._field(2, type_)

        def one(key: str, item: Any) -> bytes:
            raw = name(key) + value_field(item)
            return entry_tag + varint(len(raw)) + raw

        return one

    def _struct(self, spec: str) -> Encode:
        fields: dict[str, tuple[int, Encode]] = {}
        extension: Encode | None = None
        for word in spec.split():
            head, _, type_ = word.partition("=")
            member, _, digits = head.partition(":")
            repeated = digits.endswith("*")
            number = int(digits.rstrip("*"))
            if member == "x":
                extension = self._extension(number)
                continue
            one = self._field(number, type_ or "string")
            fields[member] = (number, self._list(one) if repeated else one)

        def struct_(value: Mapping[str, Any]) -> bytes:
            parts: list[tuple[int, bytes]] = []
            for member, item in value.items():
                field = fields.get(member)
                if field is not None:
                    parts.append((field[0], field[1](item)))
                elif extension is not None and member.startswith("x-"):
                    parts.append((1 << 20, extension((member, item))))
            parts.sort(key=_by_number)
            return b"".join([raw for _, raw in parts])

        return struct_

    def _extension(self, number: int) -> Encode:
        head = tag(number, 2)
        name = self._field(1, "string")
        any_ = self._field(2, "Any")

        def extension(pair: tuple[str, Any]) -> bytes:
            raw = name(pair[0]) + any_(pair[1])
            return head + varint(len(raw)) + raw

        return extension

    def _additional_properties(self, schema_type: str) -> Encode:
        """A schema, or whether there are other members: fields 1 and 2 of one choice."""
        schema = self._field(1, schema_type)
        flag = tag(2, 0)
        # A chosen field is sent even when it is false.
        return lambda value: flag + (b"\x01" if value else b"\x00") if isinstance(value, bool) else schema(value)


def _by_number(part: tuple[int, bytes]) -> int:
    return part[0]
