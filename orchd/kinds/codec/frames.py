"""JSON lists and watch events, assembled from the bytes of objects without decoding them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from orchd.kinds.codec import json_

_HEADS: Final = {
    name: f'{{"type":"{name}","object":'.encode() for name in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
}

#: Begins the last member of metadata in the order of built-in kinds. Within a string its quotes would be escaped.
_MANAGED_FIELDS: Final = b',"managedFields":['

#: The last member of sorted metadata. The uid of an owner is followed by another owner, or by the end of their list.
_SORTED_END: Final = re.compile(rb'"uid":"[^"\\]*"\}(?=,"|\})')

#: The beginning of an object whose metadata precede its other members, and what follows up to the next brace outside of
#: strings: one match of thousands of strings takes less than half the time of one match each.
_METADATA_FIRST: Final = re.compile(rb'\{(?:"(?:kind|apiVersion)":"[^"\\]*",)*"metadata":\{')
_BRACES: Final = re.compile(rb'[^{}"]*+(?:"(?:[^"\\]++|\\.)*+"[^{}"]*+)*+([{}])', re.S)
#: Bytes within which they are looked for: the end of longer metadata costs as much as decoding the object.
_SEARCHED: Final = 256 * 1024

_TAIL: Final = b"]}\n"


def watch_frame(type_: str, obj: bytes) -> bytes:
    """Encode one event of a JSON watch stream, with a final newline. `obj` is compact JSON. Raises KeyError for unknown
    types."""
    return b"".join((_HEADS[type_], obj, b"}\n"))


def decode_metadata(frame: bytes) -> dict[str, Any]:
    """Decode a frame of `watch_frame`, whose object is reduced by `decode_object_metadata` unless it is an error."""
    for type_, head in _HEADS.items():
        if type_ != "ERROR" and frame.startswith(head):
            return {"type": type_, "object": decode_object_metadata(frame[len(head) : -2])}
    event: dict[str, Any] = orjson.loads(frame)
    return event


def decode_object_metadata(obj: bytes) -> dict[str, Any]:
    """The metadata, without managedFields, of an object in compact JSON, as the only member. What follows the metadata
    is not decoded if their members have the order of built-in kinds, or are sorted."""
    for head in _metadata_heads(obj):
        try:
            decoded: dict[str, Any] = orjson.loads(head)
        except orjson.JSONDecodeError:
            # What was found belongs to a value of the object.
            continue
        if "uid" in decoded.get("metadata", ()):
            break
    else:
        decoded = orjson.loads(obj)
    metadata = decoded["metadata"]
    return {"metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _metadata_heads(obj: bytes) -> Iterator[bytes]:
    """The parts of an object that may end with its metadata, completed to JSON."""
    head, mark, _ = obj.partition(_MANAGED_FIELDS)
    if mark:
        yield head + b"}}"
    if (first := _METADATA_FIRST.match(obj)) and (end := _closing(obj, first.end())):
        yield obj[:end] + b"}"
    if last := _SORTED_END.search(obj):
        yield obj[: last.end()] + b"}"


def _closing(obj: bytes, at: int) -> int:
    """The end of the JSON object whose members begin at `at`, 0 if it is far away."""
    depth, last = 1, at + _SEARCHED
    # Not `finditer`, which would search from each byte on for what does not follow.
    while brace := _BRACES.match(obj, at, last):
        depth += 1 if brace[1] == b"{" else -1
        at = brace.end()
        if not depth:
            return at
    return 0


def list_pieces(
    api_version: str, kind: str, metadata: Mapping[str, Any], items: Iterable[bytes], *, null: bool = False
) -> list[bytes]:
    """Encode a list as pieces to be sent in order, with a final newline. `kind` is that of the list (PodList).

    `null`: the empty list has ``items: null`` (PartialObjectMetadataList).
    """
    head = b'{"kind":%s,"apiVersion":%s,"metadata":%s,"items":' % (
        json_.encode(kind),
        json_.encode(api_version),
        json_.encode(metadata),
    )
    listed = list(items)
    if not listed:
        return [head + (b"null}\n" if null else b"[]}\n")]
    # Joining all pieces would copy a large list twice; the items are joined once and sent between head and tail.
    return [head + b"[", b",".join(listed), b"]}\n"]


def sorted_ends(api_version: str, kind: str, metadata: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The bytes before and after the items of a list of a custom kind, whose members are sorted."""
    head = b'{"apiVersion":%s,"items":[' % json_.encode(api_version)
    sorted_metadata = dict(sorted(metadata.items()))
    return head, b'],"kind":%s,"metadata":%s}\n' % (json_.encode(kind), json_.encode(sorted_metadata))


def list_size(head: bytes, items: Sequence[bytes], skip: int, tail: bytes = _TAIL) -> int:
    """Total size of the parts of `list_parts` in bytes."""
    separators = (len(items) - 1) * (2 if skip else 1)
    return len(head) + sum(map(len, items)) - skip * len(items) + separators + len(tail)


def list_parts(head: bytes, items: Sequence[bytes], skip: int, together: int, tail: bytes = _TAIL) -> Iterator[bytes]:
    """Generate a non-empty list in parts of `together` items, to limit memory.

    `head` extends to the start of the first item, without the first `skip` bytes that all items share.
    """
    between = b",{" if skip else b","
    yield head
    for start in range(0, len(items), together):
        part = items[start : start + together]
        if start:
            yield between
        yield between.join([item[skip:] for item in part] if skip else part)
    yield tail
