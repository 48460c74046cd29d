"""A worker thread with a queue, for blocking jobs, which run in order."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class Worker:
    """One thread. Jobs run in submission order; a job that raises fails only its own Deferred."""

    def __init__(self, reactor: Any, name: str) -> None:
        self._reactor = reactor
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # A daemon thread, so that it cannot block process exit: acknowledged writes need no orderly end.
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def run(self, job: Callable[[], T]) -> Deferred[T]:
        """Run `job` in the thread; the result is delivered in the reactor's."""
        result: Deferred[T] = Deferred()

        def work() -> None:
            try:
                value = job()
            except Exception:
                # Any exception belongs to the Deferred of the job.
                self._reactor.callFromThread(result.errback, Failure())
            else:
                self._reactor.callFromThread(result.callback, value)

        self._jobs.put(work)
        return result

    def post(self, job: Callable[[], None]) -> None:
        """Run `job`, which must not raise and reports its own result."""
        self._jobs.put(job)

    def stop(self) -> None:
        """End the thread after its queued jobs; waits only for the thread's end."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            job()
