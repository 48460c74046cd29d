"""How much one body may hold: the work on it grows with its values, which are far more than its bytes when they are small.

The reference bounds bytes alone (3 MiB, and 1.5 MiB of what its store takes), and does the work beside that of others. An
object of 50,000 values of a length that objects have is larger than its store would take.
"""

from __future__ import annotations

import re
from typing import Final

from orchd.errors import ApiError

#: Values of one body, containers among them; of YAML with what aliases repeat, of protobuf fields.
MAX_VALUES: Final = 50_000

#: A string, or what begins a value; a string without an end goes to the end of the text.
_PARTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|([,{\[])', re.S)
_TOO_MANY: Final = f"holds more than {MAX_VALUES} values"


def too_many() -> ApiError:
    """413 for a body of more than `MAX_VALUES` values."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: the body {_TOO_MANY}")


def json_values(data: bytes) -> int:
    """About how many values a JSON text holds: its commas and containers, outside of strings; some number above
    `MAX_VALUES` when there are more. One pass, no copies; the text need not be valid."""
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
    """Raises ApiError 413 for a JSON text of more than `MAX_VALUES` values."""
    if len(data) > MAX_VALUES and json_values(data) > MAX_VALUES:
        raise too_many()
