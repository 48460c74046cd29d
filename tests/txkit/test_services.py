"""Groups start in order, stop in reverse and report the first failure."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start
from orchd.txkit.services import ServiceGroup


class Part:
    """A member that a test drives."""

    def __init__(self, name: str, log: list[str], *, waits: bool = False) -> None:
        self.name = name
        self.log = log
        self.gate: Deferred[None] | None = Deferred() if waits else None
        self.failed: Callable[[Failure], None] | None = None

    async def start(self, failed: Callable[[Failure], None]) -> None:
        self.failed = failed
        self.log.append(f"+{self.name}")
        if self.gate is not None:
            await self.gate

    async def stop(self) -> None:
        self.log.append(f"-{self.name}")


def test_members_start_in_order_and_stop_in_reverse() -> None:
    """The next member starts when the one before is ready; they stop in reverse order."""
    log: list[str] = []
    first, second = Part("a", log, waits=True), Part("b", log)
    group = ServiceGroup([first, second], clock=Clock())
    group.startService()
    assert log == ["+a"]
    ready: list[None] = []
    start(group.wait_ready()).addCallback(ready.append)
    assert not ready
    assert first.gate is not None
    first.gate.callback(None)
    assert ready == [None]
    group.stopService()
    assert log == ["+a", "+b", "-b", "-a"]


def test_failed_start_stops_started_members() -> None:
    """The first failure stops the started members, is passed to the owner, and is raised by `wait_ready`."""
    log: list[str] = []
    told: list[Failure] = []
    second = Part("b", log, waits=True)
    group = ServiceGroup([Part("a", log), second, Part("c", log)], told.append, clock=Clock())
    group.startService()
    assert second.gate is not None
    second.gate.errback(OSError("in use"))
    assert log == ["+a", "+b", "-b", "-a"]
    assert told[0].check(OSError)
    seen: list[Failure] = []
    start(group.wait_ready()).addErrback(seen.append)
    assert seen[0].check(OSError)


def test_later_failure_is_reported_once() -> None:
    """The failure of a running member is reported once."""
    log: list[str] = []
    told: list[Failure] = []
    part = Part("a", log)
    group = ServiceGroup([part], told.append, clock=Clock())
    group.startService()
    assert part.failed is not None
    part.failed(Failure(OSError()))
    part.failed(Failure(OSError()))
    assert len(told) == 1


def test_stop_cancels_the_start() -> None:
    """Stopping a group that is not ready cancels the start and stops the members that were started."""
    log: list[str] = []
    told: list[Failure] = []
    group = ServiceGroup([Part("a", log, waits=True), Part("b", log)], told.append, clock=Clock())
    group.startService()
    stopped: list[None] = []
    group.stopService().addCallback(stopped.append)
    assert stopped == [None]
    assert log == ["+a", "-a"]
    assert not told


class Hanging(Part):
    """A member whose stop never ends by itself."""

    async def stop(self) -> None:
        try:
            await Deferred()
        finally:
            await super().stop()


def test_a_member_that_does_not_stop() -> None:
    """A stop that exceeds the limit is cancelled with a warning that names the member, and the members before it are
    stopped."""
    log: list[str] = []
    clock = Clock()
    group = ServiceGroup([Part("a", log), Hanging("b", log), Part("c", log)], clock=clock, patience=7.0)
    group.startService()
    log.clear()
    with capturedLogs() as events:
        stopped = group.stopService()
        clock.advance(6)
        assert log == ["-c"]
        clock.advance(1)
    assert stopped.called
    assert log == ["-c", "-b", "-a"]
    assert [formatEvent(event) for event in events] == ["b did not stop within 7.0 s; its remaining work is cancelled"]
    assert not clock.getDelayedCalls()
