"""Waiting for what other processes do. Only a hang takes as long as the limits here, on a machine of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from twisted.internet.task import deferLater

from orchd.testing.process import PATIENCE

#: The limit as command lines spell it.
LONG = f"{PATIENCE:g}s"
#: Leader election in which the end of a leader is noticed soon, and that a process which stands still for seconds survives.
LEASE_SECONDS = 15
ELECTION = (f"--leader-elect-lease-duration={LEASE_SECONDS}s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=500ms")


def until(true: Callable[[], object], what: str | Callable[[], str] = "it did not happen") -> None:
    """Return once a condition holds; AssertionError with `what` when it never does."""
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(what if isinstance(what, str) else what())
        time.sleep(0.05)


async def until_true(reactor: Any, true: Callable[[], object], what: str = "it did not happen") -> None:
    """`until` for what happens on the running reactor."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        await deferLater(reactor, 0.01)
