"""Keys of a user's extra attributes in header names."""

from __future__ import annotations

import re
from urllib.parse import unquote

_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def unescaped_key(text: str) -> str:
    """A key from the lower-case suffix of a header name: percent-decoded, or unchanged if the encoding is invalid."""
    return text if _NO_ESCAPE.search(text) else unquote(text, errors="replace")
