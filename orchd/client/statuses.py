"""Conversion of Status objects to ApiErrors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.errors import ApiError


def error_of(status: Any, code: int) -> ApiError:
    """The ApiError of a Status object. For any other body, an error that quotes the body."""
    if not isinstance(status, Mapping) or status.get("kind") != "Status":
        return ApiError(code, "", f"the server answered {code}: {str(status)[:200]}")
    return ApiError(
        int(status.get("code") or code),
        str(status.get("reason") or ""),
        str(status.get("message") or ""),
        details=status.get("details"),
    )
