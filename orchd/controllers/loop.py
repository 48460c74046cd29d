"""The control loop: workers that reconcile keys of a queue, with backoff after failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.controllers.metrics import ControllerMetrics
from orchd.errors import ApiError
from orchd.kinds.bounds import is_too_large
from orchd.txkit.background import Background
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.turns import shared_budget
from orchd.txkit.work_queue import WorkQueue

#: Seconds to wait for running reconciliations when the loop stops.
_STOP_TIMEOUT = 5.0
#: Seconds until a write is tried again that was refused for the size of its object.
_REFUSED_PAUSE = 900.0

K = TypeVar("K", bound=Hashable)

#: Brings the objects of one key to their desired state. Returns seconds after which to reconcile the key again, or
#: None. If it raises, the key is retried with exponential backoff.
Reconcile = Callable[[K], Awaitable[float | None]]


class RetryError(Exception):
    """The key cannot be reconciled yet: it is retried with back-off and without a log line."""


class ControlLoop(Generic[K]):
    """Runs `workers` coroutines over one queue."""

    log = Logger()

    def __init__(
        self,
        name: str,
        clock: IReactorTime,
        reconcile: Reconcile[K],
        *,
        workers: int = 5,
        refill: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self.counts = ControllerMetrics()
        self.queue: WorkQueue[K] = WorkQueue(clock, refill=refill)
        self.counts.queue = self.queue
        self._clock = clock
        self._reconcile = reconcile
        self._workers = workers
        # One event may queue many keys, and wakes the workers in its turn of the reactor.
        self._turns = shared_budget(clock)
        self._background = Background()

    def start(self) -> None:
        for number in range(self._workers):
            self._background.add(self._work(), f"controller {self.name}, worker {number}")

    async def stop(self) -> None:
        """Close the queue, wait a few seconds for running reconciliations, then cancel them."""
        self.queue.close()
        if len(self._background):
            late = deferLater(self._clock, _STOP_TIMEOUT, lambda: start(self._background.stop()))
            late.addErrback(lambda failure: failure.trap(CancelledError))
            await self._background.stop(cancel=False)
            late.cancel()

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            await self._turns.wait()
            await self.process(key)

    async def process(self, key: K) -> None:
        """Reconcile one key, and schedule its retry or requeue."""
        begun = self._clock.seconds()
        self.counts.worked += 1
        try:
            again = await self._reconcile(key)
        except CancelledError:
            raise
        except RetryError:
            self._retry(key)
        except ApiError as error:
            if is_too_large(error):
                self._refused(key, error)
                return
            # Conflicts, and rejected writes during a stop, are expected: the key is retried.
            say = self.log.debug if error.code in (404, 409) or self.queue.closed else self.log.warn
            say("{name}: {key}: {error}", name=self.name, key=key, error=error.message)
            self._retry(key)
        except Exception:  # logged and retried: a bug with one object must not stop the others
            self.log.failure("{name}: {key}", name=self.name, key=key)
            self._retry(key)
        else:
            self.queue.forget(key)
            if again is not None:
                self.queue.add_after(key, again)
        finally:
            self.counts.seconds += self._clock.seconds() - begun
            self.queue.done(key)

    def _refused(self, key: K, error: ApiError) -> None:
        """A write that no retry makes smaller: it waits for a change of the object, or for a longer time."""
        self.counts.failed += 1
        self.log.warn(
            "{name}: {key}: {error}; tried again when it changes, or after {seconds} s",
            name=self.name, key=key, error=error.message, seconds=_REFUSED_PAUSE,
        )  # fmt: skip
        self.queue.forget(key)
        self.queue.add_after(key, _REFUSED_PAUSE)

    def _retry(self, key: K) -> None:
        self.counts.failed += 1
        self.queue.add_limited(key)
