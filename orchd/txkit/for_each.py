"""Concurrent work: bounded iteration, and everything at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, DeferredList, gatherResults
from twisted.python.failure import Failure

T = TypeVar("T")


async def for_each(
    items: Iterable[T], work: Callable[[T], Coroutine[Deferred[Any], Any, object]], *, at_once: int = 1
) -> None:
    """Run `work` on every item, with at most `at_once` running concurrently.

    After a failure, no further work is started; running work completes, then the first failure is raised. Cancelling
    this cancels running work.
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


async def side_by_side(work: Iterable[Awaitable[Any]]) -> list[Any]:
    """Await everything at once; the results in order, a Failure for what failed.

    Cancelling this cancels all, waits for their end, and raises CancelledError: a DeferredList alone would return
    failures as results, and a loop around it would continue.
    """

    async def one(each: Awaitable[Any]) -> Any:
        return await each

    together = _Together([Deferred.fromCoroutine(one(each)) for each in work])
    results = await together
    if together.cancelled:
        raise CancelledError()
    return results


class _Together(Deferred[list[Any]]):
    """Fires with the results of `tasks`, a Failure for what failed, when all have ended. Remembers that it was
    cancelled."""

    def __init__(self, tasks: list[Deferred[Any]]) -> None:
        super().__init__()
        self.cancelled = False
        self._tasks = tasks
        DeferredList(tasks, consumeErrors=True).addCallback(lambda ended: self.callback([value for _, value in ended]))

    def cancel(self) -> None:
        self.cancelled = True
        for task in self._tasks:
            task.cancel()
