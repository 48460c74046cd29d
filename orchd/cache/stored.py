"""The bytes that stand for an object: JSON whose resourceVersion is filled in when it is known (DESIGN 1).

Members come in the order apiVersion, kind, metadata, then the rest; the first member of metadata is an empty
resourceVersion. The revision is put there without decoding: the first occurrence of the empty member's bytes is it.
Before it stand only apiVersion and kind, which are checked to be strings, and no JSON string can contain those bytes,
because a quote inside a string has a backslash before it.
"""

from __future__ import annotations

from typing import Any

import orjson

_EMPTY = b'"resourceVersion":""'
_NAME = len(_EMPTY) - 1


def encode(obj: dict[str, Any]) -> bytes:
    """An object as stored bytes; what its metadata says of the resourceVersion is left out.

    Raises ValueError for what is no object: no metadata, or an apiVersion or kind that is no string. Numbers beyond
    64 bits and text that is no Unicode raise TypeError.
    """
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("an object without metadata cannot be stored")
    out: dict[str, Any] = {}
    for name in ("apiVersion", "kind"):
        if name in obj:
            if not isinstance(obj[name], str):
                raise ValueError(f"{name} must be a string")
            out[name] = obj[name]
    first: dict[str, Any] = {"resourceVersion": ""}
    first.update(metadata)
    first["resourceVersion"] = ""
    out["metadata"] = first
    # What is there already stays where it is.
    out.update((name, value) for name, value in obj.items() if name != "metadata")
    return orjson.dumps(out)


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
