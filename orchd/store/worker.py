"""A thread with a queue: what must not hold up the reactor runs there, one job after the other."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class Worker:
    """One thread. Jobs run in the order in which they were given; a job that raises fails its own Deferred only."""

    def __init__(self, reactor: Any, name: str) -> None:
        self._reactor = reactor
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # Not to outlive a process that forgot to stop it: nothing acknowledged depends on an orderly end.
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def run(self, job: Callable[[], T]) -> Deferred[T]:
        """Run `job` in the thread; its result arrives in the reactor's."""
        result: Deferred[T] = Deferred()

        def work() -> None:
            try:
                value = job()
            except Exception:
                # Whatever it is belongs to whoever waits for the job.
                self._reactor.callFromThread(result.errback, Failure())
            else:
                self._reactor.callFromThread(result.callback, value)

        self._jobs.put(work)
        return result

    def post(self, job: Callable[[], None]) -> None:
        """Run `job`, which must not raise and reports for itself."""
        self._jobs.put(job)

    def stop(self) -> None:
        """End the thread after the jobs that it has; waits for that only as long as a thread takes to end."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            job()
