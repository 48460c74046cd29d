"""The recursion limit during walks over trees."""

from __future__ import annotations

import sys

from orchd.cel.limits import FRAMES, deep


def test_the_limit_is_lowered_when_the_last_walk_ends() -> None:
    """A walk that ends keeps the limit of one that goes on, in whichever order they began."""
    usual = sys.getrecursionlimit()
    first, second = deep(), deep()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getrecursionlimit() == FRAMES
    second.__exit__(None, None, None)
    assert sys.getrecursionlimit() == usual
