"""Deadlines that are seldom reached, such as those of calls that are answered: one timer of the reactor for many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

#: Numbers of seconds whose timers stay when nobody waits for them: clients may give any number.
_MOST: Final = 50


class Deadline:
    """`reached` is called at a time on the reactor's clock, unless it is cancelled before."""

    __slots__ = ("_group", "at", "reached")

    def __init__(self, at: float, reached: Callable[[], object], group: _Group) -> None:
        self.at = at
        self.reached = reached
        self._group = group

    def cancel(self) -> None:
        """Does nothing after the time."""
        self._group.discard(self)


class Deadlines:
    """Those after the same number of seconds are reached in the order in which they were made, so that only the first needs a timer."""

    def __init__(self, clock: IReactorTime) -> None:
        self.clock = clock
        #: By their number of seconds.
        self.groups: dict[float, _Group] = {}
        #: Number of groups whose timers stay when nobody waits for them.
        self.most = _MOST

    def after(self, seconds: float, reached: Callable[[], object]) -> Deadline:
        """Have `reached` called in so many seconds. It must not raise."""
        group = self.groups.get(seconds)
        if group is None:
            group = self.groups[seconds] = _Group(self, seconds)
        deadline = Deadline(self.clock.seconds() + seconds, reached, group)
        group.waiting[deadline] = None
        return deadline

    def stop(self) -> None:
        """Leave no timer in the reactor, but those of deadlines that are neither reached nor cancelled yet."""
        self.most = 0
        for group in list(self.groups.values()):
            group.end_if_idle()


class _Group:
    """The deadlines after the same number of seconds, in order."""

    def __init__(self, owner: Deadlines, seconds: float) -> None:
        self.waiting: dict[Deadline, None] = {}
        self._owner = owner
        self._seconds = seconds
        self._timer: IDelayedCall = owner.clock.callLater(seconds, self._check)

    def discard(self, deadline: Deadline) -> None:
        self.waiting.pop(deadline, None)
        self.end_if_idle()

    def end_if_idle(self) -> None:
        """Cancel the timer when nobody waits for it, unless it stays for later deadlines."""
        if not self.waiting and len(self._owner.groups) > self._owner.most and self._timer.active():
            self._timer.cancel()
            del self._owner.groups[self._seconds]

    def _check(self) -> None:
        clock = self._owner.clock
        now = clock.seconds()
        while self.waiting:
            first = next(iter(self.waiting))
            if first.at > now:
                self._timer = clock.callLater(first.at - now, self._check)
                return
            del self.waiting[first]
            first.reached()
        del self._owner.groups[self._seconds]
