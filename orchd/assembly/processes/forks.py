"""The program of the template: a process that has imported the server and made the catalog. Serving processes are forks
of it, which share both with it.

It has no reactor and no threads. A fork is a child of the owner, not of the template, which may end at any time.
"""

from __future__ import annotations

import gc
import os
import signal
import socket

from orchd.assembly.processes.calls import read_first
from orchd.assembly.processes.lifetime import end_with, set_name
from orchd.assembly.processes.shares import Order
from orchd.assembly.processes.template import LOAD, NUMBER, REQUESTS


def main(owner: int) -> None:
    """Fork whenever the owner asks, until it or a signal ends this process; in a fork, serve."""
    # What importing leaves is little. A collection would free it among what is shared, where forks would then write.
    gc.disable()
    # Of a terminal, for all processes: the owner ends this one in its turn, and so it does with forks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order: Order = read_first(lambda size: os.read(0, size))
    _close_input()
    from orchd.assembly.custom_kinds import enabled_catalog
    from orchd.assembly.processes.load import Load
    from orchd.assembly.processes.worker import run

    enabled_catalog(order.settings)
    load = Load(LOAD)
    gc.freeze()
    with socket.socket(fileno=REQUESTS) as requests:
        fork = _forks(requests)
    if fork is None:
        return
    number, calls, log = fork
    end_with(owner)
    set_name(f"serving {number}")
    gc.enable()
    run(number, order, load, calls, log)


def _close_input() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _forks(requests: socket.socket) -> tuple[int, int, int] | None:
    """In a fork: its number, and the descriptors of its connection to the owner and of its log. None in the template,
    at the end."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(requests, NUMBER.size, 2)
        if not head:
            return None
        (number,) = NUMBER.unpack(head)
        calls, log = descriptors
        if _fork_for_grandparent():
            return number, calls, log
        os.close(calls)
        os.close(log)


def _fork_for_grandparent() -> bool:
    """Fork a process whose parent is the next one above that adopts orphans. True in the new process, which has this
    parent already. Raises OSError."""
    wait, go = os.pipe()
    between = os.fork()
    if not between:
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            os._exit(1)
        os.close(go)
        # Ends when the template has seen the end of the process between.
        os.read(wait, 1)
        os.close(wait)
        return True
    os.close(wait)
    os.waitpid(between, 0)
    os.close(go)
    return False
