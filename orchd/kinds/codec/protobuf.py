"""Protobuf bodies, byte for byte those of the reference's generated code.

Unlike general libraries, that code writes a non-pointer field even if it is zero, a pointer only if it is set, lists
and maps element by element, map entries sorted by key, and fields in the order of their numbers. The rules are compiled
from a `Type` once, into tables in its memo.

A body is an envelope: four bytes of magic, then runtime.Unknown {typeMeta 1, raw 2, contentEncoding 3, contentType 4}.
A message without it (`encode_message`) is the same for a GET, an item of a list and the object of an event, so it can
be cached beside an entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import PROTOBUF_MAGIC
from orchd.errors import ApiError
from orchd.kinds.codec import protobuf_decode, protobuf_encode
from orchd.kinds.codec.wire import (
    LENGTH,
    Decoding,
    ProtobufError,
    encode_delimited,
    read_length,
    read_varint,
    skip,
    truncated_error,
)
from orchd.kinds.ir import Type

__all__ = [
    "Envelope",
    "ProtobufError",
    "Repeats",
    "decode_message",
    "encode",
    "encode_list",
    "encode_message",
    "envelope",
    "has_form",
    "list_message",
    "no_form",
    "open_envelope",
    "open_list",
    "open_watch_event",
    "raw_text",
    "watch_frame",
]

#: Number of parts above which `Repeats` begins anew. A message of 50,000 values adds some thousand at most.
_MOST_REPEATS: Final = 4096
_NO_CONTENT: Final = b"\x1a\x00\x22\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    api_version: str
    kind: str
    raw: bytes


class Repeats:
    """Decoded parts of the last messages, at most some thousand, to be used again for equal ones."""

    def __init__(self) -> None:
        self._parts: dict[tuple[bytes, Any], Any] = {}

    def current(self) -> dict[tuple[bytes, Any], Any]:
        if len(self._parts) > _MOST_REPEATS:
            self._parts = {}
        return self._parts


def has_form(type_: Type) -> bool:
    """True if objects of a struct have a protobuf encoding. Tables and custom kinds have none."""
    form: bool | None = type_.memo.get("protobuf.has_form")
    if form is None:
        members = type_.members
        form = type_.memo["protobuf.has_form"] = type_.kind == "struct" and (
            not members or any(m.number for m in members)
        )
    return form


def no_form() -> ApiError:
    """ApiError 406 for a kind without a protobuf encoding."""
    return ApiError(
        406,
        "NotAcceptable",
        "object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot "
        "be encoded to a protobuf message",
    )


def encode_message(obj: Mapping[str, Any], type_: Type) -> bytes:
    """Encode the fields of an object (without apiVersion and kind) as a message."""
    out: bytes = protobuf_encode.struct(type_).encode(obj)
    return out


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    """Wrap a message as a complete body."""
    meta = encode_delimited(b"\x0a", api_version.encode()) + encode_delimited(b"\x12", kind.encode())
    return b"".join((PROTOBUF_MAGIC, encode_delimited(b"\x0a", meta), encode_delimited(b"\x12", raw), _NO_CONTENT))


def encode(obj: Mapping[str, Any], type_: Type, *, api_version: str = "", kind: str = "") -> bytes:
    """Encode an object as a complete body. apiVersion and kind default to those of the object."""
    return envelope(api_version or obj.get("apiVersion", ""), kind or obj.get("kind", ""), encode_message(obj, type_))


def list_message(
    metadata: Mapping[str, Any], items: Iterable[bytes], list_meta: Type, *, items_first: bool = False
) -> bytes:
    """Assemble a list message from the messages of its items. `list_meta` is the type ``meta/v1.ListMeta``.

    `items_first`: items precede the metadata (PartialObjectMetadataList of meta/v1beta1).
    """
    if items_first:
        return b"".join(encode_delimited(b"\x0a", item) for item in items) + encode_delimited(
            b"\x12", encode_message(metadata, list_meta)
        )
    parts = [encode_delimited(b"\x0a", encode_message(metadata, list_meta))]
    parts.extend(encode_delimited(b"\x12", item) for item in items)
    return b"".join(parts)


def encode_list(
    api_version: str,
    kind: str,
    metadata: Mapping[str, Any],
    items: Iterable[bytes],
    list_meta: Type,
    *,
    items_first: bool = False,
) -> bytes:
    """Encode a list as a complete body. `kind` is that of the list (PodList)."""
    return envelope(api_version, kind, list_message(metadata, items, list_meta, items_first=items_first))


def watch_frame(type_: str, body: bytes) -> bytes:
    """Encode an event of a watch stream: four bytes of length (big-endian), then meta/v1.WatchEvent with a complete
    body as its object."""
    event = encode_delimited(b"\x0a", type_.encode()) + encode_delimited(b"\x12", encode_delimited(b"\x0a", body))
    return len(event).to_bytes(4, "big") + event


def open_envelope(data: bytes) -> Envelope:
    """Split a complete body into its parts. Raises ProtobufError."""
    if data[:4] != PROTOBUF_MAGIC:
        prefix = " ".join(str(b) for b in PROTOBUF_MAGIC)
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    decoding = Decoding()
    members = _fields(data, 4, len(data), ("TypeMeta", "Raw", "ContentEncoding", "ContentType"), "Unknown", decoding)
    meta = members.get(1, b"")
    names = _fields(meta, 0, len(meta), ("APIVersion", "Kind"), "TypeMeta", decoding)
    return Envelope(
        api_version=names.get(1, b"").decode("utf-8", "replace"),
        kind=names.get(2, b"").decode("utf-8", "replace"),
        raw=members.get(2, b""),
    )


def raw_text(body: bytes, type_: Type, name: str) -> bytes:
    """The text of a member with raw JSON in a complete body of an object, b"" if it is absent. Raises ProtobufError."""
    decoding = Decoding()
    message = open_envelope(body).raw
    member = protobuf_decode.payload(message, 0, len(message), decoding, type_.fields[name].number)
    return protobuf_decode.payload(member, 0, len(member), decoding)


def open_list(raw: bytes) -> tuple[bytes, list[bytes]]:
    """Split the message of a list into those of its metadata and of its items. Raises ProtobufError."""
    metadata, items = b"", []
    decoding = Decoding()
    at, end = 0, len(raw)
    try:
        while at < end:
            key, at = read_varint(raw, at, end)
            if key & 7 != LENGTH:
                at = skip(raw, at, end, key & 7, decoding)
                continue
            start, at = read_length(raw, at, end)
            if key >> 3 == 1:
                metadata = raw[start:at]
            elif key >> 3 == 2:
                items.append(raw[start:at])
    except IndexError:
        raise truncated_error() from None
    return metadata, items


def open_watch_event(data: bytes) -> tuple[str, bytes]:
    """The type of an event of a watch stream, and the complete body of its object. `data` is a frame without its
    length. Raises ProtobufError."""
    decoding = Decoding()
    try:
        members = _fields(data, 0, len(data), ("Type", "Object"), "WatchEvent", decoding)
        held = members.get(2, b"")
        body = _fields(held, 0, len(held), ("Raw",), "RawExtension", decoding).get(1, b"")
    except IndexError:
        raise truncated_error() from None
    return members.get(1, b"").decode("utf-8", "replace"), body


def _fields(
    data: bytes, at: int, end: int, names: tuple[str, ...], message: str, decoding: Decoding
) -> dict[int, bytes]:
    """The last payload of each of the fields 1, 2 ... of a message of length-delimited fields."""
    out: dict[int, bytes] = {}
    while at < end:
        key, at = read_varint(data, at, end)
        number, wire_type = key >> 3, key & 7
        protobuf_decode.check_key(message, number, wire_type)
        decoding.spend(1)
        if number <= len(names):
            if wire_type != LENGTH:
                raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {names[number - 1]}")
            start, at = read_length(data, at, end)
            out[number] = data[start:at]
        else:
            at = skip(data, at, end, wire_type, decoding)
    return out


def decode_message(data: bytes, type_: Type, repeats: Repeats | None = None) -> dict[str, Any]:
    """Decode the fields of a message to JSON data, without empty fields flagged ``omit``. Raises ProtobufError.

    With `repeats`, equal parts of messages are the same Python objects: for callers that do not edit them.
    """
    decoding = Decoding(None if repeats is None else repeats.current())
    try:
        out: dict[str, Any] = protobuf_decode.struct(type_).decode(data, 0, len(data), decoding)
    except IndexError:
        raise truncated_error() from None
    except RecursionError:
        raise ProtobufError("proto: exceeded max depth") from None
    return out
