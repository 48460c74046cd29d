"""One serving process as its owner sees it: started, started again after it has ended, stopped."""

from __future__ import annotations

import signal
from typing import Any

from twisted.internet.defer import Deferred

from orchd.assembly.processes.calls import Calls, Methods
from orchd.assembly.processes.running import Running
from orchd.assembly.processes.template import Template
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.processes")
#: Seconds from the end of a process to the next start: at first, and at most. After `_STEADY` seconds it counts as the
#: first end.
_FIRST, _MOST, _STEADY = 0.2, 10.0, 30.0


class ServingProcess:
    """A fork of `template`. `name` is a number; `methods` are those that it may call."""

    def __init__(self, reactor: Any, name: str, template: Template, methods: Methods) -> None:
        self.name = name
        self.restarts = 0
        self._reactor = reactor
        self._template = template
        self._methods = methods
        self._running: Running | None = None
        self._pause = _FIRST
        self._started = 0.0
        self._again: Any = None
        self._stopping = False
        #: Fire when the process is ready or has ended, and when it has ended.
        self._outcome: Deferred[str] | None = None
        self._end: Deferred[None] | None = None

    @property
    def ready(self) -> bool:
        return self._running is not None and self._running.ready

    @property
    def calls(self) -> Calls | None:
        """None while it does not run."""
        return None if self._running is None else self._running.calls

    async def start(self) -> str:
        """Start it, and wait until it is ready: "", or why it has ended before."""
        outcome = self._outcome = Deferred()
        self._start()
        return await outcome

    def _start(self) -> None:
        self._again = None
        self._started = self._reactor.seconds()
        self._running = running = Running(self.name, self._methods, self._reactor, self._ended)
        running.on_ready = lambda: self._report("")
        try:
            running.start(self._template, self._reactor)
        except OSError as error:
            self._ended(f"cannot be started: {error}")

    def _report(self, outcome: str) -> None:
        if self._outcome is not None:
            waiter, self._outcome = self._outcome, None
            waiter.callback(outcome)

    def _ended(self, how: str) -> None:
        self._running = None
        # Others would leave connections to a process that was killed with few.
        self._template.load.set(int(self.name), None)
        if self._end is not None:
            self._end.callback(None)
        if self._stopping:
            self._report("it was stopped")
            return
        if self._outcome is not None:
            # The owner does not start either.
            self._report(how)
            return
        if self._reactor.seconds() - self._started >= _STEADY:
            self._pause = _FIRST
        _log.error("process {name} {how}; starts again in {seconds:g} s", name=self.name, how=how, seconds=self._pause)
        self.restarts += 1
        self._again = self._reactor.callLater(self._pause, self._start)
        self._pause = min(_MOST, self._pause * 2)

    def retire(self) -> None:
        """Do not start it again."""
        self._stopping = True
        if self._again is not None:
            self._again.cancel()
            self._again = None

    async def stop(self, patience: float) -> None:
        """End it: an orderly stop within `patience` seconds, or a kill. One that has not begun ends with the
        template."""
        self.retire()
        running = self._running
        if running is None:
            return
        self._end = Deferred()
        running.signal(signal.SIGTERM)
        late = self._reactor.callLater(patience, running.signal, signal.SIGKILL)
        await self._end
        if late.active():
            late.cancel()
