"""Changes of large objects, which an informer delivers in portions between which the reactor serves others."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchd.cache.entries import Change, Entry
from orchd.kinds.jsonvalues import Object
from orchd.txkit.turns import shared_budget

#: Receives the type of a change, the old object and the new one.
Listener = Callable[[str, "Object | None", "Object | None"], None]

#: Bytes of JSON above which a change is delivered in portions: all informers and listeners together take several
#: milliseconds for it.
LARGE: Final = 64 * 1024
#: Number of waiting changes above which the next one delivers all of them at once.
_MOST_WAITING: Final = 1000


def is_large(change: Change) -> bool:
    """True if the change is to be delivered in portions."""
    return len(change.entry.json) > LARGE or (change.previous is not None and len(change.previous.json) > LARGE)


@dataclass(slots=True, kw_only=True, eq=False)
class LateChange:
    """A change that waits, `new` is its entry (None for a deletion), `listeners` those that it concerned when it
    happened. `objects` holds what was decoded in advance."""

    change: Change
    new: Entry | None
    listeners: tuple[Listener, ...]
    objects: dict[Entry, Object] = field(default_factory=dict)
    steps: Iterator[None] | None = None


class LateChanges:
    """The waiting changes of one informer, in their order.

    `decode` decodes the objects of a change in advance, in another thread if there is one. `steps` delivers it: each
    step takes a part of the work. `spawn` starts a background task.
    """

    def __init__(
        self,
        clock: IReactorTime,
        spawn: Callable[[Coroutine[Deferred[Any], Any, object]], None],
        decode: Callable[[LateChange], Awaitable[None]],
        steps: Callable[[LateChange], Iterator[None]],
    ) -> None:
        self._turns = shared_budget(clock)
        self._spawn = spawn
        self._decode = decode
        self._steps = steps
        self._waiting: deque[LateChange] = deque()
        self._running = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, late: LateChange) -> None:
        """Deliver a change after all earlier ones, soon."""
        self._waiting.append(late)
        if len(self._waiting) > _MOST_WAITING:
            self.flush()
        elif not self._running:
            self._running = True
            self._spawn(self._deliver())

    def flush(self) -> None:
        """Deliver everything now."""
        while self._waiting:
            for _ in self._begin(self._waiting[0]):
                pass
            self._waiting.popleft()

    def clear(self) -> None:
        """Drop everything."""
        self._waiting.clear()

    def _begin(self, late: LateChange) -> Iterator[None]:
        if late.steps is None:
            late.steps = self._steps(late)
        return late.steps

    async def _deliver(self) -> None:
        try:
            while self._waiting:
                late = self._waiting[0]
                # Not in the turn of the writer.
                await self._turns.wait_next()
                await self._decode(late)
                # Also what follows from the delivery is then for a later turn: calls from threads come first in each.
                await self._turns.wait_next()
                # A flush meanwhile has taken all steps.
                if not self._is_first(late):
                    continue
                for _ in self._begin(late):
                    await self._turns.wait()
                if self._is_first(late):
                    self._waiting.popleft()
        finally:
            self._running = False

    def _is_first(self, late: LateChange) -> bool:
        return bool(self._waiting) and self._waiting[0] is late
