"""One run of a serving process, from the request for its fork to its end."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from twisted.internet.process import registerReapProcessHandler, unregisterReapProcessHandler
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

from orchd.assembly.processes.calls import PATIENCE, Calls, Methods, ProcessUnavailableError, factory_of
from orchd.assembly.processes.lifetime import is_reaped_here
from orchd.assembly.processes.logs import Relay
from orchd.assembly.processes.template import Template
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.processes")
#: Seconds until a fork must have begun, the import of the server included.
_BEGIN: Final = 120.0
#: Seconds between questions whether it is alive, and the number of questions without a response after which it is
#: killed: once it is ready, and before.
_ASK: Final = 1.0
_MISSED, _MISSED_AT_START = 5, 40
#: Seconds from the end of its connection to that of the process.
_LEAVE: Final = 5.0


class Running(Protocol):
    """`ended(how)` is called once, when the process has ended and all that it wrote was read."""

    def __init__(self, name: str, methods: Methods, clock: Any, ended: Callable[[str], object]) -> None:
        self.ready = False
        self.pid = 0
        self.calls = Calls(self._write, {**methods, "began": self._began, "ready": self._became_ready}, clock)
        self._name = name
        self._clock = clock
        self._ended = ended
        self._how = "has ended"
        #: What has to end: the connection and the log, and the process when it is known.
        self._open = 2
        self._late: Any = None
        self._missed = 0
        self._asking = LoopingCall(lambda: start(self._ask()))
        self._asking.clock = clock
        #: Called when it has become ready.
        self.on_ready: Callable[[], object] = lambda: None

    def start(self, template: Template, reactor: Any) -> None:
        """Raises OSError; `ended` is not called then."""
        pairs = [socket.socketpair(), socket.socketpair()]
        try:
            template.fork(int(self._name), pairs[0][1], pairs[1][1])
            protocols: tuple[Protocol, ...] = (self, _Log(self._name, self._closed))
            for (ours, _), protocol in zip(pairs, protocols, strict=True):
                ours.setblocking(False)
                reactor.adoptStreamConnection(ours.fileno(), socket.AF_UNIX, factory_of(protocol))
        finally:
            for pair in pairs:
                for each in pair:
                    each.close()
        self._late = self._clock.callLater(_BEGIN, self._not_begun, template)

    def _not_begun(self, template: Template) -> None:
        _log.error("process {name} has not begun within {seconds:g} s", name=self._name, seconds=_BEGIN)
        template.drop()

    # What it says.

    def dataReceived(self, data: bytes) -> None:
        self.calls.received(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.ready = False
        self.calls.close()
        self._cancel_late()
        if self._asking.running:
            self._asking.stop()
        if self.pid:
            self._late = self._clock.callLater(_LEAVE, self.signal, signal.SIGKILL)
        self._closed()

    async def _began(self, pid: int) -> None:
        self._cancel_late()
        self.pid = pid
        if is_reaped_here():
            self._open += 1
            registerReapProcessHandler(pid, self)
        self._asking.start(_ASK, now=False).addErrback(
            lambda failure: _log.failure("cannot ask process {name}", failure, name=self._name)
        )

    async def _became_ready(self) -> None:
        self.ready = True
        self.on_ready()

    def _write(self, data: bytes) -> None:
        self.transport.write(data)  # type: ignore[union-attr]  # nobody calls before the connection is made

    # Whether it is alive.

    async def _ask(self) -> None:
        try:
            await self.calls.call("alive")
            self._missed = 0
        except ProcessUnavailableError:
            self._missed += 1
        if self._missed >= (_MISSED if self.ready else _MISSED_AT_START):
            _log.error(
                "process {name} has not responded {count} times within {seconds:g} s each: kill it",
                name=self._name, count=self._missed, seconds=PATIENCE,
            )  # fmt: skip
            self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send it a signal, if it has begun and not ended."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    # Its end.

    def reapProcess(self) -> None:
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid:
            unregisterReapProcessHandler(self.pid, self)
            self.processEnded(status)

    def processEnded(self, status: int) -> None:
        self.pid = 0
        self._how = _how(os.waitstatus_to_exitcode(status))
        self._closed()

    def _closed(self) -> None:
        self._open -= 1
        if not self._open:
            self._cancel_late()
            self._ended(self._how)

    def _cancel_late(self) -> None:
        late, self._late = self._late, None
        if late is not None and late.active():
            late.cancel()


class _Log(Protocol):
    """The log of a run."""

    def __init__(self, name: str, closed: Callable[[], object]) -> None:
        self._relay = Relay(name)
        self._closed = closed

    def dataReceived(self, data: bytes) -> None:
        self._relay.received(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._closed()


def _how(code: int) -> str:
    """How a process has ended, by its exit status, which is negative for a signal."""
    if not code:
        return "has ended"
    return f"was ended by signal {-code}" if code < 0 else f"has failed with status {code}"
