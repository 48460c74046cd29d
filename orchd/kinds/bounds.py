"""Limit on the number of values in a request body: the cost of a body grows with its values, which may be tiny and many.

The reference only limits bytes (3 MiB per body, 1.5 MiB per stored object), and processes bodies in parallel threads. An
object with 50,000 values of usual length exceeds the limit of its store.
"""

from __future__ import annotations

import re
from typing import Final

from orchd.errors import ApiError

#: Maximum number of values in a body, including containers; in YAML after expansion of aliases; in protobuf of fields.
MAX_VALUES: Final = 50_000

#: A string (an unterminated one extends to the end of the text), or a character that begins or separates values.
_PARTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([,{\[])', re.S)
_TOO_MANY: Final = f"holds more than {MAX_VALUES} values"


def too_many() -> ApiError:
    """ApiError 413 for a body of more than `MAX_VALUES` values."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: the body {_TOO_MANY}")


def json_values(data: bytes) -> int:
    """Estimate the number of values in a JSON text: its commas and containers outside of strings.

    Stops counting above `MAX_VALUES`. One pass, no copies; the text need not be valid.
    """
    count = data.count(b",") + data.count(b"{") + data.count(b"[")
    if count <= MAX_VALUES:
        return count
    count = strings = 0
    for part in _PARTS.finditer(data):
        if part.lastindex:
            count += 1
        else:
            strings += 1
        if count > MAX_VALUES or strings > 2 * MAX_VALUES:
            return MAX_VALUES + 1
    return count


def check_json(data: bytes) -> None:
    """Raise ApiError 413 for a JSON text of more than `MAX_VALUES` values."""
    if len(data) > MAX_VALUES and json_values(data) > MAX_VALUES:
        raise too_many()
