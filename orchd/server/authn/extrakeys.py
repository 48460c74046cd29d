"""Names of a user's extra attributes, as they stand in the names of headers."""

from __future__ import annotations

import re
from urllib.parse import unquote

_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def unescaped_key(text: str) -> str:
    """A name from the lower-case rest of a header's: without percent signs, and as it is where it is not escaped well."""
    return text if _NO_ESCAPE.search(text) else unquote(text, errors="replace")
