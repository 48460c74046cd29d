"""How a process of `twistd` ends and uses memory, for services that have it to themselves."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger
from twisted.python.failure import Failure

_log = Logger(namespace="orchd")

#: When the garbage collector looks (gc.set_threshold): what a server keeps is many and long-lived, and hardly any of it
#: is in cycles, so that looking often finds little. Takes 15 % off a create, and some off a start.
_COLLECT_AFTER = (50_000, 20, 100)


def collect_seldom() -> None:
    """Let the garbage collector look less often."""
    gc.set_threshold(*_COLLECT_AFTER)


def settle_memory() -> None:
    """Leave what a started server is made of out of every later collection; for a process that is ours alone."""
    gc.collect()
    gc.freeze()


def exit_cleanly_on_sigterm(reactor: Any) -> None:
    """Make SIGTERM end the process with status 0 once everything has stopped.

    The reactor's own handler has twistd raise the signal again at the end, so that an orderly stop looks like a kill
    to whoever waits for the status.
    """

    def stop() -> None:
        # A failure, or an earlier signal, may have been faster.
        with contextlib.suppress(ReactorNotRunning):
            reactor.stop()

    def asked(number: int, frame: object) -> None:
        _log.info("received SIGTERM, shutting down")
        reactor.callFromThread(stop)

    signal.signal(signal.SIGTERM, asked)


class ProcessEnd:
    """Ends the process after a failure: all services are stopped, then the status is 1.

    twistd has no way to choose its status: whatever a service or the reactor raises is logged, and the script returns
    None. So the status is set where nothing is left to run, at the interpreter's exit.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    def __call__(self, failure: Failure) -> None:
        _log.critical("the server cannot go on: {why}", why=failure.getErrorMessage())
        atexit.register(self._leave)
        self._reactor.callWhenRunning(self._stop)

    def _stop(self) -> None:
        # A signal may have been faster.
        if self._reactor.running:
            self._reactor.stop()

    @staticmethod
    def _leave() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
