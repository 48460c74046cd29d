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

_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.S)
_TOO_MANY: Final = f"holds more than {MAX_VALUES} values"


def too_many() -> ApiError:
    """413 for a body of more than `MAX_VALUES` values."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: the body {_TOO_MANY}")


def json_values(data: bytes) -> int:
    """About how many values a JSON text holds: its commas and containers, outside of strings. One pass; the text need not
    be valid."""
    count = _marks(data)
    return count if count <= MAX_VALUES else _marks(_STRINGS.sub(b"", data))


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"{") + data.count(b"[")


def check_json(data: bytes) -> None:
    """Raises ApiError 413 for a JSON text of more than `MAX_VALUES` values."""
    if len(data) > MAX_VALUES and json_values(data) > MAX_VALUES:
        raise too_many()
