"""Exit status and garbage collection of a process that runs a single service."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.error import ReactorNotRunning
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import react
from twisted.logger import globalLogBeginner, textFileLogObserver
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.memory import FreeMemory, release_free_memory
from orchd.txkit.notify import Notifier

_log = Logger(namespace="orchd")

#: Garbage collection thresholds (gc.set_threshold). A server holds many long-lived objects and few cycles, so frequent
#: collections find little. Saves 15 % of a create, and some of the start. Large objects make some hundred thousand at
#: once: the second generation is collected before it holds 20,000, of which each is examined twice in all. With 50,000,
#: and what is made while collections are paused, one takes 20 to 80 ms.
_COLLECT_AFTER = (10_000, 1, 250)
#: Seconds between collections of young objects, number of these after which the next generation is collected as well,
#: and number of such collections after which the interpreter may collect all objects: every two hours and a half.
_YOUNG_PERIOD, _YOUNG_ROUNDS, _OLD_AFTER = 0.2, 10, 4500


def collect_seldom() -> None:
    """Set higher garbage collection thresholds."""
    gc.set_threshold(*_COLLECT_AFTER)


class YoungCollector:
    """Collects young objects periodically, so that no collection examines many at once.

    The interpreter starts a collection when more objects were made than freed. A cache that drops an old object for
    each new one never reaches its threshold, while the new objects accumulate: the next collection would then take a
    tenth of a second.

    Former terms of controllers refer to themselves in many ways: all objects are collected once when one has ended, and
    none more did for two seconds. What is freed is returned to the system where that is much.
    """

    def __init__(self, reactor: Any, ended: Callable[[], int] = lambda: 0) -> None:
        """`reactor` has timers and threads. `ended` returns how many terms have ended."""
        self._clock: IReactorTime = reactor
        self._free = FreeMemory(reactor.callInThread)
        self._round = 0
        self._ended = ended
        #: How many terms had ended two seconds ago, and before the last collection of all objects.
        self._seen = self._collected = 0

    def start(self) -> None:
        """Begin; never ends, as the process that calls this is dedicated to one service."""
        first, second, _ = gc.get_threshold()
        gc.set_threshold(first, second, _OLD_AFTER)
        self._wait()

    def _wait(self) -> None:
        self._clock.callLater(_YOUNG_PERIOD, self._collect)

    def _collect(self) -> None:
        self._round = (self._round + 1) % _YOUNG_ROUNDS
        gc.collect(0 if self._round else self._older())
        if not self._round:
            self._free.check()
        self._wait()

    def _older(self) -> int:
        """The generation to collect after two seconds."""
        seen, self._seen = self._seen, self._ended()
        if self._seen != seen or seen == self._collected:
            return 1
        self._collected = seen
        return 2


def settle_memory() -> None:
    """Exclude the objects of a started server from later collections, and give the memory that its start needed back to
    the system; only for a dedicated process."""
    gc.collect()
    gc.freeze()
    # glibc keeps what was freed below the last used block: 13 MB after loading 5,000 pods.
    release_free_memory()


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


class Stoppable(Protocol):
    """A service for `run_until_stopped`."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


def run_until_stopped(make: Callable[[Any], Stoppable], started: Callable[[Any], object]) -> None:
    """Run the reactor for the server that `make` makes with it until a signal stops it, with its log on standard error;
    `started` is called with it when it has started. Raises what making, starting or stopping it raises."""
    failures: list[Failure] = []
    with contextlib.suppress(SystemExit):
        # `react` always exits, with a status that says less than the failures.
        react(lambda reactor: _serve(reactor, make, started, failures))
    if failures:
        failures[0].raiseException()


async def _serve(
    reactor: Any, make: Callable[[Any], Stoppable], started: Callable[[Any], object], failures: list[Failure]
) -> None:
    """Ends on failure; a signal stops the reactor meanwhile."""
    globalLogBeginner.beginLoggingTo([textFileLogObserver(sys.stderr)], redirectStandardIO=False, discardBuffer=True)
    notifier = Notifier.from_environment(reactor, os.environ, os.getpid())
    collect_seldom()
    try:
        server = make(reactor)
        await server.start()
    except Exception:
        failures.append(Failure())
        return
    reactor.addSystemEventTrigger("before", "shutdown", lambda: start(server.stop()).addErrback(failures.append))
    started(server)
    notifier.startService()
    notifier.ready("running")
    await Deferred()
