"""Results of coroutines that finish without suspending, as most awaited ones in tests."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


def result_of(coroutine: Coroutine[Deferred[Any], Any, T]) -> T:
    """The result of `coroutine`; raises its error, or AssertionError when it suspends."""
    outcome: list[Any] = []
    Deferred.fromCoroutine(coroutine).addBoth(outcome.append)
    assert outcome, "the coroutine is still waiting"
    if isinstance(outcome[0], Failure):
        outcome[0].raiseException()
    result: T = outcome[0]
    return result
