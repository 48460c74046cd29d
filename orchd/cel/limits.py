"""Depth of recursion for trees that the parser allows.

The parser bounds the height of a tree (`parse.MAX_DEPTH`), so that everything that walks one is bounded too; but the
bound is above what Python allows by default below a stack that is already in use.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

#: Frames for the walk over the highest tree.
FRAMES = 20_000


_lock = Lock()
#: Walks under way, in all threads, and the limit before the first of them.
_walks, _usual = 0, 0


@contextmanager
def deep() -> Iterator[None]:
    """Allow recursion over the highest tree inside.

    Frames of Python code are on the heap, so this needs no larger stack. The limit is that of all threads: it is
    lowered when the last walk ends.
    """
    global _walks, _usual
    with _lock:
        if not _walks:
            _usual = sys.getrecursionlimit()
            sys.setrecursionlimit(max(FRAMES, _usual))
        _walks += 1
    try:
        yield
    finally:
        with _lock:
            _walks -= 1
            if not _walks:
                sys.setrecursionlimit(_usual)
