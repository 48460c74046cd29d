"""Decoding patch documents."""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchd.kinds.jsontext import syntax_error

#: Patches that are nested deeper are refused like those that are deeper than the reference allows: what they make could
#: not be written.
MAX_DEPTH: Final = 250


class SyntaxProblem(ValueError):
    """A document that is not JSON; the text is the reference decoder's."""


def decode(document: bytes | str) -> Any:
    """The value of a JSON document; `SyntaxProblem` when it is none."""
    data = document.encode("utf-8", "replace") if isinstance(document, str) else document
    may_be_deep = data.count(b"{") + data.count(b"[") > MAX_DEPTH
    try:
        value = orjson.loads(data)
    except ValueError:
        why = syntax_error(data) or ("exceeded max depth" if may_be_deep else "invalid JSON")
        raise SyntaxProblem(why) from None
    if may_be_deep:
        try:
            orjson.dumps(value)
        except orjson.JSONEncodeError:
            raise SyntaxProblem("exceeded max depth") from None
    return value
