"""The process from which test clusters, and programs of the server, are forked: ``python -m orchd.testing.fork_server CHANNEL OWNER FOLDER``.

It imports the server once. For each way in which servers are made (`ServerSpec`) it forks a template: a process that starts
such a server up to the point where it would listen. Each cluster is a fork of its template, so that it costs no start, shares
no state with others, and has whatever a started server has. All of them end with the process OWNER: its end of CHANNEL is
closed then, and where the system can tell of the end of a process, that is watched too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import select
import shutil
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchd.testing import fork_channel
from orchd.testing.process_lifetime import die_with_parent, is_running, open_process

#: Templates that are kept; the one that was not used for longest ends first, once the clusters that were forked from it have.
_MOST_TEMPLATES = 8
#: Seconds between looks at the owner where its end is not told.
_POLL = 1.0
#: Seconds without a request after which there is time for other work.
_IDLE = 0.05

#: Starts what a message asks for; the descriptor is the cluster's channel.
Start = Callable[[Any, int], None]


def main(arguments: list[str]) -> None:
    channel, owner, folder = socket.socket(fileno=int(arguments[0])), int(arguments[1]), Path(arguments[2])
    # Collections during imports find nothing.
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Children are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    import orchd.testing.cluster_main  # noqa: F401  # what every template needs

    gc.freeze()
    try:
        serve(channel, owner, ForkServer(owner, folder).start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve(channel: socket.socket, owner: int, start: Start, idle: Callable[[], None] | None = None) -> None:
    """Start what is asked for until the channel or the owner ends. `idle` is called once, when nothing has been asked for a
    moment after the first start."""
    ended = open_process(owner)
    watched = [channel.fileno()] if ended is None else [channel.fileno(), ended]
    started = False
    while True:
        ready, _, _ = select.select(watched, [], [], _IDLE if started and idle else _POLL)
        if (ended is not None and ended in ready) or not is_running(owner):
            return
        if channel.fileno() not in ready:
            if started and idle:
                idle()
                idle = None
            continue
        try:
            received = fork_channel.receive(channel)
        except (OSError, ValueError):
            return
        if received is None:
            return
        message, descriptor = received
        try:
            start(message, descriptor)
        finally:
            os.close(descriptor)
        started = True


def fork_child(run: Callable[[], None]) -> None:
    """Run a function in a forked process that ends with this one, and then with it."""
    parent = os.getpid()
    if os.fork():
        return
    status = 1
    try:
        die_with_parent(parent)
        random.seed()
        run()
        status = 0
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(status)


def wait_children() -> None:
    """Return once every child of this process has ended. Each ends by itself with its channel or the owner."""
    # With SIGCHLD ignored, this waits for all of them.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


class ForkServer:
    """Forks a template for each way to make servers, and hands requests on to it."""

    def __init__(self, owner: int, folder: Path) -> None:
        self._owner = owner
        self._folder = folder
        self._templates: OrderedDict[str, socket.socket] = OrderedDict()
        self._made = 0
        self._entries: set[str] = set()

    def start(self, message: Any, descriptor: int) -> None:
        if "program" in message:
            self._start_program(message["program"], descriptor)
        else:
            self._start_cluster(message, descriptor)

    def _start_program(self, message: Any, descriptor: int) -> None:
        from orchd.testing.fork_programs import prepare, supervise

        if message["entry"] not in self._entries:
            prepare(message["entry"])
            self._entries.add(message["entry"])
        # The other descriptors are closed in the program, and must not be kept open by its supervisor.
        others = [template.fileno() for template in self._templates.values()]

        def run() -> None:
            for each in others:
                os.close(each)
            supervise(message, os.dup(descriptor))

        fork_child(run)

    def _start_cluster(self, message: Any, descriptor: int) -> None:
        from orchd.testing.cluster_main import run_cluster

        if message["spec"]["folder"]:
            fork_child(lambda: run_cluster(None, message, os.dup(descriptor), self._owner))
            return
        key = repr(message["spec"])
        template = self._templates.get(key)
        if template is not None:
            try:
                fork_channel.send(template, message, descriptor)
                self._templates.move_to_end(key)
                return
            except OSError:
                # It ended; make another.
                self._drop(key)
        fork_channel.send(self._make(key, message["spec"], descriptor), message, descriptor)

    def _make(self, key: str, spec: Any, descriptor: int) -> socket.socket:
        from orchd.testing.cluster_main import run_template

        while len(self._templates) >= _MOST_TEMPLATES:
            self._drop(next(iter(self._templates)))
        ours, theirs = socket.socketpair()
        self._made += 1
        folder = self._folder / f"template-{self._made}"
        folder.mkdir(mode=0o700)

        def run() -> None:
            # What a template held open would never end.
            os.close(descriptor)
            ours.close()
            for other in self._templates.values():
                other.close()
            run_template(theirs, spec, folder, self._owner)

        fork_child(run)
        theirs.close()
        self._templates[key] = ours
        return ours

    def _drop(self, key: str) -> None:
        self._templates.pop(key).close()


if __name__ == "__main__":
    # As a module of its name, so that others import this very one.
    from orchd.testing.fork_server import main as run

    run(sys.argv[1:])
