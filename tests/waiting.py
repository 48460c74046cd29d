"""Waiting for other processes and for events. The limits only end a hang: they do not depend on the machine's speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from twisted.internet.task import deferLater

from orchd.testing.processes.daemon import PATIENCE

#: The limit as command lines spell it.
LONG = f"{PATIENCE:g}s"
#: Leader election that notices the end of a leader soon, and tolerates a leader that is suspended for seconds.
LEASE_SECONDS = 15
ELECTION = (
    f"--leader-elect-lease-duration={LEASE_SECONDS}s",
    "--leader-elect-renew-deadline=10s",
    "--leader-elect-retry-period=500ms",
)


def until(true: Callable[[], object], what: str | Callable[[], str] = "it did not happen") -> None:
    """Return once a condition holds; raise AssertionError with `what` at the limit."""
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(what if isinstance(what, str) else what())
        time.sleep(0.05)


async def until_true(reactor: Any, true: Callable[[], object], what: str = "it did not happen") -> None:
    """`until` for events on the running reactor."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        await deferLater(reactor, 0.01)
