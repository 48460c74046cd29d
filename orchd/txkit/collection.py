"""Pauses of the cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from orchd.txkit.turns import TurnBudget

_T = TypeVar("_T")


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


async def make_large(turns: TurnBudget, make: Callable[[], _T], *, small: bool = False) -> _T:
    """Call `make`, whose result consists of many objects, in a turn of its own. The collector examines them once, after
    the call: it would otherwise do so twice, during the call. No later, when it would examine what other threads made
    meanwhile as well. A `small` result is what is left of many objects that `make` drops: nothing is examined then."""
    await turns.wait_next()
    enabled = gc.isenabled() and not small
    with collection_paused():
        result = make()
        if enabled:
            # With the second generation, which would otherwise grow by a large object each time.
            gc.collect(1)
    await turns.wait()
    return result
