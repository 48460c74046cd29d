"""JSON objects that a YAML parser reads alike, decoded by the JSON parser: clients send most YAML bodies as JSON.

YAML includes JSON, except for details of escapes, control characters, numbers, and keys far from their colon. Texts that may
contain such a detail are left to the YAML parser.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

#: Longer texts are left to the YAML parser, which counts values.
_LONGEST: Final = 1 << 16
#: A key and its colon must be within 1,024 characters, in each of which an escape may double.
_LONGEST_KEY: Final = 500
#: One line of printable ASCII.
_PRINTABLE: Final = re.compile(rb"\{[ -~]*\}\n?")
#: An escape other than those of both languages, or a space between a key and its colon.
_DIFFERENT: Final = re.compile(rb'\\[^"\\bfnrt]|" :')


def decode_object(data: bytes) -> dict[str, Any] | None:
    """The object that a text encodes in JSON, if it encodes the same object in YAML; None for any other text."""
    if len(data) > _LONGEST or not _PRINTABLE.fullmatch(data) or _DIFFERENT.search(data):
        return None
    try:
        value: dict[str, Any] = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if _is_alike(value) else None


def _is_alike(value: dict[str, Any] | list[Any]) -> bool:
    """True if keys are short and no number is a float, whose spelling matters in YAML."""
    members: Any = value
    if value.__class__ is dict:
        if any(len(key) > _LONGEST_KEY for key in value):
            return False
        members = value.values()
    for member in members:
        kind = member.__class__
        if kind is float or ((kind is dict or kind is list) and not _is_alike(member)):
            return False
    return True
