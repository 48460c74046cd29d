"""The stored encoding of objects: JSON with an empty resourceVersion that is filled in later (docs/decisions.md 1).

Objects of built-in kinds begin with kind, apiVersion and metadata; in metadata the name is first, the managed fields
last. The revision is inserted without decoding, at the first occurrence of the empty member's bytes. Only kind,
apiVersion and members of metadata that are checked to be strings precede it, and no JSON string can contain these
bytes, because a quote inside a string is preceded by a backslash.

Objects of custom kinds are stored as the reference shows them, with the members of every object sorted
(`orchd.kinds.codec.sortedjson`). Anything may precede the resourceVersion there, so it is marked by a blank, which
encoded JSON has only inside strings. Their first member is never kind, because apiVersion precedes it; so the two forms
can be told apart. Values of custom kinds that were stored in the form of built-in ones remain readable.
"""

from __future__ import annotations

from typing import Any

import orjson

from orchd.kinds.codec import json_, sortedjson
from orchd.kinds.verbatim import Verbatim
from orchd.store.interfaces import Lent

_EMPTY = b'"resourceVersion":""'
#: The empty member of sorted objects.
_MARKED = b'"resourceVersion": ""'
_MARK = orjson.Fragment(b' ""')
#: Members of metadata that precede the resourceVersion in the API definition.
_BEFORE = ("name", "generateName", "namespace", "selfLink", "uid")


def encode(obj: dict[str, Any], *, custom: bool = False) -> bytes:
    """Encode an object for the store, of a `custom` kind with sorted members. Others keep their order, except that
    kind, apiVersion and the leading members of metadata come first. The resourceVersion in metadata is ignored.

    Raises ValueError without metadata, and if apiVersion, kind or leading members of metadata are not strings. Raises
    TypeError for integers beyond 64 bits and for strings that are not valid Unicode.
    """
    if not custom:
        return encode_arranged(arrange(obj))
    metadata = _metadata(obj)
    if not isinstance(obj.get("apiVersion"), str) or not isinstance(obj.get("kind"), str):
        raise ValueError("apiVersion and kind must be strings")
    return sortedjson.encode({**obj, "metadata": {**metadata, "resourceVersion": _MARK}})


def _metadata(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise ValueError("an object without metadata cannot be stored")
    return metadata


def arrange(obj: dict[str, Any]) -> dict[str, Any]:
    """An object of a built-in kind with the members in the order of its encoding, and an empty resourceVersion. Raises
    ValueError as `encode`."""
    metadata = _metadata(obj)
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
    # Members that are present keep their position when they are set again.
    ordered["resourceVersion"] = ""
    ordered |= metadata
    ordered["resourceVersion"] = ""
    out["metadata"] = ordered
    out |= obj
    out["metadata"] = ordered
    return out


def encode_arranged(obj: dict[str, Any]) -> bytes:
    """Encode what `arrange` returned. Raises TypeError as `encode`."""
    data = obj.get("data")
    if data.__class__ is Verbatim:
        obj = {**obj, "data": orjson.Fragment(data.text)}
    # Copied: the buffer of orjson's result has several times its length, and would live as long as the object.
    return b"%b" % orjson.dumps(obj)


def with_revision(value: bytes, revision: int) -> bytes:
    """The JSON to serve: stored bytes with the revision, and escaped as the reference does. Raises ValueError for bytes
    that `encode` did not produce."""
    return with_origin(value, revision)[0]


def with_origin(value: bytes, revision: int) -> tuple[bytes, Lent | None]:
    """The result of `with_revision`, and the position of the stored bytes in it, None if they were escaped."""
    before, empty, after = value.partition(_EMPTY if value.startswith(sortedjson.UNSORTED) else _MARKED)
    if not empty:
        before, empty, after = value.partition(_EMPTY)
    if not empty:
        raise ValueError("no place for the resourceVersion")
    json = b'%b"resourceVersion":"%d"%b' % (before, revision, after)
    escaped = json_.escape(json)
    # Both members end with the quotation mark that is left out here.
    return escaped, Lent(json, len(before), len(json) - len(after) - 1, empty[:-1]) if escaped is json else None


def without_revision(value: bytes, sent: str = "") -> bytes:
    """The JSON to serve of stored bytes without a revision: the object of a dry run has the resourceVersion that was
    `sent`, any text, or none."""
    before, _, after = value.partition(_EMPTY if value.startswith(sortedjson.UNSORTED) else _MARKED)
    if sent:
        before += b'"resourceVersion":' + orjson.dumps(sent)
    elif after.startswith(b","):
        after = after[1:]
    else:
        before = before.removesuffix(b",")
    return json_.escape(before + after)


def at_revision(json: bytes, old: int, new: int) -> bytes:
    """Replace the revision `old` by `new`: the last state of a deleted object has the revision of the deletion."""
    member = b'"resourceVersion":"%d"' % old
    if json.startswith(sortedjson.UNSORTED) or json.count(member) == 1:
        return json.replace(member, b'"resourceVersion":"%d"' % new, 1)
    obj = orjson.loads(json)
    obj["metadata"]["resourceVersion"] = str(new)
    return sortedjson.encode_escaped(obj)
