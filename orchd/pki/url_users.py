"""Users and passwords in URLs, and how they are sent (basic authentication)."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final
from urllib.parse import unquote, urlsplit

_PASSWORD: Final = re.compile(r"(?<=://)([^\s/:@'\"]*):[^\s/'\"]*@")


def split_user(url: str) -> tuple[str, str, str]:
    """A URL without user and password, the user, and the password; both are decoded, and "" where the URL has none.
    Invalid URLs are left to those who connect."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, "", ""
    user, at, place = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    return (parts._replace(netloc=place).geturl() if at else url), unquote(name), unquote(password)


def basic_authorization(user: str, password: str) -> str:
    """The header Authorization."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")


def hide_passwords(text: str) -> str:
    """A message whose URLs show users, but no passwords."""
    return _PASSWORD.sub(r"\1:***@", text)
