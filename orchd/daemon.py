"""Exit status and garbage collection of a `twistd` process that runs a single service."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
from typing import Any

from twisted.internet.error import ReactorNotRunning
from twisted.python.failure import Failure

from orchd.txkit.log import Logger

_log = Logger(namespace="orchd")

#: Garbage collection thresholds (gc.set_threshold). A server holds many long-lived objects and few cycles, so frequent
#: collections find little. Saves 15 % of a create, and some of the start.
_COLLECT_AFTER = (50_000, 20, 100)


def collect_seldom() -> None:
    """Set higher garbage collection thresholds."""
    gc.set_threshold(*_COLLECT_AFTER)


def settle_memory() -> None:
    """Exclude the objects of a started server from later collections; only for a dedicated process."""
    gc.collect()
    gc.freeze()


def exit_cleanly_on_sigterm(reactor: Any) -> None:
    """Make SIGTERM end the process with status 0 after an orderly stop.

    Otherwise twistd raises the signal again at the end, and a service manager sees a killed process.
    """

    def stop() -> None:
        # A failure, or an earlier signal, may have stopped the reactor already.
        with contextlib.suppress(ReactorNotRunning):
            reactor.stop()

    def handle_signal(number: int, frame: object) -> None:
        _log.info("received SIGTERM, shutting down")
        reactor.callFromThread(stop)

    signal.signal(signal.SIGTERM, handle_signal)


class ProcessEnd:
    """Ends the process after a failure: stops all services, then exits with status 1.

    twistd has no way to choose its status: exceptions of a service or the reactor are logged, and the script returns
    None. So the status is set in an exit handler of the interpreter.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    def __call__(self, failure: Failure) -> None:
        _log.critical("the server cannot continue: {why}", why=failure.getErrorMessage())
        atexit.register(self._leave)
        self._reactor.callWhenRunning(self._stop)

    def _stop(self) -> None:
        # A signal may have stopped the reactor already.
        if self._reactor.running:
            self._reactor.stop()

    @staticmethod
    def _leave() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
