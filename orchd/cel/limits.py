"""Depth of recursion for trees that the parser allows.

The parser bounds the height of a tree (`parse.MAX_DEPTH`), so that everything that walks one is bounded too; but the bound is
above what Python allows by default below a stack that is already in use.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Frames for the walk over the highest tree.
FRAMES = 20_000


@contextmanager
def deep() -> Iterator[None]:
    """Allow recursion over the highest tree inside. Frames of Python code are on the heap, so this needs no larger stack."""
    before = sys.getrecursionlimit()
    if before >= FRAMES:
        yield
        return
    sys.setrecursionlimit(FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
