"""Decoding patch documents."""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchd.kinds import nested
from orchd.kinds.gotext.json_syntax import syntax_error

#: Maximum nesting depth of a patch. Results of deeper ones could not be encoded.
MAX_DEPTH: Final = 250


class SyntaxProblem(ValueError):
    """Invalid JSON. The message is the reference's."""


def decode(document: bytes | str, *, exact: bool = False) -> Any:
    """Decode a JSON document. Raises SyntaxProblem, also for a number beyond the range of floats unless `exact`: such a
    number then keeps its spelling (`shape_scalars.NumberText`)."""
    data = document.encode("utf-8", "replace") if isinstance(document, str) else document
    may_be_deep = data.count(b"{") + data.count(b"[") > MAX_DEPTH
    try:
        value = orjson.loads(data)
    except ValueError:
        why = syntax_error(data) or ("exceeded max depth" if may_be_deep else "")
        if why:
            raise SyntaxProblem(why) from None
        value = nested.decode(data.decode("utf-8", "replace"))
        why = "" if exact else nested.out_of_range(value)
        if why:
            raise SyntaxProblem(why) from None
    if may_be_deep:
        try:
            orjson.dumps(value)
        except orjson.JSONEncodeError:
            raise SyntaxProblem("exceeded max depth") from None
    return value
