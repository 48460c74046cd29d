"""Cancellation of Deferreds that report it as another failure."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


def cleanly_cancelled(waiting: Deferred[T]) -> Deferred[T]:
    """A Deferred with the result of `waiting` that fails with CancelledError when it is cancelled. Connecting by host
    name, for example, fails with DNSLookupError when it is cancelled, which callers would retry."""
    cancelling = False

    def cancel(_: Deferred[T]) -> None:
        nonlocal cancelling
        cancelling = True
        waiting.cancel()

    def ended(result: T | Failure) -> None:
        if cancelling:
            return
        if isinstance(result, Failure):
            outer.errback(result)
        else:
            outer.callback(result)

    outer: Deferred[T] = Deferred(cancel)
    waiting.addBoth(ended)
    return outer
