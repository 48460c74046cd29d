"""Names of fields in expressions: names of JSON that the language cannot spell are escaped."""

from __future__ import annotations

import re

from orchd.cel.parse import RESERVED

_SPECIAL = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}
_PARTS = re.compile(r"__|[-./]")
_PLAIN = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII)
_SEQUENCE = re.compile(r"__([^_]+)__")
#: Reserved words that are no names of fields without being escaped.
_WORDS = RESERVED


def escape(name: str) -> str | None:
    """Return the name of a field as expressions spell it, None if they cannot."""
    if not _PLAIN.fullmatch(name):
        return None
    if name in _WORDS:
        return f"__{name}__"
    return _PARTS.sub(lambda match: _SPECIAL[match.group()], name)


def unescape(name: str) -> str | None:
    """Return the name that an expression means, None if it means none."""
    if "__" not in name:
        return name
    valid = True

    def replace(match: re.Match[str]) -> str:
        nonlocal valid
        word = match.group(1)
        if word in _ESCAPED:
            return _ESCAPED[word]
        if word not in _WORDS or len(match.group()) != len(name):
            valid = False
        return word

    result = _SEQUENCE.sub(replace, name)
    return result if valid else None
