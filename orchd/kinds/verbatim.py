"""JSON of which the text counts, not only the value: revisions of controllers may be anything, and are compared as bytes."""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

#: Kind of the group apps -> its member that is kept as it was written.
MEMBERS: Final = {"ControllerRevision": "data"}
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]')
#: One frame of a watch is one line, so that other blanks become spaces; inside strings there are none.
_BLANKS: Final = bytes.maketrans(b"\t\r\n", b"   ")


class Verbatim(dict[str, Any]):
    """An object with the text that it was read from."""

    __slots__ = ("text",)

    def __init__(self, value: dict[str, Any], text: bytes) -> None:
        super().__init__(value)
        self.text = text


def written(value: Any) -> bytes:
    """The text of a value: its own, or the shortest."""
    return value.text if isinstance(value, Verbatim) else orjson.dumps(value)


def member(document: bytes, name: str) -> bytes:
    """The text of a member of a JSON object, on one line; b"" where it has no such member."""
    depth, start, at_key, key = 0, 0, True, b""
    wanted = orjson.dumps(name)
    for token in _TOKEN.finditer(document):
        text = token.group()
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
            if depth == 0 and start:
                return document[start:token.start()].strip().translate(_BLANKS)
        elif depth == 1:
            if text == b":":
                at_key = False
                if key == wanted:
                    start = token.end()
            elif text == b",":
                if start:
                    return document[start:token.start()].strip().translate(_BLANKS)
                at_key = True
            elif at_key:
                key = text
    return b""


def kept(obj: dict[str, Any], document: bytes) -> dict[str, Any]:
    """`obj`, which was read from `document`, with the text of the member that counts; `obj` itself for other kinds."""
    name = MEMBERS.get(obj.get("kind", ""))
    value = None if name is None else obj.get(name)
    if name is None or not isinstance(value, dict):
        return obj
    text = member(document, name)
    return {**obj, name: Verbatim(value, text)} if text else obj
