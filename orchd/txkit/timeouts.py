"""Timeouts."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

T = TypeVar("T")


def within(deferred: Deferred[T], seconds: float, clock: IReactorTime) -> Deferred[T]:
    """`deferred` itself, cancelled after `seconds` of `clock`: it then fails with
    `twisted.internet.defer.TimeoutError`.

    A cancellation from outside stays a CancelledError. The delayed call is removed as soon as the Deferred fires."""
    deferred.addTimeout(seconds, clock)
    return deferred
