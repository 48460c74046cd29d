"""The bytes that stand for an object: JSON whose resourceVersion is filled in when it is known (DESIGN 1).

Members come in the order that clients know: kind, apiVersion, metadata, then the rest; in metadata the name first, the
managed fields last. The revision is put in without decoding: the first occurrence of the empty member's bytes is the
place. Before it stand only kind, apiVersion and members of metadata that are checked to be strings, and no JSON string
can contain those bytes, because a quote inside a string has a backslash before it.
"""

from __future__ import annotations

from typing import Any

import orjson

from orchd.kinds.verbatim import Verbatim

_EMPTY = b'"resourceVersion":""'
_NAME = len(_EMPTY) - 1
#: Members of metadata in the order of the API's own definition, those before the resourceVersion and those after.
_BEFORE = ("name", "generateName", "namespace", "selfLink", "uid")
_AFTER = (
    "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations",
    "ownerReferences", "finalizers", "clusterName", "managedFields",
)


#: Maps of metadata, whose keys the reference writes in order.
_MAPS = frozenset(("labels", "annotations"))
#: Members of config maps and secrets in the order of their definition.
_CONTENT = ("immutable", "data", "binaryData", "type")


def _sorted(value: Any) -> Any:
    """A map in the order of its keys."""
    return dict(sorted(value.items())) if isinstance(value, dict) and len(value) > 1 else value


def encode(obj: dict[str, Any]) -> bytes:
    """An object as stored bytes; what its metadata says of the resourceVersion is left out.

    Raises ValueError for what is no object: no metadata, or an apiVersion or kind that is no string. Numbers beyond
    64 bits and text that is no Unicode raise TypeError.
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
    # What is there already stays where it is.
    out.update((name, value) for name, value in obj.items() if name not in out)
    data = out.get("data")
    if data.__class__ is Verbatim:
        out["data"] = orjson.Fragment(data.text)
    # A copy: what orjson gives has room for several times its length, which would be kept as long as the object.
    return b"%b" % orjson.dumps(out)


def with_revision(value: bytes, revision: int) -> bytes:
    """Stored bytes with the revision in place. Raises ValueError for bytes that `encode` did not make."""
    at = value.find(_EMPTY)
    if at < 0:
        raise ValueError("no place for the resourceVersion")
    at += _NAME
    return b"%b%d%b" % (value[:at], revision, value[at:])


def at_revision(json: bytes, old: int, new: int) -> bytes:
    """Bytes that have the revision `old` in place, with `new` instead: the last state of what was deleted."""
    return json.replace(b'"resourceVersion":"%d"' % old, b'"resourceVersion":"%d"' % new, 1)
