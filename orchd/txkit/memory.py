"""Giving freed memory back to the operating system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


def _find() -> Callable[[int], Any] | None:
    """glibc's `malloc_trim`; None where the C library has none."""
    try:
        found: Callable[[int], Any] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return found


_trim = _find()


def give_back() -> bool:
    """Have the C library return the pages that it holds free: it keeps them otherwise, for allocations to come. Takes some
    milliseconds for each 100 MB. False where the C library cannot do it."""
    if _trim is None:
        return False
    _trim(0)
    return True
