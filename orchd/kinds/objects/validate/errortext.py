"""What the reference's decoders say about broken text; users meet these words inside messages."""

from __future__ import annotations

import json


def json_error(text: str) -> str:
    """What keeps text from being a JSON object (or null), "" when nothing does."""
    if not text.strip(" \t\r\n"):
        return "unexpected end of JSON input"
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text):
            return "unexpected end of JSON input"
        where = "looking for beginning of value"
        if "property name" in error.msg:
            where = "looking for beginning of object key string"
        elif "delimiter" in error.msg:
            where = "after object key" if "':'" in error.msg else "after object key:value pair"
        elif "Extra data" in error.msg:
            where = "after top-level value"
        return f"invalid character '{text[error.pos]}' {where}"
    if value is None or isinstance(value, dict):
        return ""
    kinds = {str: "string", bool: "bool", list: "array"}
    return f"json: cannot unmarshal {kinds.get(type(value), 'number')} into Go value of type map[string]interface {{}}"
