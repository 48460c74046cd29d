"""Main functions of the forked processes of test clusters: a template, or one cluster on a reactor."""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

# Imported before any fork; importing the reactor's module makes no reactor.
import twisted.internet.default
from twisted.internet.main import installReactor
from twisted.logger import globalLogBeginner, textFileLogObserver

import orchd.assembly.controllers  # noqa: F401
from orchd.dialect import KUBERNETES
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.release import default_release
from orchd.testing.cluster.control import Control
from orchd.testing.cluster.server import ClusterServer, ServerSpec
from orchd.testing.forking.lifetime import open_process
from orchd.testing.forking.server import fork_child, serve, wait_children
from orchd.txkit.coroutines import start as run_coroutine

_BACKLOG = 1024
_REACTOR = "twisted.internet.reactor"


class NoReactor:
    """The reactor of a template. `LoopingCall` looks for a reactor even if it is given a clock, and would make one;
    processes that were forked after that would share its descriptors, and so each other's events."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name}: a template has no reactor")


def prepare() -> None:
    """Build what all servers of the dialect and release that clusters have by default share, before any fork."""
    builtin_catalog(KUBERNETES, default_release(KUBERNETES))


def run_template(channel: socket.socket, spec: Any, folder: Path, owner: int) -> None:
    """Start a server as far as possible without sockets, and fork a cluster for each message."""
    _log_to(folder / "log")
    globalLogBeginner.beginLoggingTo([textFileLogObserver(sys.stderr)], redirectStandardIO=False)
    installReactor(NoReactor())
    try:
        server = ClusterServer(ServerSpec.from_message(spec), folder)
        server.start_unbound()
    except BaseException as error:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        serve(channel, owner, lambda message, descriptor: _refuse(descriptor, why))
        return
    gc.freeze()

    def fork(message: Any, descriptor: int) -> None:
        def run() -> None:
            channel.close()
            run_cluster(server, message, os.dup(descriptor), owner)

        fork_child(run)

    def complete() -> None:
        """Imports and caches that the first cluster does not wait for, and later ones share."""
        server.build_documents()
        gc.collect()
        gc.freeze()

    serve(channel, owner, fork, complete)
    # Clusters end with the process that forked them, which creates no further ones.
    wait_children()


def run_cluster(server: ClusterServer | None, message: Any, descriptor: int, owner: int) -> None:
    """Serve one cluster until its channel or the owner ends. Without a `server` it is made here."""
    folder = Path(message["home"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _log_to(folder / "log")
    reactor = _install_reactor()
    started = server is not None
    try:
        if server is None:
            globalLogBeginner.beginLoggingTo([textFileLogObserver(sys.stderr)], redirectStandardIO=False)
            server = ClusterServer(ServerSpec.from_message(message["spec"]), folder)
        bound = _bind(message["port"])
    except (Exception, SystemExit) as error:
        _refuse(descriptor, f"{type(error).__name__}: {error}")
        return
    gc.enable()
    gc.set_threshold(50_000, 20, 100)
    control = Control(reactor, server, folder)
    control.attach(descriptor, open_process(owner))
    run_coroutine(control.run(bound, started=started)).addErrback(control.give_up)
    reactor.run(installSignalHandlers=False)


def _install_reactor() -> Any:
    """Make the reactor of this process, in place of the one of a template."""
    if isinstance(sys.modules.get(_REACTOR), NoReactor):
        del sys.modules[_REACTOR], twisted.internet.reactor
    from twisted.internet import reactor

    return reactor


def _bind(port: int) -> socket.socket:
    """A listening socket of the loopback address; 0 takes a free port. Raises OSError."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(("127.0.0.1", port))
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on 127.0.0.1 port {port}: {error.strerror}") from error
    bound.listen(_BACKLOG)
    bound.setblocking(False)
    return bound


def _log_to(path: Path) -> None:
    """Make a file what this process writes to."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)


def _refuse(descriptor: int, why: str) -> None:
    with socket.socket(fileno=os.dup(descriptor)) as channel:
        channel.sendall(json.dumps({"failed": why}).encode() + b"\n")
