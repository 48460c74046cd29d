"""The template as its owner sees it: a process of which serving processes are forks
(`orchd.assembly.processes.forks`)."""

from __future__ import annotations

import os
import socket
import sys
from struct import Struct
from typing import Any, Final

from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from orchd.assembly.processes.calls import frame
from orchd.assembly.processes.lifetime import adopt_orphans
from orchd.assembly.processes.load import Load
from orchd.assembly.processes.shares import Order
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.processes")
#: File descriptors of the template, besides the standard ones: the port of its forks, the requests for them, and the
#: memory with the numbers of their connections.
PORT, REQUESTS, LOAD = 3, 4, 5
#: A request is the number of a serving process, and the descriptors of its connection to the owner and of its log.
NUMBER: Final = Struct("!I")
_MODULE: Final = "orchd.assembly.processes"


class Template:
    """Started with the first request, and with the next one after it has ended. All forks inherit the socket `port`
    and `load`."""

    def __init__(self, reactor: Any, order: Order, port: int, load: Load) -> None:
        self._reactor = reactor
        self._order = order
        self._port = port
        self.load = load
        self._running: _Running | None = None
        self._stopped = False

    def fork(self, number: int, calls: socket.socket, log: socket.socket) -> None:
        """Request a fork that inherits these sockets. If it fails, the sockets are closed, which their other ends
        notice. Raises OSError."""
        if self._stopped:
            raise OSError("the server stops")
        if self._running is None or self._running.ended:
            self._running = self._start()
        socket.send_fds(self._running.requests, [NUMBER.pack(number)], [calls.fileno(), log.fileno()])

    def _start(self) -> _Running:
        adopt_orphans()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        running = _Running(ours)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with theirs:
            process = self._reactor.spawnProcess(
                running,
                sys.executable,
                # Nothing from the working directory, which may be anybody's.
                [sys.executable, "-P", "-m", _MODULE, str(os.getpid())],
                env=environment,
                childFDs={0: "w", 1: 1, 2: 2, PORT: self._port, REQUESTS: theirs.fileno(), LOAD: self.load.descriptor},
            )
        process.writeToChild(0, frame(self._order))
        process.closeChildFD(0)
        return running

    def drop(self) -> None:
        """Kill the template; forks that it has not made yet are lost. The next request starts a new one."""
        if self._running is not None:
            self._running.kill()

    def stop(self) -> None:
        """Kill the template and start no other."""
        self._stopped = True
        self.drop()


class _Running(ProcessProtocol):
    """One template process."""

    def __init__(self, requests: socket.socket) -> None:
        self.requests = requests
        self.ended = False
        self._killed = False

    def kill(self) -> None:
        if not self.ended:
            self._killed = True
            self.transport.signalProcess("KILL")  # type: ignore[union-attr]  # made with it

    def processEnded(self, reason: Failure) -> None:
        self.ended = True
        self.requests.close()
        if not self._killed:
            _log.warn("the template of serving processes has ended: {why}", why=reason.getErrorMessage())
