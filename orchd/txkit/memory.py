"""Returns free memory to the operating system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


def _find() -> Callable[[int], Any] | None:
    """glibc's `malloc_trim`, None if the C library does not provide it."""
    try:
        trim: Callable[[int], Any] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return trim


_trim = _find()


def release_free_memory() -> bool:
    """Return free pages of the C library's heap to the operating system. False if the C library does not support it.

    Takes some milliseconds per 100 MB.
    """
    if _trim is None:
        return False
    _trim(0)
    return True
