"""Keys of a user's extra attributes."""

from __future__ import annotations

import re
from urllib.parse import unquote

from orchd.dialect import Dialect

_NO_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def credential_key(dialect: Dialect) -> str:
    """The attribute that identifies the credential: the ID of a token, or the digest of a certificate."""
    return dialect("authentication.{long}.io/credential-id")


def unescaped_key(text: str) -> str:
    """A key from the lower-case suffix of a header name: percent-decoded, or unchanged if the encoding is invalid."""
    return text if _NO_ESCAPE.search(text) else unquote(text, errors="replace")
