"""JSON lists and watch events, assembled from the bytes of objects without decoding them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from orchd.kinds.codec import json_

_HEADS: Final = {
    name: f'{{"type":"{name}","object":'.encode() for name in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
}

#: Begins the last member of metadata in the order of built-in kinds. Within a string its quotes would be escaped.
_MANAGED_FIELDS: Final = b',"managedFields":['

_TAIL: Final = b"]}\n"


def watch_frame(type_: str, obj: bytes) -> bytes:
    """Encode one event of a JSON watch stream, with a final newline. `obj` is compact JSON. Raises KeyError for unknown
    types."""
    return b"".join((_HEADS[type_], obj, b"}\n"))


def decode_metadata(frame: bytes) -> dict[str, Any]:
    """Decode a frame of `watch_frame`. Of the object, except that of an error, only the metadata without managedFields
    is sure to be in the result: what follows is not decoded if the members have the order of built-in kinds."""
    head, mark, _ = frame.partition(_MANAGED_FIELDS)
    if mark:
        try:
            # Decodes only where the member is one of the object's metadata, or of a sibling that follows them.
            event: dict[str, Any] = orjson.loads(head + b"}}}")
        except orjson.JSONDecodeError:
            pass
        else:
            if "uid" in event["object"].get("metadata", ()):
                return event
    event = orjson.loads(frame)
    if event["type"] != "ERROR":
        metadata = event["object"]["metadata"]
        event["object"] = {"metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
    return event


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
    """What precedes and follows the items of a list with sorted members: of custom kinds."""
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
