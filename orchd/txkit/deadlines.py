"""Deadlines that are seldom reached, such as timeouts of calls: all of the same duration share one timer of the
reactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

#: Maximum number of durations whose idle timers are kept. Clients choose durations, so the number needs a bound.
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
    """Makes deadlines. Those of the same duration are reached in the order of their creation, so only the first needs a
    timer."""

    def __init__(self, clock: IReactorTime) -> None:
        self.clock = clock
        #: By their number of seconds.
        self.groups: dict[float, _Group] = {}
        #: Maximum number of groups whose idle timers are kept.
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
        """Cancel all idle timers. Pending deadlines are still reached; their timers end with the last of them."""
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
        """Cancel the timer if no deadline is pending, unless idle timers are kept."""
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
