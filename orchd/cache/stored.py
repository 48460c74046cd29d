"""The stored encoding of objects: JSON with an empty resourceVersion that is filled in later (docs/decisions.md 1).

Members have the usual order: kind, apiVersion, metadata, then the rest; in metadata the name first, the managed fields
last. The revision is inserted without decoding, at the first occurrence of the empty member's bytes. Only kind,
apiVersion and members of metadata that are checked to be strings precede it, and no JSON string can contain these bytes,
because a quote inside a string is preceded by a backslash.
"""

from __future__ import annotations

from typing import Any

import orjson

from orchd.kinds.verbatim import Verbatim

_EMPTY = b'"resourceVersion":""'
_NAME = len(_EMPTY) - 1
#: Members of metadata in the order of the API definition, before and after the resourceVersion.
_BEFORE = ("name", "generateName", "namespace", "selfLink", "uid")
_AFTER = (
    "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations",
    "ownerReferences", "finalizers", "clusterName", "managedFields",
)


#: Maps of metadata whose keys the reference sorts.
_MAPS = frozenset(("labels", "annotations"))
#: Members of ConfigMaps and Secrets in the order of the API definition.
_CONTENT = ("immutable", "data", "binaryData", "type")


def _sorted(value: Any) -> Any:
    """A map with sorted keys; other values unchanged."""
    return dict(sorted(value.items())) if isinstance(value, dict) and len(value) > 1 else value


def encode(obj: dict[str, Any]) -> bytes:
    """Encode an object for the store. The resourceVersion in its metadata is ignored.

    Raises ValueError without metadata, and if apiVersion, kind or leading members of metadata are not strings. Raises
    TypeError for integers beyond 64 bits and for strings that are not valid Unicode.
    """
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("an object without metadata cannot be stored")
    out: dict[str, Any] = {}
    for name in ("kind", "apiVersion"):
        if name in obj:
            if not isinstance(obj[name], str):
                raise ValueError(f"{name} must be a string")
            out[name] = obj[name]
    ordered: dict[str, Any] = {}
    for name in _BEFORE:
        if name in metadata:
            if not isinstance(metadata[name], str):
                raise ValueError(f"metadata.{name} must be a string")
            ordered[name] = metadata[name]
    ordered["resourceVersion"] = ""
    for name in _AFTER:
        if name in metadata:
            value = metadata[name]
            ordered[name] = _sorted(value) if name in _MAPS else value
    if len(ordered) <= len(metadata):
        ordered.update((name, value) for name, value in metadata.items() if name not in ordered)
    out["metadata"] = ordered
    if "data" in obj or "binaryData" in obj:
        for name in _CONTENT:
            if name in obj:
                value = obj[name]
                out[name] = _sorted(value) if value.__class__ is dict else value
    # Members that are present keep their position.
    out.update((name, value) for name, value in obj.items() if name not in out)
    data = out.get("data")
    if data.__class__ is Verbatim:
        out["data"] = orjson.Fragment(data.text)
    # Copied: the buffer of orjson's result has several times its length, and would live as long as the object.
    return b"%b" % orjson.dumps(out)


def with_revision(value: bytes, revision: int) -> bytes:
    """Insert the revision into stored bytes. Raises ValueError for bytes that `encode` did not produce."""
    at = value.find(_EMPTY)
    if at < 0:
        raise ValueError("no place for the resourceVersion")
    at += _NAME
    return b"%b%d%b" % (value[:at], revision, value[at:])


def at_revision(json: bytes, old: int, new: int) -> bytes:
    """Replace the revision `old` by `new`: the last state of a deleted object has the revision of the deletion."""
    return json.replace(b'"resourceVersion":"%d"' % old, b'"resourceVersion":"%d"' % new, 1)
