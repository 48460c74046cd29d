"""The daemon: what `twistd orchd` runs."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from twisted.application.service import IService, MultiService
from twisted.internet.endpoints import serverFromString
from twisted.internet.error import ReactorNotRunning
from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.config import settings as config
from orchd.config.options import TwistdOptions
from orchd.dialect import KUBERNETES
from orchd.txkit.notify import Notifier

_log = Logger(namespace="orchd")

#: The first descriptor that a service manager hands over (sd_listen_fds(3)).
_FIRST_INHERITED = 3

#: When the garbage collector looks (gc.set_threshold): what a server keeps is many and long-lived, and hardly any of it
#: is in cycles, so that looking often finds little. Takes 15 % off a create, and some off a start.
_COLLECT_AFTER = (50_000, 20, 100)


class Options(TwistdOptions):
    """The options of ``twistd orchd``: all flags, and what they can choose from."""

    def __init__(self) -> None:
        super().__init__(capabilities=capabilities())


def makeService(options: Options, reactor: Any = None, endpoint: IStreamServerEndpoint | None = None) -> IService:
    """One server as a service.

    twistd calls this with the options alone, and then the process is ours: a server that cannot start or go on ends it
    with status 1, a service manager is told, and a socket that it handed over is used. Whoever gives a `reactor` owns
    the process: failures are in the service's `ready` (see docs/embedding.md), and OSError and ValueError are raised for
    files that are not as they should be.
    """
    settings = config.from_options(options)
    for text in settings.warnings:
        _log.warn("{text}", text=text)
    if reactor is not None:
        return ApiServer(settings, reactor, endpoint=endpoint).service
    from twisted.internet import reactor as installed

    notifier = Notifier.from_environment(installed, os.environ, os.getpid())
    gc.set_threshold(*_COLLECT_AFTER)

    def opened(server: ApiServer) -> None:
        _log.info("{text}", text=announcement(server))
        _settle_memory()
        notifier.ready(f"serving at {server.url}")

    try:
        if endpoint is None:
            endpoint = inherited(installed, settings.serving.port)
        server = ApiServer(settings, installed, endpoint=endpoint, failed=_End(installed), opened=opened)
    except (OSError, ValueError) as error:
        raise SystemExit(f"orchd: {error}") from error
    # Later than "running": the reactor puts its own handlers in place last of all.
    installed.callWhenRunning(installed.callLater, 0, _end_well_when_asked, installed)
    together = MultiService()
    together.addService(notifier)
    together.addService(server.service)
    return together


def _settle_memory() -> None:
    """Leave what a started server is made of out of every later collection; for a process that is ours alone."""
    gc.collect()
    gc.freeze()


def inherited(reactor: Any, port: int) -> IStreamServerEndpoint | None:
    """The socket that a service manager opened for this process, None without one.

    `port` is what clients are told. Raises ValueError for a socket that is not that port's, and for two of them.
    """
    try:
        serverFromString(reactor, "systemd:domain=INET:index=0")
    except IndexError:
        return None
    try:
        serverFromString(reactor, "systemd:domain=INET:index=1")
    except IndexError:
        pass
    else:
        raise ValueError("the service manager handed over more than one socket: the server listens on one")
    with socket.socket(fileno=os.dup(_FIRST_INHERITED)) as probe:
        family, name = probe.family, probe.getsockname()
    if family not in (socket.AF_INET, socket.AF_INET6):
        raise ValueError("the service manager handed over a socket that is not of TCP")
    if name[1] != port:
        raise ValueError(f"the service manager handed over a socket of port {name[1]}, but --secure-port is {port}")
    found: IStreamServerEndpoint = serverFromString(reactor, f"systemd:domain={family.name.removeprefix('AF_')}:index=0")
    return found


def announcement(server: ApiServer) -> str:
    """How to reach a server that is ready, for whoever started it."""
    made = server.files.made
    folder, pki, client = (Path(p).absolute() for p in (server.settings.storage.data_dir, made.folder, made.admin_config))
    # Stock clients go by one name and read the file under any; it is their command, whatever dialect we speak.
    stock = KUBERNETES("{short}ctl --{short}config")
    return "\n".join((
        f"ready at {server.url}",
        f"data folder: {folder}",
        f"client configuration of the administrator: {client}",
        f"try: {stock}={client} get namespaces",
        f"try: curl --cacert {pki}/ca.crt --cert {pki}/admin.crt --key {pki}/admin.key {server.url}/readyz?verbose",
    ))


def _end_well_when_asked(reactor: Any) -> None:
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


class _End:
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
