"""Errors and warnings in responses: Status objects as ApiErrors, texts of Warning headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.errors import ApiError


def warning_text(header: str) -> str:
    """The text of a Warning header (``299 - "text"``); "" if the header has another form."""
    _, mark, rest = header.partition('"')
    text, end, _ = rest.rpartition('"')
    return text.replace('\\"', '"').replace("\\\\", "\\") if mark and end else ""


def error_of(status: Any, code: int) -> ApiError:
    """The ApiError for a Status object; for any other body, an error that quotes the body."""
    if not isinstance(status, Mapping) or status.get("kind") != "Status":
        return ApiError(code, "", f"the server responded with {code}: {str(status)[:200]}")
    return ApiError(
        said if isinstance(said := status.get("code"), int) and 400 <= said < 600 else code,
        str(status.get("reason") or ""),
        str(status.get("message") or ""),
        details=details if isinstance(details := status.get("details"), Mapping) else None,
    )
