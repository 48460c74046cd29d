"""The process from which test clusters and server programs are forked: ``python -m orchd.testing.forking.server CHANNEL
OWNER FOLDER``.

It imports the server once. For each configuration (`ServerSpec`) it forks a template: a process that starts such a
server up to the point where it would listen. Each cluster is a fork of its template: a started server that costs no
start and shares no state with others. All these processes end with the process OWNER, whose end closes CHANNEL and,
where the system supports it, signals a process descriptor.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchd.testing.forking.channel import receive, send
from orchd.testing.forking.client import FOLDER_PREFIX
from orchd.testing.forking.code_file import code_file
from orchd.testing.forking.compiled_dataclasses import kept_code
from orchd.testing.forking.kept_modules import kept_modules
from orchd.testing.forking.lifetime import die_with_parent, is_running, open_process
from orchd.testing.forking.run_folder import remove_abandoned
from orchd.txkit.lru_cache import LruCache

#: Limit of templates. The least recently used one ends first, after the clusters that were forked from it.
_MAX_TEMPLATES = 8
#: Seconds between checks of the owner on systems without process descriptors.
_POLL = 1.0
#: Seconds without a request after which `serve` calls `idle`.
_IDLE = 0.05

#: Starts the cluster or program that a message describes. The descriptor is the channel of the cluster.
Start = Callable[[Any, int], None]


def main(arguments: list[str]) -> None:
    channel, owner, folder = socket.socket(fileno=int(arguments[0])), int(arguments[1]), Path(arguments[2])
    # Imports leave no garbage to collect.
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Children are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    keeps = not sys.dont_write_bytecode
    with kept_modules(code_file("modules")) as modules, kept_code(code_file("dataclasses"), write=keeps):
        from orchd.testing.cluster.main import prepare  # imports what every template needs

        prepare()

    gc.freeze()

    def complete() -> None:
        """Imports and caches that the first cluster does not wait for."""
        remove_abandoned(FOLDER_PREFIX)
        if keeps:
            modules.save()

    try:
        serve(channel, owner, ForkServer(owner, folder).start, complete)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def serve(channel: socket.socket, owner: int, start: Start, idle: Callable[[], None] | None = None) -> None:
    """Serve start requests until the channel or the owner ends. `idle` is called once, when no request arrives for a
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
            received = receive(channel)
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
    """Run a function in a forked process, which ends when the function returns or this process ends."""
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
    """Return once every child of this process has ended. Each ends with its channel or the owner."""
    # With SIGCHLD ignored, this waits for all of them.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


class ForkServer:
    """Forks a template for each `ServerSpec` and passes requests for clusters on to it."""

    def __init__(self, owner: int, folder: Path) -> None:
        self._owner = owner
        self._folder = folder
        self._templates: LruCache[str, socket.socket] = LruCache(_MAX_TEMPLATES, socket.socket.close)
        self._template_count = 0
        self._prepared_entries: set[str] = set()

    def start(self, message: Any, descriptor: int) -> None:
        if "program" in message:
            self._start_program(message["program"], descriptor)
        else:
            self._start_cluster(message, descriptor)

    def _start_program(self, message: Any, descriptor: int) -> None:
        from orchd.testing.forking.programs import prepare, supervise

        if message["entry"] not in self._prepared_entries:
            prepare(message["entry"])
            self._prepared_entries.add(message["entry"])
        # The program closes all other descriptors; its supervisor must not keep the templates open.
        others = [template.fileno() for template in self._templates.values()]

        def run() -> None:
            for each in others:
                os.close(each)
            supervise(message, os.dup(descriptor))

        fork_child(run)

    def _start_cluster(self, message: Any, descriptor: int) -> None:
        from orchd.testing.cluster.main import run_cluster

        if message["spec"]["folder"]:
            fork_child(lambda: run_cluster(None, message, os.dup(descriptor), self._owner))
            return
        key = repr(message["spec"])
        template = self._templates.get(key)
        if template is not None:
            try:
                send(template, message, descriptor)
                return
            except OSError:
                # The template has ended.
                template.close()
                self._templates.remove(key)
        send(self._make_template(key, message["spec"], descriptor), message, descriptor)

    def _make_template(self, key: str, spec: Any, descriptor: int) -> socket.socket:
        from orchd.testing.cluster.main import run_template

        ours, theirs = socket.socketpair()
        self._template_count += 1
        folder = self._folder / f"template-{self._template_count}"
        folder.mkdir(mode=0o700)

        def run() -> None:
            # A descriptor that a template held open would never be closed.
            os.close(descriptor)
            ours.close()
            for other in self._templates.values():
                other.close()
            run_template(theirs, spec, folder, self._owner)

        fork_child(run)
        theirs.close()
        self._templates.put(key, ours)
        return ours


if __name__ == "__main__":
    # Imported under its name, so that other modules share its state.
    from orchd.testing.forking.server import main as run

    run(sys.argv[1:])
