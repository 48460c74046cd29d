"""Pauses of the cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """Collect no cycles in this block, for synchronous code that makes many objects and drops them before it ends:
    collections meanwhile would examine all of them, and move them to an older generation. Without effect if the
    collector is disabled."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
