"""PartialObjectMetadata: the representation of an object that consists of its metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from orchd.kinds.codec import frames, json_, protobuf
from orchd.kinds.ir import Type

KIND: Final = "PartialObjectMetadata"
LIST_KIND: Final = "PartialObjectMetadataList"

#: Members of metadata in declared order: objects of custom kinds have them sorted.
_METADATA: Final = tuple(
    "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds labels annotations ownerReferences finalizers clusterName managedFields".split()
)
#: The annotation that only complete objects have.
_VERSIONED: Final = "deprecated.daemonset.template.generation"
_FIRST: Final = frozenset(("name", "generateName"))
_OWNER: Final = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_ENTRY: Final = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")


def partial(obj: Mapping[str, Any], api_version: str) -> dict[str, Any]:
    """The PartialObjectMetadata of an object. `api_version` is ``meta.../v1`` or ``v1beta1``."""
    metadata = obj.get("metadata") or {}
    if _VERSIONED in (metadata.get("annotations") or {}):
        kept = {name: text for name, text in metadata["annotations"].items() if name != _VERSIONED}
        metadata = {**metadata, "annotations": kept}
        if not kept:
            del metadata["annotations"]
    if "creationTimestamp" in metadata and next(iter(metadata)) not in _FIRST:
        metadata = _order_members(metadata, _METADATA)
        for name, order in (("ownerReferences", _OWNER), ("managedFields", _ENTRY)):
            if metadata.get(name):
                metadata[name] = [_order_members(item, order) for item in metadata[name]]
    return {"kind": KIND, "apiVersion": api_version, "metadata": metadata}


def _order_members(value: Mapping[str, Any], order: Iterable[str]) -> dict[str, Any]:
    """A struct with its members in declared order."""
    return {**{name: value[name] for name in order if name in value}, **value}


def partial_json(stored: bytes, api_version: str) -> bytes:
    """Encode the PartialObjectMetadata of an object's JSON as compact JSON without a final newline."""
    return json_.encode(partial(orjson.loads(stored), api_version))


def partial_message(stored: bytes, type_: Type) -> bytes:
    """Encode a PartialObjectMetadata as a protobuf message. `type_` is ``meta/v1.PartialObjectMetadata``."""
    return protobuf.encode_message(partial(orjson.loads(stored), ""), type_)


def partial_list(api_version: str, metadata: Mapping[str, Any], items: Iterable[bytes]) -> list[bytes]:
    """Encode a PartialObjectMetadataList in pieces, from items of `partial_json`."""
    return frames.list_pieces(api_version, LIST_KIND, metadata, items, null=True)
