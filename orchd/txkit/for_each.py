"""The same work on many things, some of them at the same time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure

T = TypeVar("T")


async def for_each(
    items: Iterable[T], work: Callable[[T], Coroutine[Deferred[Any], Any, object]], *, at_once: int = 1
) -> None:
    """Run `work` on every item, on `at_once` of them at a time. After a failure nothing more is begun; what is under way
    ends, and then the first failure is raised. Cancelling it cancels what is under way."""
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
    # A worker that fails is an outcome like any other, so that all are waited for.
    await gatherResults([Deferred.fromCoroutine(worker()).addErrback(failures.append) for _ in range(at_once)])
    if failures:
        failures[0].raiseException()
