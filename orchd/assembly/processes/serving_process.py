"""One serving process as its owner sees it: started, started again after it has ended, stopped."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from orchd.assembly.processes.calls import Calls, Methods, frame
from orchd.assembly.processes.logs import Relay
from orchd.assembly.processes.shares import Order
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.processes")
#: File descriptors of a serving process, besides the standard ones: its port, its answers, its log.
PORT, ANSWERS, LOG = 3, 4, 5
_MODULE: Final = "orchd.assembly.processes"
#: Seconds from the end of a process to the next start: at first, and at most. After `_STEADY` seconds it counts as the first end.
_FIRST, _MOST, _STEADY = 0.2, 10.0, 30.0


class ServingProcess(ProcessProtocol):
    """`port` is the socket that it inherits. `methods` are those that it may call; `ready` is one that it calls itself."""

    def __init__(self, reactor: Any, order: Order, port: int, methods: Mapping[str, Callable[..., Any]]) -> None:
        self.name = order.name
        self.ready = False
        self.restarts = 0
        self._reactor = reactor
        self._order = order
        self._port = port
        self._methods: Methods = {**methods, "ready": self._became_ready}
        self.calls: Calls | None = None
        self._process: Any = None
        self._relay = Relay(self.name)
        self._pause = _FIRST
        self._began = 0.0
        self._again: Any = None
        self._stopping = False
        #: Fire when the process is ready or has ended, and when it has ended.
        self._outcome: Deferred[str] | None = None
        self._end: Deferred[None] | None = None

    async def start(self) -> str:
        """Start it, and wait until it is ready: "", or why it has ended before."""
        self._outcome = Deferred()
        self._spawn()
        return await self._outcome

    def _spawn(self) -> None:
        self._again = None
        self._began = self._reactor.seconds()
        self._relay = Relay(self.name)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = self._reactor.spawnProcess(
            self,
            sys.executable,
            # Nothing from the working directory, which may be anybody's.
            [sys.executable, "-P", "-m", _MODULE, self.name, str(os.getpid())],
            env=environment,
            childFDs={0: "w", 1: 1, 2: 2, PORT: self._port, ANSWERS: "r", LOG: "r"},
        )
        self.calls = Calls(self._write, self._methods, self._reactor)
        self._write(frame(self._order))

    def _write(self, data: bytes) -> None:
        self._process.writeToChild(0, data)

    async def _became_ready(self) -> None:
        self.ready = True
        self._report("")

    def _report(self, outcome: str) -> None:
        if self._outcome is not None:
            waiter, self._outcome = self._outcome, None
            waiter.callback(outcome)

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        if childFD == LOG:
            self._relay.received(data)
        elif self.calls is not None:
            self.calls.received(data)

    def processEnded(self, reason: Failure) -> None:
        self.ready, self._process = False, None
        if self.calls is not None:
            self.calls.close()
            self.calls = None
        if self._end is not None:
            self._end.callback(None)
        if self._stopping:
            self._report("it was stopped")
            return
        how = _how(reason)
        if self._outcome is not None:
            # The owner does not start either.
            self._report(how)
            return
        if self._reactor.seconds() - self._began >= _STEADY:
            self._pause = _FIRST
        _log.error("process {name} {how}; starts again in {seconds:g} s", name=self.name, how=how, seconds=self._pause)
        self.restarts += 1
        self._again = self._reactor.callLater(self._pause, self._spawn)
        self._pause = min(_MOST, self._pause * 2)

    def retire(self) -> None:
        """Do not start it again."""
        self._stopping = True
        if self._again is not None:
            self._again.cancel()
            self._again = None

    async def stop(self, patience: float) -> None:
        """End it: an orderly stop within `patience` seconds, or a kill."""
        self.retire()
        if self._process is None:
            return
        self._end = Deferred()
        self._signal("TERM")
        late = self._reactor.callLater(patience, self._signal, "KILL")
        await self._end
        if late.active():
            late.cancel()

    def _signal(self, name: str) -> None:
        if self._process is not None:
            try:
                self._process.signalProcess(name)
            except ProcessExitedAlready:
                return


def _how(reason: Failure) -> str:
    """How a process has ended."""
    if reason.check(ProcessDone):
        return "has ended"
    signal = getattr(reason.value, "signal", None)
    return (
        f"was ended by signal {signal}" if signal else f"has failed with status {getattr(reason.value, 'exitCode', 1)}"
    )
