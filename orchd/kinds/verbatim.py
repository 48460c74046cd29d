"""Objects that preserve their JSON text: data of controller revisions, which clients compare byte by byte."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from orchd.kinds.codec import json_

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]')
#: Whole numbers below this one are encoded as integers.
_WHOLE: Final = 2.0**63
#: Line breaks and tabs become spaces, because a watch frame is one line; strings cannot contain them.
_BLANKS: Final = bytes.maketrans(b"\t\r\n", b"   ")


class Verbatim(dict[str, Any]):
    """An object with the JSON text that it was decoded from."""

    __slots__ = ("text",)

    def __init__(self, value: dict[str, Any], text: bytes) -> None:
        super().__init__(value)
        self.text = text


def text_of(value: Any) -> bytes:
    """The JSON text of a value, escaped as in responses: the preserved text, or the compact encoding, where a number
    that keeps its spelling is a float."""
    return json_.escape(value.text if isinstance(value, Verbatim) else orjson.dumps(value, default=float))


def sort_member(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """`obj` with the members of its member `name` sorted, and whole numbers as integers, as the reference encodes
    values that were not sent as JSON. A preserved text is kept."""
    value = obj.get(name)
    return obj if value is None or isinstance(value, Verbatim) else {**obj, name: _sorted(value)}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return int(value)
    return value


def member_text(document: bytes, name: str) -> bytes:
    """The text of a member of a JSON object on one line, b"" if it is absent."""
    depth, start, at_key, key = 0, 0, True, b""
    encoded = orjson.dumps(name)
    for token in _TOKEN.finditer(document):
        text = token.group()
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
            if depth == 0 and start:
                return document[start : token.start()].strip().translate(_BLANKS)
        elif depth == 1:
            if text == b":":
                at_key = False
                if key == encoded:
                    start = token.end()
            elif text == b",":
                if start:
                    return document[start : token.start()].strip().translate(_BLANKS)
                at_key = True
            elif at_key:
                key = text
    return b""


def preserve_text(obj: dict[str, Any], document: bytes, name: str) -> dict[str, Any]:
    """`obj`, decoded from the JSON `document`, with the preserved text of its member `name`."""
    return with_text(obj, name, member_text(document, name)) if isinstance(obj.get(name), dict) else obj


def with_text(obj: dict[str, Any], name: str, text: bytes) -> dict[str, Any]:
    """`obj` with the text that its member `name` was decoded from.

    The text is kept only if orjson reads the member's value from it, because readers of the stored object use
    orjson: not with invalid UTF-8 or lone surrogates, which were replaced, and not that of an earlier one of
    repeated members."""
    value = obj.get(name)
    if not isinstance(value, dict):
        return obj
    text = text.translate(_BLANKS)
    try:
        is_whole = bool(text) and orjson.loads(text) == value
    except orjson.JSONDecodeError:
        is_whole = False
    return {**obj, name: Verbatim(value, text)} if is_whole else obj
