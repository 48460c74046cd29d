"""Bounded concurrent iteration."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure

T = TypeVar("T")


async def for_each(
    items: Iterable[T], work: Callable[[T], Coroutine[Deferred[Any], Any, object]], *, at_once: int = 1
) -> None:
    """Run `work` on every item, with at most `at_once` running concurrently.

    After a failure, no further work is started; running work completes, then the first failure is raised. Cancelling this
    cancels running work.
    """
    rest = iter(items)
    failures: list[Failure] = []

    async def worker() -> None:
        for item in rest:
            await work(item)
            if failures:
                return

    if at_once == 1:
        await worker()
        return
    # Failures are collected instead of raised, so that all workers are awaited.
    await gatherResults([Deferred.fromCoroutine(worker()).addErrback(failures.append) for _ in range(at_once)])
    if failures:
        failures[0].raiseException()
