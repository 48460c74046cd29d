"""The protobuf wire format (protobuf.dev, "Encoding"): varints, tags, lengths, skipping of unknown fields."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.bounds import MAX_VALUES

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
START_GROUP: Final = 3
END_GROUP: Final = 4
FIXED32: Final = 5


class ProtobufError(ValueError):
    """A malformed message. The error message is the reference's."""


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


#: Precomputed varints of small numbers, for lengths.
_SMALL: Final = tuple(_varint(n) for n in range(2048))


def varint(value: int) -> bytes:
    """Encode a number as a varint. Negative numbers take ten bytes."""
    if 0 <= value < 2048:
        return _SMALL[value]
    return _varint(value & 0xFFFFFFFFFFFFFFFF)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def encode_delimited(head: bytes, payload: bytes) -> bytes:
    """Encode a length-delimited field. `head` is its tag."""
    size = len(payload)
    return head + (_SMALL[size] if size < 2048 else _varint(size)) + payload


def truncated_error() -> ProtobufError:
    return ProtobufError("unexpected EOF")


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Decode the unsigned varint at `at`. Returns it and the position after it."""
    value = shift = 0
    while True:
        if at >= end:
            raise truncated_error()
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Start and end of the payload whose length is encoded at `at`."""
    if at < end and data[at] < 0x80:
        size, at = data[at], at + 1
    else:
        size, at = read_varint(data, at, end)
    if size >= 1 << 63:
        raise ProtobufError("proto: negative length found during unmarshaling")
    if at + size > end:
        raise truncated_error()
    return at, at + size


class Decoding:
    """What the decoding of one message needs: the number of fields that it may still have, nested messages included,
    and decoded messages that repeat, by payload and decoder, None if each message gets values of its own."""

    __slots__ = ("left", "repeats")

    def __init__(self, repeats: dict[tuple[bytes, Any], Any] | None = None) -> None:
        self.left = MAX_VALUES
        self.repeats = repeats

    def spend(self, count: int) -> None:
        """Count decoded fields. Raises ProtobufError above the limit."""
        self.left -= count
        if self.left < 0:
            raise ProtobufError(f"proto: message holds more than {MAX_VALUES} fields")


def skip(data: bytes, at: int, end: int, wire_type: int, decoding: Decoding) -> int:
    """The position after an unknown field whose tag has been read."""
    depth = 0
    decoding.spend(1)
    while True:
        if wire_type == VARINT:
            _, at = read_varint(data, at, end)
        elif wire_type == FIXED64:
            at += 8
        elif wire_type == LENGTH:
            _, at = read_length(data, at, end)
        elif wire_type == START_GROUP:
            depth += 1
        elif wire_type == END_GROUP:
            if not depth:
                raise ProtobufError("proto: unexpected end of group")
            depth -= 1
        elif wire_type == FIXED32:
            at += 4
        else:
            raise ProtobufError(f"proto: illegal wireType {wire_type}")
        if at > end:
            raise truncated_error()
        if not depth:
            return at
        decoding.spend(1)
        key, at = read_varint(data, at, end)
        wire_type = key & 7
