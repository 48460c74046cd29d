"""JSON objects that a YAML parser reads alike, decoded by the JSON parser: clients send most YAML bodies as JSON.

YAML includes JSON, except for details of escapes, control characters and line breaks, numbers, and keys far from their
colon. Texts that may contain such a detail are left to the YAML parser, and so are those of too many values, which it
refuses.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from orchd.kinds import bounds

#: A key and its colon must be within 1,024 characters, each of which an escape may make six.
_LONGEST_KEY: Final = 170
#: One line without ASCII control characters, with escapes of both languages; those of surrogates are not.
_LINE: Final = re.compile(rb'\{(?:[^\\\x00-\x1f\x7f]++|\\(?:["\\bfnrt]|u(?![dD][89a-fA-F])))*+\n?')
#: A space between a key and its colon; a control character, line break, byte order mark or noncharacter in UTF-8.
_DIFFERENT: Final = re.compile(
    rb'(?:(?<!\\)|\\\\)" :|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])'
)


def decode_object(data: bytes) -> dict[str, Any] | None:
    """The object that a text encodes in JSON, if it encodes the same object in YAML; None for any other text."""
    if not _LINE.fullmatch(data) or _DIFFERENT.search(data):
        return None
    if len(data) > bounds.MAX_VALUES and bounds.json_values(data) > bounds.MAX_VALUES:
        return None
    try:
        value: dict[str, Any] = orjson.loads(data)
        return value if _is_alike(value) else None
    except (orjson.JSONDecodeError, RecursionError):
        # A text that the YAML parser judges: it may be YAML, and nested deeper than Python recurses.
        return None


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
