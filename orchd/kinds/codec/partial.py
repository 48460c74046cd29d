"""PartialObjectMetadata: the representation of an object that consists of its metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from orchd.kinds.codec import frames, json_, protobuf
from orchd.kinds.ir import Type

KIND: Final = "PartialObjectMetadata"
LIST_KIND: Final = "PartialObjectMetadataList"


def partial(obj: Mapping[str, Any], api_version: str) -> dict[str, Any]:
    """The PartialObjectMetadata of an object. `api_version` is ``meta.../v1`` or ``v1beta1``."""
    return {"kind": KIND, "apiVersion": api_version, "metadata": obj.get("metadata") or {}}


def partial_json(stored: bytes, api_version: str) -> bytes:
    """Encode the PartialObjectMetadata of an object's JSON as compact JSON without a final newline."""
    return json_.encode(partial(orjson.loads(stored), api_version))


def partial_message(stored: bytes, type_: Type) -> bytes:
    """Encode a PartialObjectMetadata as a protobuf message. `type_` is ``meta/v1.PartialObjectMetadata``."""
    return protobuf.encode_message(partial(orjson.loads(stored), ""), type_)


def partial_list(api_version: str, metadata: Mapping[str, Any], items: Iterable[bytes]) -> list[bytes]:
    """Encode a PartialObjectMetadataList in pieces, from items of `partial_json`."""
    return frames.list_pieces(api_version, LIST_KIND, metadata, items, null=True)
